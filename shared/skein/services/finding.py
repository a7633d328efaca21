"""Finds what is due and is no business of the tick's: reads the due index, and nothing else.

Each mark is moved on by a conditional write before anybody hears of it, so that two finders at once
find each item once, and what then gets lost is found again.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime

from skein.errors import ConditionFailed, SkeinError
from skein.models.due import DUE_SHARDS, DueKind, due_before, due_mark, due_partition, still_due
from skein.models.storage import MAX_BATCH_GET_KEYS, Item, Key, Update
from skein.ports import Clock, Metrics, Table

logger = logging.getLogger(__name__)


class Finder:
    """Finds the items of one kind that are due.

    Args:
        table: Where they are.
        clock: The time.
        metrics: Counts those that could not be moved on.
        kind: Of their marks.
        later: When an item is due again, unless whoever hears of it decides otherwise.
    """

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        metrics: Metrics,
        kind: DueKind,
        later: Callable[[datetime], datetime],
    ) -> None:
        self._table = table
        self._clock = clock
        self._metrics = metrics
        self._kind = kind
        self._later = later

    def find(self, *, until: datetime) -> Iterator[list[Item]]:
        """What is due now, a batch at a time, each item's mark moved on; no more from `until` on.

        One query a shard and one more for every 100 items that are due, however many are not.
        """
        now = self._clock.now()
        for shard in range(DUE_SHARDS):
            start: Item | None = None
            while self._clock.now() < until:
                page = self._table.query_index(
                    "gsi2",
                    due_partition(self._kind, shard),
                    last=due_before(now),
                    limit=MAX_BATCH_GET_KEYS,
                    start=start,
                )
                if page.items:
                    yield list(self._moved_on(page.items, now, until))
                start = page.next_start
                if start is None:
                    break

    def _moved_on(
        self, pointers: tuple[Item, ...], now: datetime, until: datetime
    ) -> Iterator[Item]:
        found = self._table.get_many([_key(pointer) for pointer in pointers])
        for pointer in pointers:
            item = found.get(_key(pointer))
            if item is None or item.get("gsi2sk") != pointer["gsi2sk"]:
                continue  # the index lags behind
            if self._clock.now() >= until:
                return
            mark = due_mark(self._kind, _key(item), self._later(now))
            try:
                self._table.write(Update(_key(item), set=mark, condition=still_due(item)))
            except ConditionFailed:
                continue
            except SkeinError:
                # Whatever is wrong with one item, the others are due all the same.
                logger.exception("a due item could not be sent", extra={"key": str(_key(item))})
                self._metrics.count("DueFailed")
                continue
            yield item


def _key(item: Item) -> Key:
    return Key(item["pk"], item["sk"])
