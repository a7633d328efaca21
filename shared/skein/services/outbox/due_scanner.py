"""Finds what is due, moves its mark on and sends its job: what the tick and the finders do alike.

Each mark is moved on by a conditional write before anybody hears of it, so that two finders at once
find each item once, and what then gets lost is found again. Neither a partition of the index that
cannot be read nor an item that is broken holds up the others.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from skein.errors import Ambiguous, ConditionFailed, SkeinError
from skein.models.due import DUE_SHARDS, DueKind, due_before, due_mark, due_partition, still_due
from skein.models.jobs import Job
from skein.models.storage import Item, Key, Page, Update
from skein.ports import Clock, Metrics, Table
from skein.services.common.parallel import ParallelMap, map_threads
from skein.services.outbox.dispatch import Dispatch

ALL_SHARDS = tuple(range(DUE_SHARDS))
PAGE = 400  # marks of a kind and shard that are read at once; some 100 KB
# So that two pages, all that a tick finds if one kind has piled up, give all threads work.
BATCH = 50

Handle = Callable[[DueKind, Item, datetime], Job | None]
"""Takes what one item is due for in hand, and moves or clears its mark on condition that it is as
it was read; gives the job that is to be sent, if there is one."""

logger = logging.getLogger(__name__)


class Place(NamedTuple):
    """Where in the index marks are still to be read, and behind which one."""

    kind: DueKind
    shard: int
    start: Item | None = None


class Mark(NamedTuple):
    """What the index says of one due item."""

    kind: DueKind
    pointer: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class DueScanner:
    """Finds due items and has their jobs sent.

    Args:
        table: Where they are.
        clock: The time.
        dispatch: Sends the jobs.
        metrics: Counts the items that could not be taken in hand.
        at_once: How several batches are worked on.
    """

    table: Table
    clock: Clock
    dispatch: Dispatch
    metrics: Metrics
    at_once: ParallelMap = map_threads

    def run(
        self,
        kinds: Sequence[DueKind],
        handle: Handle,
        *,
        until: datetime,
        shards: Sequence[int] = ALL_SHARDS,
    ) -> int:
        """Take in hand what is due now, oldest first, until there is no more or `until` has come.

        Of each kind and shard a page is read, all of them are taken together by age, and then the
        next pages follow. So each kind and shard has its turn, however much is due of another.

        Returns:
            How many jobs were sent.

        Raises:
            SkeinError: Some marks or items could not be read; all others have been taken in hand.
        """
        now, sent = self.clock.now(), 0
        failures: list[SkeinError] = []
        places = [Place(kind, shard) for kind, shard in product(kinds, shards)]
        while places and self.clock.now() < until:
            pages = self.at_once(partial(self._page, due_before(now), failures), places)
            found = [
                Mark(place.kind, pointer)
                for place, page in zip(places, pages, strict=True)
                for pointer in page.items
            ]
            found.sort(key=lambda mark: str(mark.pointer["gsi2sk"]))
            batches = [found[start : start + BATCH] for start in range(0, len(found), BATCH)]
            sent += sum(self.at_once(partial(self._batch, handle, now, until, failures), batches))
            places = [
                place._replace(start=page.next_start)
                for place, page in zip(places, pages, strict=True)
                if page.next_start is not None
            ]
        if failures:
            raise failures[0]
        return sent

    def _page(self, last: str, failures: list[SkeinError], place: Place) -> Page:
        try:
            return self.table.query_index(
                "gsi2",
                due_partition(place.kind, place.shard),
                last=last,
                limit=PAGE,
                start=place.start,
            )
        except SkeinError as error:
            failures.append(error)
            return Page(())

    def _batch(
        self,
        handle: Handle,
        now: datetime,
        until: datetime,
        failures: list[SkeinError],
        batch: list[Mark],
    ) -> int:
        if self.clock.now() >= until:
            return 0
        try:
            items = self.table.get_many([key_of(mark.pointer) for mark in batch])
        except SkeinError as error:
            failures.append(error)
            return 0
        jobs: list[Job] = []
        for mark in batch:
            if self.clock.now() >= until:
                break
            item = items.get(key_of(mark.pointer))
            if item is None or item.get("gsi2sk") != mark.pointer["gsi2sk"]:
                continue  # the index lags behind
            job = self._job(handle, mark.kind, item, now)
            jobs.extend([job] if job else [])
        self.dispatch.send(jobs)
        return len(jobs)

    def _job(self, handle: Handle, kind: DueKind, item: Item, now: datetime) -> Job | None:
        """What one item calls for; None when it is no longer due, calls for nothing, or fails."""
        try:
            return handle(kind, item, now)
        except ConditionFailed:
            return None
        except Exception:
            # Whatever is wrong with one item, the others are due all the same.
            logger.exception("a due item could not be sent", extra={"key": str(key_of(item))})
            self.metrics.count("DueFailed")
            return None


def shards_of(event: Mapping[str, Any]) -> Sequence[int]:
    """Which shards a schedule asks for: those that its input names, else all.

    Raises:
        ValueError: It names one that is none.
    """
    shards = event.get("shards", ALL_SHARDS)
    if not set(shards) <= set(ALL_SHARDS):
        raise ValueError(f"there are no such shards: {shards}")
    return tuple(shards)


def key_of(item: Item) -> Key:
    """The key of an item, or of the item that an index points at."""
    return Key(item["pk"], item["sk"])


def move_on(
    table: Table, kind: DueKind, item: Item, at: datetime, *, tries: int | None = None
) -> None:
    """Make an item due at `at`, if its mark is as it was read; its job may be sent then.

    So it may when it is unclear whether the mark has moved: if it has, nobody else sends the job;
    if not, it is sent twice, which does no harm.

    Raises:
        ConditionFailed: Somebody else has moved or cleared the mark.
    """
    mark = due_mark(kind, key_of(item), at) | ({} if tries is None else {"due_tries": tries})
    try:
        table.write(Update(key_of(item), set=mark, condition=still_due(item)))
    except Ambiguous:
        logger.warning("a mark may not have moved", extra={"key": str(key_of(item))})
