"""Corrects stored times after the clock was reset, so that no work is blocked.

After a reset, stored times may lie in the future by as much as the clock was ahead. Most of them
stay: plans, time-outs of questions and consolidations wait until real time reaches their times, and
messages keep their times. But a lease, a rate limit, a sign-out or the due pointer of a run would
block new work until then. These times are moved back by the former offset.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from local.timing.due_index import due_at, key_of
from skein.errors import ConditionFailed
from skein.models.common.base import rfc3339
from skein.models.common.storage import Is, Item, Update, all_of
from skein.models.outbox.due import DueKind, due_pointer
from skein.models.quotas.limit import BUCKETS
from skein.ports import Table

# Attributes of any item that hold work back until the times in them.
ATTRIBUTES = (
    "lease_until",
    "busy_until",
    "burst",
    "upkeep_at",
    "consolidation_retry_at",
    *BUCKETS,
    "permits",
    "signed_out_at",
)
NEXT_TRY = "next_at"  # of the parts of a delivery
KINDS: frozenset[DueKind] = frozenset({"run", "delivery", "chat", "merge", "erasure", "choice"})


@dataclass(frozen=True, slots=True)
class Reset:
    """Corrects stored times after the clock was set back.

    Args:
        now: The real time.
        by: How far the clock was set back.
    """

    table: Table
    now: datetime
    by: timedelta

    def correct(self, items: Iterable[Item]) -> int:
        """Move back the times that would block work; return the number of changed items.

        The caller makes sure that no function is running. An item that changes during the
        correction is left alone, because it was written with the new time.
        """
        return sum(self._correct(item) for item in items)

    def _correct(self, item: Item) -> bool:
        changed = self._changed(item)
        if not changed:
            return False
        unchanged = all_of(*(Is(name, item.get(name)) for name in changed))
        try:
            self.table.write(Update(key_of(item), set=changed, condition=unchanged))
        except ConditionFailed:
            return False
        return True

    def _changed(self, item: Item) -> dict[str, Any]:
        moved = {name: self._moved(item[name]) for name in ATTRIBUTES if name in item}
        if isinstance(item.get("parts"), list):  # of a delivery; in a passage, it is a number
            moved["parts"] = [self._moved_part(part) for part in item["parts"]]
        if "gsi2pk" in item and item.get("status") != "waiting":
            kind = str(item["gsi2pk"]).split("#")[1]
            due = due_at(item)
            if kind in KINDS and due > self.now:
                moved |= due_pointer(kind, key_of(item), self._earlier(due))
        return {name: value for name, value in moved.items() if value != item[name]}

    def _moved_part(self, part: dict[str, Any]) -> dict[str, Any]:
        return part | ({NEXT_TRY: self._moved(part[NEXT_TRY])} if NEXT_TRY in part else {})

    def _moved(self, value: Any) -> Any:
        """Return a value in which each time that lies in the future is moved back."""
        if isinstance(value, dict):
            return {name: self._moved(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._moved(inner) for inner in value]
        if not isinstance(value, str):
            return value
        moment = _time(value)
        if moment is None or moment <= self.now:
            return value
        return rfc3339(self._earlier(moment))

    def _earlier(self, moment: datetime) -> datetime:
        return max(self.now, moment - self.by)


def _time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
