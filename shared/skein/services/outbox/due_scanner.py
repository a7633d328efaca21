"""Find due items, advance their due pointers, and send their jobs.

An item's due pointer lists the item in an index, at the time when its work is due. The tick and the
functions that look for background work use this scanner. A conditional write advances each due
pointer before the job is sent. So of several concurrent scanners, only one handles an item, and an
item whose job is lost becomes due again. If a partition of the index cannot be read, or an item is
broken, the scan of all other partitions and items continues.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import product
from typing import NamedTuple

from skein.errors import Ambiguous, ConditionFailed, SkeinError
from skein.models.common.retry import Retry
from skein.models.common.storage import Item, Key, Page, Query, Update
from skein.models.outbox.due import (
    DUE_SHARDS,
    DueKind,
    due_before,
    due_partition,
    due_pointer,
    still_due,
)
from skein.models.outbox.jobs import Job
from skein.ports import Clock, Metrics, ParallelMap, Table
from skein.services.outbox.dispatch import Dispatch

PAGE = 400  # due pointers per query, about 100 KB
# Items per batch. If items of one kind pile up, a tick reads two pages of them at a time, and this
# size splits the pages into enough batches to keep all threads busy.
BATCH = 50

Handle = Callable[[DueKind, Item, datetime], Job | None]
"""Handles one due item and returns the job to send, if any. The function moves or clears the item's
due pointer, on condition that the due pointer is unchanged."""

logger = logging.getLogger(__name__)


class PageStart(NamedTuple):
    """Where to read the next page of due pointers: the kind, the shard and the start."""

    kind: DueKind
    shard: int
    start: Item | None = None


class DuePointer(NamedTuple):
    """The due pointer of an item, as read from the index, and its kind."""

    kind: DueKind
    pointer: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class DueScanner:
    """Scanner that finds due items and sends their jobs.

    Args:
        parallel_map: Reads pages and handles batches in parallel.
    """

    table: Table
    clock: Clock
    dispatch: Dispatch
    metrics: Metrics
    parallel_map: ParallelMap

    def run(
        self,
        kinds: Sequence[DueKind],
        handle: Handle,
        *,
        until: datetime,
        max_pages: int | None = None,
    ) -> int:
        """Handle the items that are due now, oldest first, until none are left or until `until`.

        Each round reads one page of each kind and shard, and handles the items of all these pages,
        oldest first. So no kind and no shard has to wait until another is empty.

        Args:
            kinds: The kinds of due items to handle.
            handle: Handles an item.
            until: When to stop.
            max_pages: The maximum number of pages to read of each kind and shard; None for no
                limit. The next scan handles the rest.

        Returns:
            The number of jobs that were sent.

        Raises:
            SkeinError: Some due pointers or items could not be read; all other items were handled.
        """
        now, sent, rounds = self.clock.now(), 0, 0
        failures: list[SkeinError] = []
        starts = [PageStart(kind, shard) for kind, shard in product(kinds, range(DUE_SHARDS))]
        while starts and self.clock.now() < until and rounds != max_pages:
            rounds += 1
            pages = self.parallel_map(partial(self._page, due_before(now), failures), starts)
            found = [
                DuePointer(start.kind, pointer)
                for start, page in zip(starts, pages, strict=True)
                for pointer in page.items
            ]
            found.sort(key=lambda due: str(due.pointer["gsi2sk"]))
            batches = [found[start : start + BATCH] for start in range(0, len(found), BATCH)]
            sent += sum(
                self.parallel_map(partial(self._batch, handle, now, until, failures), batches)
            )
            starts = [
                start._replace(start=page.next_start)
                for start, page in zip(starts, pages, strict=True)
                if page.next_start is not None
            ]
        if failures:
            raise failures[0]
        return sent

    def _page(self, last: str, failures: list[SkeinError], start: PageStart) -> Page:
        try:
            return self.table.query(
                Query(
                    due_partition(start.kind, start.shard),
                    index="gsi2",
                    last=last,
                    limit=PAGE,
                    start=start.start,
                )
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
        batch: list[DuePointer],
    ) -> int:
        if self.clock.now() >= until:
            return 0
        try:
            items = self.table.get_many([key_of(due.pointer) for due in batch])
        except SkeinError as error:
            failures.append(error)
            return 0
        jobs: list[Job] = []
        for due in batch:
            if self.clock.now() >= until:
                break
            item = items.get(key_of(due.pointer))
            if item is None or item.get("gsi2sk") != due.pointer["gsi2sk"]:
                continue  # the index is stale
            job = self._job(handle, due.kind, item, now)
            jobs.extend([job] if job else [])
        self.dispatch.send(jobs)
        return len(jobs)

    def _job(self, handle: Handle, kind: DueKind, item: Item, now: datetime) -> Job | None:
        """Handle one item and return its job.

        Returns:
            The job; None if the item has no job, is no longer due, or failed.
        """
        try:
            return handle(kind, item, now)
        except ConditionFailed:
            return None
        except Exception:
            # A broken item must not stop the other items.
            logger.exception("failed to dispatch a due item", extra={"key": str(key_of(item))})
            self.metrics.count("DueFailed")
            return None


def key_of(item: Item) -> Key:
    """Return the key of an item or of an index entry."""
    return Key(item["pk"], item["sk"])


def move_on(table: Table, kind: DueKind, item: Item, now: datetime, retry: Retry) -> None:
    """Move an item's due pointer to the next try, if it has not changed since it was read.

    Afterwards, the caller may send the item's job. This function also returns normally if it is
    unknown whether the pointer was written. If the pointer was not written, the job is sent twice,
    which is harmless.

    Args:
        item: The item as it was read.
        retry: The waits until the next tries.

    Raises:
        ConditionFailed: Another writer has moved or cleared the due pointer.
    """
    tries = int(item.get("due_tries", 0))
    move_to(table, kind, item, now + retry.wait(tries + 1), due_tries=tries + 1)


def move_to(
    table: Table, kind: DueKind, item: Item, at: datetime, *, due_tries: int | None = None
) -> None:
    """Move an item's due pointer to the time `at`; see `move_on`.

    Args:
        due_tries: The number of tries since the pointer was set; None to start again from 0.

    Raises:
        ConditionFailed: Another writer has moved or cleared the due pointer.
    """
    due = due_pointer(kind, key_of(item), at) | {"due_tries": due_tries}
    try:
        table.write(Update(key_of(item), set=due, condition=still_due(item)))
    except Ambiguous:
        logger.warning("outcome of moving a due pointer unknown", extra={"key": str(key_of(item))})
