"""The tick: every minute it finds what is due and was not done, and sends it again.

It repairs whatever a crash left behind anywhere: a job that was never sent or got lost, a worker
that died, a text that must be tried again. Two ticks at once do no harm, since each due mark is
moved on by a conditional write before its job is sent.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import product

from skein.errors import ConditionFailed, SkeinError
from skein.models.due import (
    DUE_KINDS,
    DUE_SHARDS,
    DueKind,
    due_before,
    due_mark,
    due_partition,
    still_due,
)
from skein.models.jobs import DeliveryJob, Job, RunJob, UpkeepJob
from skein.models.storage import MAX_BATCH_GET_KEYS, Item, Key, Update
from skein.ports import Clock, Metrics, Table
from skein.services.dispatch import Dispatch

BACKOFF_MINUTES = (1, 2, 4, 8, 15)

JOBS: Mapping[DueKind, Callable[[Item], Job]] = {
    "run": lambda item: RunJob(tenant=item["tenant"], run_id=item["id"], agent_id=item["agent_id"]),
    "delivery": lambda item: DeliveryJob(
        tenant=item["tenant"], chat_id=item["chat_id"], delivery_id=item["id"]
    ),
    "chat": lambda item: UpkeepJob(tenant=item["tenant"], chat_id=item["id"]),
}

logger = logging.getLogger(__name__)


class Tick:
    """Sends again whatever is due."""

    def __init__(self, *, table: Table, clock: Clock, dispatch: Dispatch, metrics: Metrics) -> None:
        self._table = table
        self._clock = clock
        self._dispatch = dispatch
        self._metrics = metrics

    def run(self, *, until: datetime) -> int:
        """Send what is due now, oldest first, until there is no more or `until` has come.

        Returns:
            How many jobs were sent.
        """
        sent = 0
        now = self._clock.now()
        open_shards = list(product(DUE_KINDS, range(DUE_SHARDS)))
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
            jobs = [
                job
                for kind, pointer in batch
                if (job := self._move_on(kind, pointer, items.get(_key(pointer)), now))
            ]
            self._dispatch.send(jobs)
            sent += len(jobs)
        return sent

    def _move_on(
        self, kind: DueKind, pointer: Item, item: Item | None, now: datetime
    ) -> Job | None:
        """Move one mark on and return its job; None when it is no longer due or fails."""
        if item is None or item.get("gsi2sk") != pointer["gsi2sk"]:
            return None
        tries = int(item.get("due_tries", 0))
        wait = timedelta(minutes=BACKOFF_MINUTES[min(tries, len(BACKOFF_MINUTES) - 1)])
        mark = due_mark(kind, _key(item), now + wait) | {"due_tries": tries + 1}
        try:
            job = JOBS[kind](item)
            self._table.write(Update(_key(item), set=mark, condition=still_due(item)))
        except ConditionFailed:
            return None
        except (SkeinError, ValueError, KeyError):
            logger.exception("a due item could not be sent", extra={"key": str(_key(item))})
            self._metrics.count("DueFailed")
            return None
        return job


def _key(item: Item) -> Key:
    return Key(item["pk"], item["sk"])
