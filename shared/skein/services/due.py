"""The tick: every minute it finds what is due and was not done, and sends it again.

It repairs whatever a crash left behind anywhere: a job that was never sent or got lost, a worker
that died, a text that must be tried again. Two ticks at once do no harm, since each due mark is
moved on by a conditional write before its job is sent. What is not sent again but fires, as a plan
does, brings a function of its own, whose transaction moves or clears the mark.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import product

from skein.errors import Ambiguous, ConditionFailed, SkeinError
from skein.models.due import (
    DUE_SHARDS,
    DueKind,
    due_before,
    due_mark,
    due_partition,
    still_due,
)
from skein.models.jobs import DeliveryJob, ErasureJob, Job, RunJob, UpkeepJob
from skein.models.storage import MAX_BATCH_GET_KEYS, Item, Key, Update
from skein.ports import Clock, Metrics, Table
from skein.services.dispatch import Dispatch

BACKOFF_MINUTES = (1, 2, 4, 8, 15)

Fire = Callable[[Item, datetime], Job | None]
"""Carries out what an item is due for, once however often it is called, and moves its mark."""

JOBS: Mapping[DueKind, Callable[[Item], Job]] = {
    "run": lambda item: RunJob(tenant=item["tenant"], run_id=item["id"], agent_id=item["agent_id"]),
    "delivery": lambda item: DeliveryJob(
        tenant=item["tenant"], chat_id=item["chat_id"], delivery_id=item["id"]
    ),
    "erasure": lambda item: ErasureJob(tenant=item["tenant"], erasure_id=item["id"]),
    "chat": lambda item: UpkeepJob(tenant=item["tenant"], chat_id=item["id"]),
}

logger = logging.getLogger(__name__)


class Tick:
    """Sends again, or fires, whatever is due.

    Args:
        table: Where it is found.
        clock: The time.
        dispatch: Sends the jobs.
        metrics: Counts them.
        firing: The kinds that fire, each with its function.
    """

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        dispatch: Dispatch,
        metrics: Metrics,
        firing: Mapping[DueKind, Fire],
    ) -> None:
        self._table = table
        self._clock = clock
        self._dispatch = dispatch
        self._metrics = metrics
        self._firing = firing

    def run(self, *, until: datetime) -> int:
        """Send what is due now, oldest first, until there is no more or `until` has come.

        Returns:
            How many jobs were sent.
        """
        sent = 0
        now = self._clock.now()
        open_shards = list(product((*JOBS, *self._firing), range(DUE_SHARDS)))
        while open_shards and self._clock.now() < until:
            found: list[tuple[DueKind, Item]] = []
            unread: list[tuple[DueKind, int]] = []
            for kind, shard in open_shards:
                page = self._table.query_index(
                    "gsi2",
                    due_partition(kind, shard),
                    last=due_before(now),
                    limit=MAX_BATCH_GET_KEYS,
                )
                found.extend((kind, item) for item in page.items)
                if page.next_start is not None:
                    unread.append((kind, shard))
            found.sort(key=lambda entry: str(entry[1]["gsi2sk"]))
            moved = self._send_in_batches(found, now, until)
            sent += moved
            # An index lags behind its table: where nothing could be moved, the same pages would
            # come back, and the next tick is soon enough.
            open_shards = unread if moved else []
        self._metrics.count("DueSent", sent)
        return sent

    def _send_in_batches(
        self, found: list[tuple[DueKind, Item]], now: datetime, until: datetime
    ) -> int:
        sent = 0
        for start in range(0, len(found), MAX_BATCH_GET_KEYS):
            if self._clock.now() >= until:
                break
            batch = found[start : start + MAX_BATCH_GET_KEYS]
            items = self._table.get_many([_key(pointer) for _, pointer in batch])
            jobs: list[Job] = []
            for kind, pointer in batch:
                if self._clock.now() >= until:
                    break
                job = self._job(kind, pointer, items.get(_key(pointer)), now)
                jobs.extend([job] if job else [])
            self._dispatch.send(jobs)
            sent += len(jobs)
        return sent

    def _job(self, kind: DueKind, pointer: Item, item: Item | None, now: datetime) -> Job | None:
        """What one mark calls for; None when it is no longer due, calls for nothing, or fails."""
        if item is None or item.get("gsi2sk") != pointer["gsi2sk"]:
            return None
        fire = self._firing.get(kind)
        try:
            if fire is not None:
                return fire(item, now)
            job = JOBS[kind](item)
            try:
                self._move_on(kind, item, now)
            except Ambiguous:
                # If it has moved, nobody else sends the job; if not, it may be sent twice.
                logger.warning("a mark may not have moved", extra={"key": str(_key(item))})
        except ConditionFailed:
            return None
        except Exception:
            # Whatever is wrong with one item, the others are due all the same.
            logger.exception("a due item could not be sent", extra={"key": str(_key(item))})
            self._metrics.count("DueFailed")
            if fire is not None:
                self._give_way(kind, item, now)
            return None
        return job

    def _move_on(self, kind: DueKind, item: Item, now: datetime) -> None:
        tries = int(item.get("due_tries", 0))
        wait = timedelta(minutes=BACKOFF_MINUTES[min(tries, len(BACKOFF_MINUTES) - 1)])
        mark = due_mark(kind, _key(item), now + wait) | {"due_tries": tries + 1}
        self._table.write(Update(_key(item), set=mark, condition=still_due(item)))

    def _give_way(self, kind: DueKind, item: Item, now: datetime) -> None:
        """Let what could not fire come later, so that it is not the first in line each time."""
        with suppress(SkeinError):
            self._move_on(kind, item, now)


def _key(item: Item) -> Key:
    return Key(item["pk"], item["sk"])
