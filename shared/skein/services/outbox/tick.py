"""Tick: every minute, find the items that are due, and send their jobs again.

The tick repairs the results of a crash: a job that was never sent or was lost, a worker that died,
or an SMS that must be retried. Concurrent ticks are harmless, because a conditional write advances
each due pointer before its job is sent. Some kinds, such as plans, fire instead: each has its own
function, whose transaction moves or clears the due pointer.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.errors import ConditionFailed, SkeinError
from skein.models.common.storage import Item
from skein.models.outbox.due import DueKind
from skein.models.outbox.jobs import DeliveryJob, ErasureJob, Job, RunJob, UpkeepJob
from skein.ports import Metrics, Table
from skein.services.outbox.due_scanner import ALL_SHARDS, DueScanner, move_on

BACKOFF_MINUTES = (1, 2, 4, 8, 15)

Fire = Callable[[Item, datetime], Job | None]
"""Fires a due item (idempotent), and moves or clears its due pointer."""

JOBS: Mapping[DueKind, Callable[[Item], Job]] = {
    "run": lambda item: RunJob(tenant=item["tenant"], run_id=item["id"], agent_id=item["agent_id"]),
    "delivery": lambda item: DeliveryJob(
        tenant=item["tenant"], chat_id=item["chat_id"], delivery_id=item["id"]
    ),
    "erasure": lambda item: ErasureJob(tenant=item["tenant"], erasure_id=item["id"]),
    "chat": lambda item: UpkeepJob(tenant=item["tenant"], chat_id=item["id"]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Sender of overdue jobs, which also fires plans and other kinds that fire.

    Args:
        table: The table.
        due_scanner: Finds the due items and sends their jobs.
        metrics: Counts the jobs.
        firing: The function of each kind that fires.
    """

    table: Table
    due_scanner: DueScanner
    metrics: Metrics
    firing: Mapping[DueKind, Fire]

    def run(self, *, until: datetime, shards: Sequence[int] = ALL_SHARDS) -> int:
        """Send or fire the due items, oldest first, until none is left or `until`.

        Args:
            until: When to stop.
            shards: The shards of the index to read; other ticks read the other shards.

        Returns:
            The number of jobs that were sent.

        Raises:
            SkeinError: Some due pointers or items could not be read; all others were handled.
        """
        kinds = (*JOBS, *self.firing)
        sent = self.due_scanner.run(kinds, self._handle, until=until, shards=shards)
        self.metrics.count("DueSent", sent)
        return sent

    def _handle(self, kind: DueKind, item: Item, now: datetime) -> Job | None:
        fire = self.firing.get(kind)
        if fire is None:
            job = JOBS[kind](item)
            self._move_on(kind, item, now)
            return job
        try:
            return fire(item, now)
        except ConditionFailed:
            raise
        except Exception:
            # Move the due pointer, so that a failing item is not the first in line each time.
            with suppress(SkeinError):
                self._move_on(kind, item, now)
            raise

    def _move_on(self, kind: DueKind, item: Item, now: datetime) -> None:
        tries = int(item.get("due_tries", 0))
        wait = timedelta(minutes=BACKOFF_MINUTES[min(tries, len(BACKOFF_MINUTES) - 1)])
        move_on(self.table, kind, item, now + wait, tries=tries + 1)
