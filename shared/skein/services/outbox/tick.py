"""The tick: every minute it finds what is due and was not done, and sends it again.

It repairs whatever a crash left behind anywhere: a job that was never sent or got lost, a worker
that died, a text that must be tried again. Two ticks at once do no harm, since each due mark is
moved on by a conditional write before its job is sent. What is not sent again but fires, as a plan
does, brings a function of its own, whose transaction moves or clears the mark.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.errors import ConditionFailed, SkeinError
from skein.models.due import DueKind
from skein.models.jobs import DeliveryJob, ErasureJob, Job, RunJob, UpkeepJob
from skein.models.storage import Item
from skein.ports import Metrics, Table
from skein.services.outbox.due_scanner import ALL_SHARDS, DueScanner, move_on

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Sends again, or fires, whatever is due.

    Args:
        table: Where it is found.
        finder: Finds it, and has its jobs sent.
        metrics: Counts them.
        firing: The kinds that fire, each with its function.
    """

    table: Table
    finder: DueScanner
    metrics: Metrics
    firing: Mapping[DueKind, Fire]

    def run(self, *, until: datetime, shards: Sequence[int] = ALL_SHARDS) -> int:
        """Send what is due now, oldest first, until there is no more or `until` has come.

        Args:
            until: When to stop.
            shards: Which shards of the index to look at; other ticks look at the others.

        Returns:
            How many jobs were sent.

        Raises:
            SkeinError: Some of it could not be read; all else has been sent.
        """
        kinds = (*JOBS, *self.firing)
        sent = self.finder.run(kinds, self._handle, until=until, shards=shards)
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
            # Let it come later, so that it is not the first in line each time.
            with suppress(SkeinError):
                self._move_on(kind, item, now)
            raise

    def _move_on(self, kind: DueKind, item: Item, now: datetime) -> None:
        tries = int(item.get("due_tries", 0))
        wait = timedelta(minutes=BACKOFF_MINUTES[min(tries, len(BACKOFF_MINUTES) - 1)])
        move_on(self.table, kind, item, now + wait, tries=tries + 1)
