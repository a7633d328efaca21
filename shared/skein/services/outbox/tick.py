"""Find due items every minute, and send their jobs again.

The tick repairs the results of a crash: a job that was never sent or was lost, a worker that died,
or an SMS that must be retried. Concurrent ticks are harmless, because a conditional write advances
each due pointer before its job is sent. Items of some kinds, such as plans, are fired
instead: each of these kinds has a function, which does the work, and moves or clears the due
pointer in the same transaction.

Consolidations of direct chats come last, and a tick sends a limited number of them. So runs and SMS
never wait behind chats to consolidate.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from skein.errors import ConditionFailed, SkeinError
from skein.models.chats.person_choices import PersonChoices
from skein.models.common.retry import Retry, minutes
from skein.models.common.storage import Item, key_kind
from skein.models.outbox.due import DueKind, due_time
from skein.models.outbox.jobs import (
    ConsentJob,
    DeliveryJob,
    DeskJob,
    ErasureJob,
    InvitationJob,
    Job,
    MediaJob,
    RunJob,
    UpkeepJob,
)
from skein.ports import Extensions, Metrics, Table
from skein.services.outbox.background_scanner import BackgroundScanner
from skein.services.outbox.due_scanner import DueScanner, key_of, move_on, move_to
from skein.services.outbox.pause_scanner import PauseScanner

RETRY = Retry(minutes(1, 2, 4, 8, 15))
BACKGROUND_KINDS: tuple[DueKind, ...] = ("direct_consolidation",)
BACKGROUND_PAGES = 10  # pages of due pointers per shard and tick: 4,000 chats

LATE = timedelta(minutes=3)  # an item first becomes due a minute after its job was sent
ERASURE_LATE_AFTER = timedelta(hours=24)

Fire = Callable[[Item, datetime], Job | None]
"""Fires a due item (idempotent): does its work, and moves or clears its due pointer."""


def _choice_job(item: Item) -> Job:
    tenant, user_id = item["tenant"], item["user_id"]
    if key_of(item) == PersonChoices.key_of(tenant, user_id):
        return InvitationJob(tenant=tenant, user_id=user_id)
    return ConsentJob(tenant=tenant, user_id=user_id, consent_id=item["id"])


JOBS: Mapping[DueKind, Callable[[Item], Job]] = {
    "run": lambda item: RunJob(tenant=item["tenant"], run_id=item["id"], agent_id=item["agent_id"]),
    "delivery": lambda item: DeliveryJob(
        tenant=item["tenant"], chat_id=item["chat_id"], delivery_id=item["id"]
    ),
    "erasure": lambda item: ErasureJob(tenant=item["tenant"], erasure_id=item["id"]),
    "desk": lambda item: DeskJob(  # a stay of a chat, or an approval, which may not have a chat
        tenant=item["tenant"], chat_id=item.get("chat_id") or item["agent_id"], stay_id=item["id"]
    ),
    "media": lambda item: MediaJob(
        tenant=item["tenant"], chat_id=item["chat_id"], media_id=item["id"]
    ),
    "chat": lambda item: UpkeepJob(tenant=item["tenant"], chat_id=item["id"]),
}
KINDS: tuple[DueKind, ...] = (
    "run", "delivery", "choice", "erasure", "event", "desk", "media", "outreach", "chat", "source",
    "visit", "trial",
)  # fmt: skip
"""The kinds of items whose jobs the tick sends, in this order. `JOBS` makes the jobs of most kinds.
For all other kinds, subjects make the jobs of their own items, and `_choice_job` makes the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Sends overdue jobs, and fires due items of some kinds, such as plans.

    Args:
        due_scanner: Finds the due items and sends their jobs.
        background_scanner: Sends the jobs of direct chats to consolidate.
        pause_scanner: Resumes work whose pause has ended.
    """

    table: Table
    due_scanner: DueScanner
    background_scanner: BackgroundScanner
    pause_scanner: PauseScanner
    metrics: Metrics
    extensions: Callable[[], Extensions]  # a function, to import them only when an item needs them

    def run(
        self,
        firing: Mapping[DueKind, Fire],
        *,
        until: datetime,
    ) -> int:
        """Send the jobs of due items, or fire the items, oldest first, until none are left.

        Then the work of ended pauses is resumed. Background jobs are sent last, at most
        `BACKGROUND_PAGES` pages per shard.

        Args:
            firing: The function that fires items, for each kind that fires.
            until: When to stop, even if items are left.

        Returns:
            The number of jobs that were sent.

        Raises:
            SkeinError: Some due pointers or items could not be read; all other items were handled.
        """
        sent, ages = 0, list[timedelta]()
        try:
            kinds, handle = (*KINDS, *firing), partial(self._handle, firing, ages)
            sent = self.due_scanner.run(kinds, handle, until=until)
            sent += self.pause_scanner.run(until=until)
            if sent:
                self.metrics.count("DueSent", sent)
            age = max(ages, default=timedelta())
            if age > LATE:
                self.metrics.count("DueAgeSeconds", age.total_seconds(), unit="Seconds")
        finally:
            sent += self.background_scanner.run(
                BACKGROUND_KINDS, until=until, max_pages=BACKGROUND_PAGES
            )
        return sent

    def _handle(
        self,
        firing: Mapping[DueKind, Fire],
        ages: list[timedelta],
        kind: DueKind,
        item: Item,
        now: datetime,
    ) -> Job | None:
        fire = firing.get(kind)
        lease_until = _lease_of_run(item) if kind == "run" else None
        if lease_until is not None and lease_until > now:
            move_to(self.table, kind, item, lease_until)
            return None
        ages.append(_age(item, now))
        if fire is None:
            job = self._job(kind, item)
            if kind == "erasure" and _is_late(item, now):
                self.metrics.count("ErasuresLate")
            move_on(self.table, kind, item, now, RETRY)
            return job
        try:
            return fire(item, now)
        except ConditionFailed:
            raise
        except Exception:
            # Move the due pointer, so that a failing item is not handled first by each tick.
            with suppress(SkeinError):
                move_on(self.table, kind, item, now, RETRY)
            raise

    def _job(self, kind: DueKind, item: Item) -> Job:
        if kind in JOBS:
            return JOBS[kind](item)
        subject = self.extensions().due_item(kind, key_kind(item["sk"]))
        job: Job = subject.from_item(item).job if subject is not None else _choice_job(item)
        return job


def _lease_of_run(item: Item) -> datetime | None:
    """Return when the lease of a running run ends; None for an item that is no running run.

    A claim does not change the run's due pointer, so the tick moves the pointer to the end of the
    lease.
    """
    running = item.get("status") == "running" and "lease_until" in item
    return datetime.fromisoformat(item["lease_until"]) if running else None


def _age(item: Item, now: datetime) -> timedelta:
    """Return how long an item has been due, including the waits after earlier tries."""
    tries = int(item.get("due_tries", 0))
    waits = (RETRY.wait(each) for each in range(1, tries + 1))
    return sum(waits, start=now - due_time(item))


def _is_late(erasure: Item, now: datetime) -> bool:
    """Return whether an erasure is late; its two sweeps normally take less than an hour."""
    return now - datetime.fromisoformat(erasure["requested_at"]) > ERASURE_LATE_AFTER
