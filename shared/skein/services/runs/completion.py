"""End runs: free the slot, move the SEEN watermark, and send the job of the next run."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from skein.errors import ConditionFailed, Conflict, LostLease
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Below, Check, Delete, Is, Key, Update, Write
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run, RunStatus, ShownStaging, live_key
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.chat_state.closed_memberships import read_membership
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.optimistic import optimistic, transact_guarded
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.activations import Recording
from skein.services.runs.chain import next_in_chain
from skein.services.runs.claim import Claim, read_claim, stored_of
from skein.services.runs.latency import record_answer
from skein.services.runs.slots import next_run_job, release_slots, whole_trigger
from skein.settings import Settings

logger = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """How a run ends.

    Attributes:
        reason: Why there is no answer; None if the run has answered.
        error: A longer explanation, for the operator.
    """

    status: RunStatus
    reason: Reason | None = None
    error: str | None = None


class CompletionWrites(NamedTuple):
    """The writes that end a run, and the jobs of the runs that follow.

    The first write fails if another worker has taken the run over.
    """

    writes: tuple[Write, ...]
    jobs: tuple[RunJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompletion:
    """The service that ends runs, each exactly once."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    metrics: Metrics
    settings: Settings

    def end(
        self,
        claim: Claim,
        status: RunStatus,
        *,
        reason: Reason | None = None,
        error: str | None = None,
        step_recording: Recording | None = None,
    ) -> None:
        """End a run in one transaction, then send the jobs of the runs that follow.

        The runs that follow are the agent's next run in the same chat, and the run of the next
        agent in the chain.

        Args:
            claim: The claim of the run. If there is a `step_recording`, its claim.
            status: The status with which the run ends.
            reason: Why there is no answer; None if the run has answered.
            error: A longer explanation of why the run failed or was canceled.
            step_recording: The recording of the last step, if it was not recorded yet.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        self.advance_seen(claim)
        outcome = Outcome(status, reason, error)
        try:
            self._end_claimed(claim, outcome, step_recording)
        except ConditionFailed:
            optimistic(self.clock, lambda: self._end_afresh(claim, outcome, step_recording))

    def ended_in(
        self,
        snapshot: ChatSnapshot,
        claim: Claim,
        outcome: Outcome,
        step_recording: Recording | None,
        *,
        again: bool,
    ) -> CompletionWrites:
        """Return the writes that end a run in the transaction that posts its final message.

        The message is posted to the run's own chat. The caller commits the writes together with the
        message, and calls `over` afterwards.

        Args:
            snapshot: The chat snapshot, freshly read.
            claim: The claim of the run. If there is a `step_recording`, its claim. The run must
                already name its final message, if any. No agents may follow the run in a chain.
            outcome: How the run ends.
            step_recording: The recording of the last step, if it was not recorded yet.
            again: Whether an earlier try of the transaction failed. The borrowed context is then
                read again.
        """
        run = self._still_staged(claim.run) if again else claim.run
        fresh = replace(claim, run=run, member=snapshot.member(claim.agent))
        return self._completion_writes(fresh, outcome, step_recording=step_recording)

    def over(self, run: Run, outcome: Outcome, jobs: Sequence[RunJob]) -> None:
        """After the commit: log and count the end of a run, and send the jobs of the next runs."""
        status, reason, error = outcome
        logger.info(
            "run ended",
            extra={"run_id": run.id, "status": status, "reason": reason, "error": error},
        )
        if status == "failed":
            self.metrics.count("RunsFailed")
        if status == "done":
            record_answer(self.metrics, run, self.clock.now())
        self.dispatch.send(jobs)

    def cancel(self, run: Run, *, reason: Reason, error: str, guard: Check | None = None) -> None:
        """Cancel a run that has not ended.

        If a worker has claimed the run, that worker's later writes fail.

        Args:
            run: The run to cancel.
            reason: Why.
            error: A longer explanation, for the operator.
            guard: A check for the same transaction, for example that the canceling run's claim
                still holds.

        Raises:
            Conflict: The run has ended already.
            LostLease: The check `guard` failed.
        """
        outcome = Outcome("canceled", reason, error)
        optimistic(self.clock, lambda: self._cancel_once(run, outcome, guard))

    def _cancel_once(self, run: Run, outcome: Outcome, guard: Check | None) -> None:
        found = read_claim(self.table, run.job)
        if found is None or found.run.ended:
            raise Conflict("this run has already ended")
        self.advance_seen(found)
        self._end_once(found, outcome, guard=guard)

    def advance_seen(self, claim: Claim, *, at_home: bool = False) -> None:
        """Move the agent's SEEN watermark up to the newest message that the run's prompt showed.

        The watermark never moves back.

        Args:
            at_home: Whether to move the watermark even if the prompt showed the run's own chat. By
                default, the transaction that ends the run or begins its wait moves the watermark of
                that chat.
        """
        shown = claim.run.shown
        if shown is None or (shown.chat_id == claim.run.chat_id and not at_home):
            return
        key = Membership.key_of(claim.run.tenant, shown.chat_id, claim.agent)
        try:
            self.table.write(
                Update(key, set={"seen_seq": shown.seq}, condition=Below("seen_seq", shown.seq))
            )
        except ConditionFailed:
            logger.debug("already seen", extra={"run_id": claim.run.id})

    def _end_afresh(self, claim: Claim, outcome: Outcome, step_recording: Recording | None) -> None:
        """Read the run's slots and the stored borrowed context again, then end the run."""
        member = claim.member
        membership = (
            read_membership(self.table, member.tenant, member.chat_id, member.member.ref)
            if member
            else None
        )
        fresh = replace(claim, run=self._still_staged(claim.run), member=membership or member)
        self._end_claimed(fresh, outcome, step_recording)

    def _end_claimed(
        self, claim: Claim, outcome: Outcome, step_recording: Recording | None
    ) -> None:
        try:
            self._end_once(claim, outcome, step_recording=step_recording)
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise LostLease(claim.run.id) from failure
            raise

    def _end_once(
        self,
        claim: Claim,
        outcome: Outcome,
        *,
        guard: Check | None = None,
        step_recording: Recording | None = None,
    ) -> None:
        completed = self._completion_writes(claim, outcome, step_recording=step_recording)
        transact_guarded(self.table, completed.writes, guard)
        self.over(claim.run, outcome, completed.jobs)

    def _completion_writes(
        self, claim: Claim, outcome: Outcome, *, step_recording: Recording | None
    ) -> CompletionWrites:
        run, now = claim.run, self.clock.now()
        recorded = step_recording.changes if step_recording is not None else {}
        writes: list[Write] = [
            _ended(claim, recorded, outcome, now),
            *(step_recording.own_writes if step_recording is not None else ()),
            *self._unwaited(run),
        ]
        jobs: list[RunJob] = []
        if claim.member is None:
            writes.append(Delete(live_key(run)))
        else:
            # An approved call is recorded with its prompt before the model is asked.
            asked = run.model is not None or outcome.status == "done"
            home = release_slots(run, claim.member, seen=asked)
            if outcome.status == "done":
                member = claim.member
                past = ("late_since", "failed_since", "failed_answers")
                over = {name: None for name in past if getattr(member, name)}
                home = replace(home, set={**home.set, **over})
            elif outcome.status == "failed" and run.trigger.by_person:
                failed = claim.member.failed_answers + 1
                home = replace(home, set={**home.set, "failed_answers": failed})
            writes.append(home)
            jobs.extend(next_run_job(run, claim.member))
            following = (
                next_in_chain(self.table, run, ids=self.ids, now=now, settings=self.settings)
                if run.then
                else None
            )
            if following is not None:
                writes.extend(following.writes)
                jobs.extend([following.job] if following.job else [])
        if outcome.status == "done":
            writes.extend(_returned(run))
        return CompletionWrites(tuple(writes), tuple(jobs))

    def _still_staged(self, run: Run) -> Run:
        """Return the run without the borrowed context that newer context has replaced."""
        if not run.borrowed:
            return run
        found = self.table.get_many(list({_staged_key(run, held) for held in run.borrowed}))
        names = {key: item.get("staging") for key, item in found.items()}
        still = [held for held in run.borrowed if names.get(_staged_key(run, held)) == held.staging]
        return run.model_copy(update={"borrowed": tuple(still)})

    def _unwaited(self, run: Run) -> list[Write]:
        """Return the write that ends the run's wait, if the run waits outside its own chat."""
        if run.wait is None or run.wait_chat_id in {None, run.chat_id}:
            return []
        agent = MemberRef(kind="agent", id=run.agent_id)
        key = Membership.key_of(run.tenant, str(run.wait_chat_id), agent)
        wait = run.wait.model_dump(mode="json")
        return [Update(key, set={"wait": None}, condition=Is("wait", wait))]


def _ended(claim: Claim, recorded: dict[str, Any], outcome: Outcome, now: datetime) -> Update:
    status, reason, error = outcome
    why = claim.run.recording(reason, now) if reason is not None else {"reason": None}
    change = (
        recorded
        | why
        | {
            "status": status,
            "final_message": stored_of(claim, "final_message")["final_message"],
            "ended_at": rfc3339(now),
            "lease_until": None,
            "sharing": None,
            "wait": None,
            "wait_chat_id": None,
            "error": error,
            "expires_at": claim.kept_until(now),
        }
    )
    queued = claim.member.queued_run if claim.member is not None else None
    if queued is not None and queued.run_id == claim.run.id:
        change |= whole_trigger(queued)
    return Update(claim.run.key, set=change | NOT_DUE, condition=claim.fence_holds)


def _returned(run: Run) -> list[Write]:
    """Return the writes that delete the borrowed context that the prompts of `run` have shown.

    Each write has the condition that this context is still the stored one, so newer context is
    kept.
    """
    newest = {_staged_key(run, held): held.staging for held in run.borrowed}
    return [Delete(key, Is("staging", staging)) for key, staging in newest.items()]


def _staged_key(run: Run, held: ShownStaging) -> Key:
    return BorrowedContext.key_of(run.tenant, held.chat_id, run.agent_id)
