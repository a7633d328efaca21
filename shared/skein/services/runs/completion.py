"""How a run ends: its slot is freed, SEEN moves, and the run behind it is named and sent."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from skein.errors import ConditionFailed, Conflict, LostLease
from skein.models.base import MemberRef, rfc3339
from skein.models.borrowed import Borrowed
from skein.models.chat import Membership
from skein.models.due import NOT_DUE
from skein.models.jobs import RunJob
from skein.models.run import Run, RunStatus, ShownStaging, live_key
from skein.models.storage import Below, Check, Delete, Is, Key, Update, Write, all_of
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.chat_state.closed_memberships import read_place
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.common.optimistic import optimistic, transact_guarded
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.chain import next_in_chain
from skein.services.runs.claim import Claim, read_claim
from skein.services.runs.slots import slots_unchanged, without
from skein.services.runs.step_record import Recording
from skein.settings import Settings

logger = logging.getLogger(__name__)


class Ending(NamedTuple):
    """What ends a run: the writes, of which the first fails once it was taken over, and jobs."""

    writes: tuple[Write, ...]
    jobs: tuple[RunJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompletion:
    """Ends runs, each exactly once."""

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
        error: str | None = None,
        answer: Recording | None = None,
    ) -> None:
        """End a run in one transaction, then send the run behind it and the next in its chain.

        Args:
            claim: The run's; that of `answer`, if there is one.
            status: How it ends.
            error: Why it failed or was canceled.
            answer: The model's last, if it is still to be written down.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        self.mark_seen(claim)
        try:
            self._end_once(claim, status, error, answer=answer)
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise LostLease(claim.run.id) from failure
            optimistic(self.clock, lambda: self._end_afresh(claim, status, error, answer))

    def done_in(
        self, snapshot: ChatSnapshot, claim: Claim, answer: Recording | None, *, again: bool
    ) -> Ending:
        """What ends a run well in the very transaction that posts its last words in its own chat.

        Whoever posts them carries the writes out, and calls `over` once that is done.

        Args:
            snapshot: The chat as it was just read.
            claim: The run's, without a chain behind it; that of `answer`, if there is one.
            answer: The model's last, if it is still to be written down.
            again: It was in vain before, so what was borrowed is looked at afresh.
        """
        run = self._still_staged(claim.run) if again else claim.run
        fresh = replace(claim, run=run, member=snapshot.member(claim.agent))
        return self._ending(fresh, "done", answer=answer)

    def over(
        self, run: Run, status: RunStatus, jobs: Sequence[RunJob], *, error: str | None = None
    ) -> None:
        """Say that a run has ended, and send those that follow it."""
        logger.info("run ended", extra={"run_id": run.id, "status": status, "reason": error})
        if status == "failed":
            self.metrics.count("RunsFailed")
        self.dispatch.send(jobs)

    def cancel(self, run: Run, *, error: str, guard: Check | None = None) -> None:
        """Cancel a run, whatever it is doing; a worker that is at it can do nothing more.

        Args:
            run: Which.
            error: Why, for the operator.
            guard: What else must hold.

        Raises:
            Conflict: It has ended already.
            LostLease: The guard does not hold.
        """
        optimistic(self.clock, lambda: self._cancel_once(run, error, guard))

    def _cancel_once(self, run: Run, error: str, guard: Check | None) -> None:
        found = read_claim(self.table, run.job)
        if found is None or found.run.ended:
            raise Conflict("this run has ended already")
        self.mark_seen(found)
        self._end_once(found, "canceled", error, guard=guard)

    def mark_seen(self, claim: Claim, *, at_home: bool = False) -> None:
        """Move the agent's SEEN mark, never back, to what its newest prompt showed.

        Args:
            claim: The run's.
            at_home: Also where the prompt showed the run's own chat; there the transaction that
                ends the run, or begins its wait, does it otherwise.
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

    def _end_afresh(
        self, claim: Claim, status: RunStatus, error: str | None, answer: Recording | None
    ) -> None:
        """End on a fresh reading of what has changed meanwhile: slots, or what was borrowed."""
        member = claim.member
        place = (
            read_place(self.table, member.tenant, member.chat_id, member.member.ref)
            if member
            else None
        )
        fresh = replace(claim, run=self._still_staged(claim.run), member=place or member)
        try:
            self._end_once(fresh, status, error, answer=answer)
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise LostLease(claim.run.id) from failure
            raise

    def _end_once(
        self,
        claim: Claim,
        status: RunStatus,
        error: str | None,
        *,
        guard: Check | None = None,
        answer: Recording | None = None,
    ) -> None:
        ending = self._ending(claim, status, error, answer=answer)
        transact_guarded(self.table, ending.writes, guard)
        self.over(claim.run, status, ending.jobs, error=error)

    def _ending(
        self,
        claim: Claim,
        status: RunStatus,
        error: str | None = None,
        *,
        answer: Recording | None,
    ) -> Ending:
        run, now = claim.run, self.clock.now()
        recorded = answer.changes if answer is not None else {}
        writes: list[Write] = [
            _ended(claim, recorded, status, error, now),
            *(answer.beside if answer is not None else ()),
            *self._unwaited(run),
        ]
        jobs: list[RunJob] = []
        if claim.member is None:
            writes.append(Delete(live_key(run)))
        else:
            home = freed(run, claim.member)
            if status == "done" and claim.member.late_since is not None:
                home = replace(home, set={**home.set, "late_since": None})
            writes.append(home)
            jobs.extend(behind(run, claim.member))
            following = next_in_chain(
                self.table, run, ids=self.ids, now=now, settings=self.settings
            )
            if following is not None:
                writes.extend(following.writes)
                jobs.extend([following.job] if following.job else [])
        if status == "done":
            writes.extend(_returned(run))
        return Ending(tuple(writes), tuple(jobs))

    def _still_staged(self, run: Run) -> Run:
        """The run with those stagings only that nothing has taken the place of meanwhile."""
        if not run.borrowed:
            return run
        found = self.table.get_many(list({_staged_key(run, held) for held in run.borrowed}))
        names = {key: item.get("staging") for key, item in found.items()}
        still = [held for held in run.borrowed if names.get(_staged_key(run, held)) == held.staging]
        return run.model_copy(update={"borrowed": tuple(still)})

    def _unwaited(self, run: Run) -> list[Write]:
        """Takes the wait away from the chat in which `run` waits, if that is not its own."""
        if run.wait is None or run.wait_chat_id in {None, run.chat_id}:
            return []
        agent = MemberRef(kind="agent", id=run.agent_id)
        key = Membership.key_of(run.tenant, str(run.wait_chat_id), agent)
        wait = run.wait.model_dump(mode="json")
        return [Update(key, set={"wait": None}, condition=Is("wait", wait))]


def _ended(
    claim: Claim, recorded: dict[str, Any], status: RunStatus, error: str | None, now: datetime
) -> Update:
    change = recorded | {
        "status": status,
        "ended_at": rfc3339(now),
        "lease_until": None,
        "wait": None,
        "wait_chat_id": None,
        "error": error,
        "expires_at": claim.kept_until(now),
    }
    return Update(claim.run.key, set=change | NOT_DUE, condition=claim.mine)


def _returned(run: Run) -> list[Write]:
    """Takes away what the agent had borrowed, if it still is what prompts of `run` showed."""
    newest = {_staged_key(run, held): held.staging for held in run.borrowed}
    return [Delete(key, Is("staging", staging)) for key, staging in newest.items()]


def _staged_key(run: Run, held: ShownStaging) -> Key:
    return Borrowed.key_of(run.tenant, held.chat_id, run.agent_id)


def freed(run: Run, member: Membership) -> Update:
    """The membership without this run in any slot, its SEEN mark where the prompt ended."""
    change: dict[str, object] = {}
    if run.shown is not None and run.shown.chat_id == member.chat_id:
        change["seen_seq"] = max(member.seen_seq, run.shown.seq)
    if member.running_run == run.id:
        change["running_run"] = None
    if member.queued_run is not None and member.queued_run.run_id == run.id:
        change["queued_run"] = None
    if run.id in member.resuming:
        change["resuming"] = without(member.resuming, run.id)
    if member.wait is not None and member.wait.run_id == run.id:
        change["wait"] = None
    as_it_was = slots_unchanged(member) if member.active else Is("left_seq", member.left_seq)
    # Another run of the agent, at home elsewhere, may have been shown more of this chat meanwhile.
    condition = all_of(as_it_was, Is("seen_seq", member.seen_seq))
    return Update(member.key, set=change or {"seen_seq": member.seen_seq}, condition=condition)


def behind(run: Run, member: Membership) -> list[RunJob]:
    """The job of the run that may go on, or start, once `run` is out of the way."""
    slot = member.queued_run
    queued = [slot.run_id] if slot else []
    following = [run_id for run_id in (*member.resuming, *queued) if run_id != run.id]
    if not following or not member.active or member.running_run not in {None, run.id}:
        return []
    first = following[0]
    user_id = slot.trigger.user_id if slot is not None and slot.run_id == first else None
    return [RunJob(tenant=run.tenant, run_id=first, agent_id=run.agent_id, user_id=user_id)]
