"""Changes of single items, as the table's stream reports them."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from skein.models.common.base import Stored
from skein.models.common.storage import Item, Key

Entity = TypeVar("Entity", bound=Stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """One change of one item.

    Attributes:
        before: The item before the change; None if the item is new.
        after: The item after the change; None if the item was deleted.
        at: The time of the change, in whole seconds.
        sequence: The number of the change in the stream; a repeated report has the same number.
        expired: Whether the table deleted the item because it had expired.
    """

    key: Key
    before: Item | None
    after: Item | None
    at: datetime
    sequence: str
    expired: bool = False

    def new(self, kind: type[Entity]) -> Entity:
        return kind.from_item(self.after or {})

    def old(self, kind: type[Entity]) -> Entity | None:
        """Return the entity before the change; None if it is new."""
        return kind.from_item(self.before) if self.before is not None else None

    def alters(self, *attributes: str) -> bool:
        """Return whether the change creates or deletes the item, or changes one of `attributes`."""
        if self.before is None or self.after is None:
            return True
        return any(self.before.get(name) != self.after.get(name) for name in attributes)
