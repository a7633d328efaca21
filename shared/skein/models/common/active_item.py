"""Items, such as outreaches, whose runs write to people only while the item is active."""

from typing import Literal

from skein.models.common.base import Value
from skein.models.common.storage import Check, Is, Item, Key

ItemStatus = Literal["active", "paused", "over"]


class ActiveItem(Value):
    """An item, such as an outreach, that has started runs, which write to people.

    An operator may pause or end the item, and the runs then write to no one. The attribute `status`
    of the stored item is `active`, `paused`, or another value once the item has ended.
    """

    pk: str
    sk: str

    @property
    def key(self) -> Key:
        return Key(self.pk, self.sk)

    @property
    def still_active(self) -> Check:
        """The check that makes a transaction fail if the item is paused or has ended."""
        return Check(self.key, Is("status", "active"))

    @staticmethod
    def status_of(item: Item | None) -> ItemStatus:
        """Return the status of an item as it was read; a missing item counts as ended."""
        status = item.get("status") if item is not None else None
        return status if status in ("active", "paused") else "over"
