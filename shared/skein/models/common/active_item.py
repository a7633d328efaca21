"""An item whose status allows a run, or a message, to write to people."""

from typing import Literal

from skein.models.common.base import Value
from skein.models.common.storage import Check, Is, Item, Key

ItemStatus = Literal["active", "paused", "over"]


class ActiveItem(Value):
    """The item in whose name something is written, which an operator may pause or end.

    Its attribute `status` is `active`, `paused`, or another value once it is over.
    """

    pk: str
    sk: str

    @property
    def key(self) -> Key:
        return Key(self.pk, self.sk)

    @property
    def still_active(self) -> Check:
        """The check that makes a transaction fail once the item is paused or over."""
        return Check(self.key, Is("status", "active"))

    @staticmethod
    def status_of(item: Item | None) -> ItemStatus:
        """Return the status of an item as it was read; a missing item is over."""
        status = item.get("status") if item is not None else None
        return status if status in ("active", "paused") else "over"
