"""Reflections as operators look at them."""

from dataclasses import dataclass
from datetime import timedelta

from skein.models.ownership import Reach
from skein.models.reflection import HISTORY_DAYS, REFLECTED, ReflectionRecord
from skein.models.storage import Item
from skein.ports import Clock, Table
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_owned


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionViews:
    """Tells what agents have made of what they were about to forget."""

    table: Table
    clock: Clock

    def list(
        self, reach: Reach, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[ReflectionRecord]:
        """A page of what was done in one partition, oldest first; it is kept for 90 days.

        Args:
            reach: Whose; its first scope counts.
            limit: How many to read at most.
            cursor: Where an earlier page ended.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        since = self.clock.now() - timedelta(days=HISTORY_DAYS)

        def read(item: Item) -> ReflectionRecord | None:
            record = ReflectionRecord.from_item(item)
            return record if record.at > since else None

        return list_owned(self.table, reach, [REFLECTED], read, limit=limit, cursor=cursor)
