"""Leases of runs: claim a run for a worker, and release it early.

A claim holds until its lease ends. A worker releases a run early to retry or defer it, or to hand
it to the next invocation. Every write of a worker is conditional on the fencing token of its claim,
so a worker can no longer write once another worker has taken over its run. `activations` records
the work between claim and end; `completion` ends runs.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.correlation import follow
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership, MembershipChanges
from skein.models.common.base import rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Key, Update, Write
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run, RunChanges
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import optimistic
from skein.services.config.pauses import is_paused
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.services.runs import policy
from skein.services.runs.claim import (
    Claim,
    membership_in,
    read_claim,
    shown_membership,
    unchanged_run,
    write_claimed,
)
from skein.services.runs.completion import RunCompletion
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.services.runs.debounce import delay_of
from skein.services.runs.latency import record_start
from skein.services.runs.slots import (
    RunMerge,
    is_its_turn,
    merge_queued_run,
    run_due_at,
    slots_unchanged,
    without,
)
from skein.services.runs.waits import timed_out
from skein.settings import Settings

HELD_BACK = timedelta(minutes=15)  # between two checks of a held chat or a paused item
NO_PERMIT = "the person, the tenant or the agent has no free permit"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLeases(ABC):
    """The service that claims runs, and postpones claimed runs.

    Args:
        completion: Ends runs.
        concurrency_limit: Grants the permits; a run can be claimed only with its permits.
    """

    table: Table
    clock: Clock
    dispatch: Dispatch
    metrics: Metrics
    completion: RunCompletion
    concurrency_limit: ConcurrencyLimit
    settings: Settings

    @abstractmethod
    def before_failure(self, claim: Claim) -> None:
        """Notify the waiting person that a run is about to end as failed (idempotent).

        Raises:
            LostLease: Another worker has taken the run over.
            Transient: The table failed; the run has not ended.
        """

    def claim(
        self, job: RunJob, *, lease_until: datetime, also_read: Sequence[Key] = ()
    ) -> Claim | None:
        """Claim a run for this worker, unless it may not or need not work now.

        This method also ends or postpones runs that may not work:

        - A run whose agent has left is canceled, and so is a queued run of a discarded chat.
        - If a person of the team has taken over the chat, runs of plans and services wait until the
          chat is handed back. All other runs are canceled.
        - A run of an outreach waits while the outreach is paused, and is canceled with it.
        - A run that has used up its attempts fails.
        - A waiting run whose wait has timed out resumes.

        Args:
            job: The job that names the run.
            lease_until: The end of the lease; from then on, another worker may claim the run.
            also_read: Keys of further items to read together with the run.

        Returns:
            The claim. None if the run has ended, is leased by another worker, waits, or is behind
            another run of the same agent in the same chat. The result is also None in three cases
            in which the run starts later: During the debounce, the job is sent again with a delay.
            While runs are paused, the run waits until the tick sends the job after the pause. Over
            a concurrency limit, the run waits for a permit.
        """
        return optimistic(self.clock, lambda: self._claim_once(job, lease_until, also_read))

    def _claim_once(
        self, job: RunJob, lease_until: datetime, also_read: Sequence[Key]
    ) -> Claim | None:
        found = read_claim(self.table, job, also_read=also_read)
        if found is not None and found.run.status == "waiting" and self._wait_is_over(found):
            found = read_claim(self.table, job, also_read=also_read)
        if found is None:
            return None
        run, now = found.run, self.clock.now()
        follow(run.followed_by)
        waits = self._waits(found, now) or self._waits_for_return(found, now)
        if waits or not self._may_write(found, now):
            return None
        pointless = _why_pointless(found)
        if pointless is not None:
            reason, error = pointless
            self.completion.end(found, "canceled", reason=reason, error=error)
            return None
        membership = shown_membership(self.table, found)
        if not self._may_begin(found, membership, job, now):
            return None
        if policy.attempts_are_over(run):
            last = run.error or "the worker crashed in every attempt"
            error = f"gave up after {run.attempts} attempts: {last}"
            reason = Reason.ATTEMPTS_EXHAUSTED
            self.before_failure(found)
            self.completion.end(found, "failed", reason=reason, error=error)
            return None
        return self._take(found, membership, now, lease_until)

    def _may_begin(
        self, found: Claim, membership: Membership | None, job: RunJob, now: datetime
    ) -> bool:
        """Return whether no other run of the agent comes before this run, and the debounce is over.

        If the run only has to wait for the end of the debounce, the job is sent again with a delay.
        """
        if found.member is not None and not is_its_turn(found.run, found.member):
            _log_no_work(found.run, Reason.BEHIND_OTHER_RUN)
            return False
        if found.run.status != "queued":
            return True
        seconds, reason = delay_of(membership, now)
        if seconds:
            _log_no_work(found.run, reason)
            self.dispatch.send([job], delay_seconds=seconds)
        return not seconds

    def _waits(self, found: Claim, now: datetime) -> bool:
        """Return whether the run may not be claimed now; if runs are paused, hold the run back."""
        run = found.run
        idle = _why_idle(run, now)
        if idle is not None:
            _log_no_work(run, idle)
            return True
        paused = is_paused("runs", run.tenant, run.id, found.found)
        if paused:
            self._hold_back(found)
        return paused

    def _waits_for_return(self, found: Claim, now: datetime) -> bool:
        """Hold a run back, and return True, if a person of the team has taken over its chat.

        This applies to runs of plans and services, and to runs that have waited for a reply in a
        chat other than their own.
        """
        run, chat = found.run, found.chat
        if run.for_chat_id is not None:
            chat = Chat.read(self.table, Chat.key_of(run.tenant, run.for_chat_id))
        elif run.resumed is None or run.resumed.chat_id == run.chat_id:
            return False
        desk = chat.desk if chat is not None else None
        if desk is None or not desk.held or desk.due_work == "drop":
            return False
        self.table.write(held_back(run, now))
        _log_no_work(run, Reason.DESK)
        return True

    def _may_write(self, found: Claim, now: datetime) -> bool:
        """Return whether the item for which the run works, such as an outreach, is active.

        If the item is paused, the run keeps its state, and is checked again when it is due. If the
        item is over, the run is canceled.

        Raises:
            ConditionFailed: Another writer was faster.
        """
        run, needed = found.run, found.run.while_active
        if needed is None:
            return True
        status = needed.status_of(self.table.get(needed.key))
        if status == "paused":
            change = run.recording(Reason.PAUSED, now) | run.due(now + HELD_BACK)
            change |= {"due_tries": None}
            self.table.write(Update(run.key, set=change, condition=found.fence_holds))
            _log_no_work(run, Reason.PAUSED)
        elif status == "over":
            reason = Reason.STOPPED_BY_OPERATOR
            self.completion.end(found, "canceled", reason=reason, error=reason.meaning)
        return status == "active"

    def _hold_back(self, found: Claim) -> None:
        """Keep a run as it is while runs are paused; the tick sends its job after the pause.

        This counts neither as an attempt nor as a deferral.

        Raises:
            ConditionFailed: Another writer was faster.
        """
        run, now = found.run, self.clock.now()
        change = run.due_while_paused() | run.recording(Reason.PAUSED, now)
        self.table.write(Update(run.key, set=change, condition=found.fence_holds))
        _log_no_work(run, Reason.PAUSED)

    def _wait_is_over(self, found: Claim) -> bool:
        """Resume a run if its wait has timed out; return whether the run was resumed."""
        run, now = found.run, self.clock.now()
        if run.wait is None or run.wait_chat_id is None or run.wait.until > now:
            return False
        membership = membership_in(self.table, found, run.wait_chat_id)
        if membership is None or membership.wait != run.wait:
            return False
        over = timed_out(self.table, membership, now=now, settings=self.settings)
        self.table.transact(over.writes)
        return True

    def _take(
        self, found: Claim, membership: Membership | None, now: datetime, lease_until: datetime
    ) -> Claim | None:
        """Write the claim: raise the fencing token, fill the running slot, merge a queued run.

        The run takes its permits before or with this write. If it gets no permits, it is postponed,
        and the result is None.
        """
        run, member = found.run, found.member
        start = _start_of(run, member, membership, now)
        changes: RunChanges = {
            "status": "running",
            "fence": run.fence + 1,
            "attempts": run.attempts + 1,
            "lease_until": lease_until,
            "started_at": run.started_at or now,
            "active_chat_id": run.active_chat_id or run.own_chat_id,
            **start.run_changes,
        }
        change: MembershipChanges = {"running_run": run.id, **start.membership_changes}
        writes = list(start.writes)
        taken = run.model_copy(update=changes).model_copy(update={"reason": None})
        admission = self.concurrency_limit.take(taken, found.found, until=lease_until)
        if not admission.permitted:
            self._await_permit(found, listed=admission.listed)
            return None
        stored = {name: value for name, value in taken.attributes().items() if name in changes}
        claimed = stored | self._due_of_claim(run, now, lease_until) | {"reason": None}
        writes.append(Update(run.key, set=claimed, condition=found.fence_holds))
        writes.extend(admission.writes)
        if member is not None:
            left = without(member.resuming, run.id)
            here = Update(
                member.key, set={**change, "resuming": left}, condition=slots_unchanged(member)
            )
            writes.append(here)
            member = member.model_copy(update=change)
            member = member.model_copy(update={"resuming": tuple(left or ())})
        self.table.transact(writes)
        start.merge.log()
        record_start(self.metrics, run, now)
        logger.info("run claimed", extra={"run_id": run.id, "attempt": taken.attempts})
        return replace(found, run=taken, member=member, permits=admission.permits)

    def _due_of_claim(self, run: Run, now: datetime, lease_until: datetime) -> dict[str, Any]:
        """Return the due pointer that a claim writes; empty to keep the run's first due pointer.

        The first pointer is kept to save a write of the index, because most runs end before it is
        due. If a run is still working when the pointer is due, the tick moves the pointer to the
        end of the lease.
        """
        untouched = not run.fence and run.reason is None
        if untouched and now < run_due_at(run.created_at, self.settings) < lease_until:
            return {}
        return run.due(lease_until) | {"due_tries": None}

    def _await_permit(self, found: Claim, *, listed: bool) -> None:
        """Defer a run that has no permit, without claiming it or counting an attempt.

        Args:
            listed: Whether the run is in a list of waiting runs. If so, the run that frees a permit
                sends the job. Otherwise, the job is sent again after a pause. In both cases, the
                tick sends a lost job again.

        Raises:
            ConditionFailed: Another writer was faster.
        """
        run, now = found.run, self.clock.now()
        if policy.deferrals_are_over(run, now):
            self._defer_no_longer(found, NO_PERMIT)
            return
        pause = policy.deferral_pause(run, self.settings, longest_seconds=policy.BUSY_SECONDS)
        wait = timedelta(seconds=0 if listed else pause)
        change = {"error": NO_PERMIT, "deferrals": run.deferrals + 1, "due_tries": None}
        change |= run.recording(Reason.CONCURRENCY_LIMIT, now) | run.due(now + wait + OUTBOX_GRACE)
        self.table.write(Update(run.key, set=change, condition=found.fence_holds))
        self.metrics.count("RunsPutOff")
        _log_no_work(run, Reason.CONCURRENCY_LIMIT)
        if not listed:
            self.dispatch.send([found.job], delay_seconds=pause)

    def _defer_no_longer(self, claim: Claim, error: str) -> None:
        """Fail a run that was deferred for too long."""
        self.before_failure(claim)
        self.completion.end(
            claim,
            "failed",
            reason=Reason.DEFERRED_TOO_LONG,
            error=f"deferred for too long: {error}",
        )

    def is_over(self, claim: Claim) -> bool:
        """Return whether the run has ended or was deleted; called after the lease was lost."""
        run = Run.read(self.table, claim.run.key)
        return run is None or run.ended

    def retry_later(self, claim: Claim, error: str) -> None:
        """End an attempt, and schedule the next attempt after a pause that doubles each time.

        Args:
            error: What went wrong, for the operator.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        wait = policy.attempt_pause(claim.run)
        self.metrics.count("RunAttemptsFailed")
        self._postpone(claim, wait, Reason.ATTEMPT_FAILED, {"error": error})

    def defer(
        self,
        claim: Claim,
        reason: Reason,
        error: str,
        *,
        longest_seconds: int | None = None,
    ) -> None:
        """Defer a run whose model is down or whose agent is busy.

        A deferral is not an attempt. The run fails if it has been deferred for longer than
        `policy.DEFERRALS` allows.

        Args:
            reason: Why.
            error: A longer explanation, for the operator.
            longest_seconds: The upper bound of the pause, which doubles each time; None for the
                setting `model_retry_max_seconds`.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run = claim.run
        if policy.deferrals_are_over(run, self.clock.now()):
            self._defer_no_longer(claim, error)
            return
        wait = policy.deferral_pause(run, self.settings, longest_seconds=longest_seconds)
        self.metrics.count("RunsPutOff")
        change = {"error": error, "attempts": run.attempts - 1, "deferrals": run.deferrals + 1}
        self._postpone(claim, wait, reason, change)

    def continue_later(self, claim: Claim) -> None:
        """Release a run before the invocation's time ends, so that a new invocation continues it.

        This invocation does not count as an attempt.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        self._postpone(claim, 0, Reason.HANDED_OVER, {"attempts": claim.run.attempts - 1})

    def take_from_worker(self, claim: Claim, *, lost: bool) -> None:
        """End the lease of a worker that has stopped, so that another worker can begin at once.

        Args:
            claim: The worker's claim, as it is stored.
            lost: Whether the worker died, which counts as an attempt. Otherwise, it does not.

        Raises:
            LostLease: The run has ended, or another worker has taken it over.
        """
        reason = Reason.WORKER_LOST if lost else Reason.HANDED_OVER
        change: dict[str, object] = {"fence": claim.run.fence + 1}
        if not lost:
            change["attempts"] = claim.run.attempts - 1
        self._postpone(claim, 0, reason, change)

    def _postpone(
        self, claim: Claim, wait_seconds: int, reason: Reason, change: dict[str, object]
    ) -> None:
        run, now = claim.run, self.clock.now()
        until = now + timedelta(seconds=wait_seconds)
        change = change | run.recording(reason, now)
        due = run.due(until + OUTBOX_GRACE)
        leased = {"lease_until": rfc3339(until)}
        write_claimed(self.table, claim, change | due | leased)
        logger.info("run postponed", extra={"run_id": run.id, "reason": reason})
        self.dispatch.send([claim.job], delay_seconds=policy.queue_delay(wait_seconds))


class _Start(NamedTuple):
    """The changes that start a run, besides the claim itself.

    Attributes:
        membership_changes: The changes of the agent's membership in the run's own chat.
        writes: Further writes of the transaction.
        merge: The merge of a queued run; empty if no run is merged.
    """

    run_changes: RunChanges
    membership_changes: MembershipChanges
    writes: tuple[Write, ...]
    merge: RunMerge


def _start_of(
    run: Run, member: Membership | None, membership: Membership | None, now: datetime
) -> _Start:
    """Return how a run starts: from its slot, after a wait, or after a deferral.

    A run that starts for the first time takes its trigger from its slot, because later messages may
    have extended the trigger in the slot. A resumed run, and a deferred run that has recorded no
    step, merge the queued run of the chat that their prompt will show.

    Args:
        run: The run before the claim.
        member: The agent's membership in the run's own chat.
        membership: The agent's membership in the chat that the prompt will show.
    """
    run_changes: RunChanges = {}
    membership_changes: MembershipChanges = {}
    merge, writes = RunMerge({}, {}, ()), tuple[Write, ...]()
    slot = member.queued_run if member is not None else None
    if run.status == "queued":
        run_changes["activation"] = run.activation + 1
    if slot is not None and slot.run_id == run.id:
        membership_changes["queued_run"] = None
        run_changes |= {
            "trigger": slot.trigger,
            "chain_depth": slot.depth,
            "audience": slot.audience,
            "then": slot.then,
        }
    elif run.status == "queued" and run.activation:
        merge = merge_queued_run(run, membership, now=now)
        if membership is not None and (member is None or member.key != membership.key):
            writes = merge.all_writes(membership)
        else:
            writes = merge.writes
            membership_changes |= merge.membership_changes
    elif member is not None and run.deferrals and not run.steps_taken:
        merge = merge_queued_run(run, member, widen=True, now=now)
        writes = merge.writes
        membership_changes |= merge.membership_changes
    if member is not None and run.status == "queued":
        if member.burst is not None:
            membership_changes["burst"] = None
        if member.awaited_media is not None:
            membership_changes["awaited_media"] = None
    return _Start(run_changes | merge.run_changes, membership_changes, writes, merge)


def held_back(run: Run, now: datetime) -> Update:
    """Return the write that delays a run until a person of the team hands its chat back.

    The run's job is sent when the chat is handed back. In case that job is lost, the run also has a
    due time, at which a worker checks again.
    """
    change: dict[str, Any] = {"status": "queued", "fence": run.fence + 1, "lease_until": None}
    waits = run.recording(Reason.DESK, now) | run.due(now + HELD_BACK) | {"due_tries": None}
    return Update(run.key, set=change | waits, condition=unchanged_run(run))


def _why_idle(run: Run, now: datetime) -> Reason | None:
    """Return why no worker may claim the run now; None if a worker may claim it."""
    if run.ended:
        return Reason.RUN_ENDED
    if run.status == "waiting":
        return Reason.WAITING_FOR_REPLY
    return Reason.WORKING if run.lease_until is not None and run.lease_until > now else None


def _log_no_work(run: Run, reason: Reason) -> None:
    logger.info("run not started now", extra={"run_id": run.id, "reason": reason})


def _why_pointless(found: Claim) -> tuple[Reason, str] | None:
    """Return the reason and the error if the run must be canceled; otherwise None."""
    if found.member is not None and not found.member.active:
        return Reason.AGENT_LEFT, "the agent has left the chat"
    if found.chat is not None and found.chat.discarded_at and found.run.status == "queued":
        return Reason.CHAT_DISCARDED, "the chat is discarded"
    if found.chat is not None and found.chat.held:
        return Reason.DESK, "a team member has taken over the chat"
    return None
