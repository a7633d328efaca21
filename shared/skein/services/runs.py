"""The life of a run: claimed under a lease, carried on step by step, ended exactly once.

Every write of a worker is conditional on the fencing number of its claim, so a worker that was
taken over can do nothing more. Whatever ends a run also frees the agent's slot in the chat and
names the run that waits behind it (DESIGN section 5, invariants 4 to 6).
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from skein.errors import ConditionFailed, LostLease
from skein.models.base import MemberRef, rfc3339
from skein.models.chat import Membership
from skein.models.completion import TokenUsage
from skein.models.due import NOT_DUE
from skein.models.jobs import RunJob
from skein.models.run import Run, RunStatus, Step, live_key
from skein.models.storage import AllOf, Check, Delete, Is, Missing, Put, Update, Write, all_of
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.chain import next_in_chain
from skein.services.dispatch import Dispatch
from skein.services.retrying import optimistic
from skein.services.slots import slots_unchanged
from skein.settings import Settings

LONGEST_PUT_OFF_SECONDS = 900  # the longest delay that SQS knows

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that is this worker's own, and the agent's place in the chat, as last written."""

    run: Run
    member: Membership

    @property
    def mine(self) -> AllOf:
        """Holds while nobody has taken the run over."""
        return all_of(Is("fence", self.run.fence), Is("status", "running"))

    @property
    def guard(self) -> Check:
        """Lets any transaction fail once somebody has taken the run over."""
        return Check(self.run.key, self.mine)


class Runs:
    """Claims, records, postpones and ends runs."""

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        ids: Ids,
        dispatch: Dispatch,
        metrics: Metrics,
        settings: Settings,
    ) -> None:
        self._table = table
        self._clock = clock
        self._ids = ids
        self._dispatch = dispatch
        self._metrics = metrics
        self._settings = settings

    def claim(self, job: RunJob, *, lease_until: datetime) -> Claim | None:
        """Make a run this worker's own, if there is anything to do and nobody else does it.

        A run whose agent has left is canceled here, and one that used up its attempts is failed.

        Args:
            job: Which run.
            lease_until: The moment from which others may believe this worker dead.

        Returns:
            The claim, or None when there is nothing to do (now): the run has ended, is at work
            elsewhere, or waits behind another one of the same agent in the same chat.
        """
        return optimistic(self._clock, lambda: self._claim_once(job, lease_until))

    def _claim_once(self, job: RunJob, lease_until: datetime) -> Claim | None:
        found = self._read(job)
        if found is None:
            return None
        run, member = found.run, found.member
        now = self._clock.now()
        if run.ended or (run.lease_until is not None and run.lease_until > now):
            return None
        if member.running_run not in {None, run.id}:
            return None
        if not member.active:
            self._end_once(found, "canceled", error="the agent has left the chat")
            return None
        if run.attempts >= self._settings.max_attempts:
            last = run.error or "the worker vanished each time"
            self._end_once(found, "failed", error=f"gave up after {run.attempts} attempts: {last}")
            return None
        return self._take(found, now, lease_until)

    def _read(self, job: RunJob) -> Claim | None:
        run_key = Run.key_of(job.tenant, job.run_id)
        agent = MemberRef(kind="agent", id=job.agent_id)
        member_key = Membership.key_of(job.tenant, Run.home_of(job.run_id), agent)
        found = self._table.get_many([run_key, member_key])
        if len(found) < 2:  # noqa: PLR2004 - the run and its agent's membership
            logger.warning("a job names no run", extra={"run_id": job.run_id})
            return None
        return Claim(Run.from_item(found[run_key]), Membership.from_item(found[member_key]))

    def _take(self, found: Claim, now: datetime, lease_until: datetime) -> Claim:
        run, member = found.run, found.member
        slot = member.queued_run
        if slot is not None and slot.run_id == run.id:
            run = run.model_copy(
                update={"trigger": slot.trigger, "chain_depth": slot.depth, "then": slot.then}
            )
        else:
            slot = None
        run = run.model_copy(
            update={
                "status": "running",
                "fence": run.fence + 1,
                "attempts": run.attempts + 1,
                "lease_until": lease_until,
                "started_at": run.started_at or now,
            }
        )
        change = {"running_run": run.id} | ({"queued_run": None} if slot else {})
        self._table.transact(
            [
                Update(
                    run.key,
                    set=run.attributes() | run.due(lease_until) | {"due_tries": None},
                    condition=all_of(Is("fence", found.run.fence), Is("status", found.run.status)),
                ),
                Update(member.key, set=change, condition=slots_unchanged(member)),
            ]
        )
        return Claim(run, member.model_copy(update=change))

    def steps(self, claim: Claim) -> tuple[Step, ...]:
        """The answers that earlier activations and attempts recorded, in order."""
        if claim.run.steps_taken == 0:
            return ()
        page = self._table.query(
            claim.run.key.pk,
            first=f"{claim.run.key.sk}#STEP#",
            last=f"{claim.run.key.sk}#STEP#~",
        )
        return tuple(Step.from_item(item) for item in page.items)

    def record(self, claim: Claim, step: Step, *, shown_seq: int) -> Claim:
        """Write down a model's answer before anything that it asks for is carried out.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        usage = claim.run.usage + step.usage
        run = claim.run.model_copy(
            update={"steps_taken": step.n, "usage": usage, "shown_seq": shown_seq}
        )
        change = {
            "steps_taken": step.n,
            "usage": _usage(usage),
            "shown_seq": shown_seq,
        }
        try:
            self._table.transact(
                [
                    Put(step.key, step.to_item(), Missing()),
                    Update(run.key, set=change, condition=claim.mine),
                ]
            )
        except ConditionFailed as failure:
            raise LostLease(run.id) from failure
        return replace(claim, run=run)

    def end(self, claim: Claim, status: RunStatus, *, error: str | None = None) -> None:
        """End a run, free its slot, move SEEN to what was shown, and send the one behind it.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        try:
            self._end_once(claim, status, error=error)
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise LostLease(claim.run.id) from failure
            optimistic(self._clock, lambda: self._end_afresh(claim, status, error))

    def _end_afresh(self, claim: Claim, status: RunStatus, error: str | None) -> None:
        """End on a fresh reading of the membership, whose slots have changed meanwhile."""
        item = self._table.get(claim.member.key)
        member = Membership.from_item(item) if item else claim.member
        try:
            self._end_once(replace(claim, member=member), status, error=error)
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise LostLease(claim.run.id) from failure
            raise

    def _end_once(self, claim: Claim, status: RunStatus, *, error: str | None) -> None:
        run, member = claim.run, claim.member
        now = self._clock.now()
        change = {"status": status, "ended_at": rfc3339(now), "lease_until": None, "error": error}
        writes: list[Write] = [
            Update(
                run.key,
                set=change | NOT_DUE,
                condition=all_of(Is("fence", run.fence), Is("status", run.status)),
            ),
            self._freed(run, member),
        ]
        jobs: list[RunJob] = []
        if member.queued_run is not None and member.queued_run.run_id != run.id:
            behind = member.queued_run.run_id
            jobs.append(RunJob(tenant=run.tenant, run_id=behind, agent_id=run.agent_id))
        following = next_in_chain(self._table, run, ids=self._ids, now=now, settings=self._settings)
        if following is not None:
            writes.extend(following.writes)
            jobs.extend([following.job] if following.job else [])
        if run.chat_id is None:
            writes.append(Delete(live_key(run)))
        self._table.transact(writes)
        logger.info("run ended", extra={"run_id": run.id, "status": status, "reason": error})
        if status == "failed":
            self._metrics.count("RunsFailed")
        self._dispatch.send(jobs)

    @staticmethod
    def _freed(run: Run, member: Membership) -> Update:
        """The membership without this run in either slot, its SEEN mark where the prompt ended."""
        change: dict[str, object] = {"seen_seq": max(member.seen_seq, run.shown_seq or 0)}
        if member.running_run == run.id:
            change["running_run"] = None
        if member.queued_run is not None and member.queued_run.run_id == run.id:
            change["queued_run"] = None
        condition = slots_unchanged(member) if member.active else Is("left_seq", member.left_seq)
        return Update(member.key, set=change, condition=condition)

    def retry_later(self, claim: Claim, reason: str) -> None:
        """Give an attempt up; the next one may begin after a pause that doubles each time.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        wait = self._settings.retry_base_seconds * 2 ** (claim.run.attempts - 1)
        self._metrics.count("RunAttemptsFailed")
        self._postpone(claim, wait, {"error": reason})

    def put_off(self, claim: Claim, reason: str) -> None:
        """Let a run wait for a model that is down; this is no attempt.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run = claim.run
        waited = self._clock.now() - run.created_at
        if waited > timedelta(seconds=self._settings.max_put_off_seconds):
            self.end(claim, "failed", error=f"the model was down for too long: {reason}")
            return
        wait = min(self._settings.retry_base_seconds * 2**run.put_offs, LONGEST_PUT_OFF_SECONDS)
        self._metrics.count("RunsPutOff")
        change = {"error": reason, "attempts": run.attempts - 1, "put_offs": run.put_offs + 1}
        self._postpone(claim, wait, change)

    def hand_on(self, claim: Claim) -> None:
        """Let a fresh invocation go on, since this one's time is running out; no attempt either.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        self._postpone(claim, 0, {"attempts": claim.run.attempts - 1})

    def _postpone(self, claim: Claim, wait_seconds: int, change: dict[str, object]) -> None:
        run = claim.run
        until = self._clock.now() + timedelta(seconds=wait_seconds)
        due = run.due(until + timedelta(seconds=self._settings.outbox_grace_seconds))
        try:
            self._table.write(
                Update(
                    run.key,
                    set=change | due | {"lease_until": rfc3339(until)},
                    condition=claim.mine,
                )
            )
        except ConditionFailed as failure:
            raise LostLease(run.id) from failure
        job = RunJob(tenant=run.tenant, run_id=run.id, agent_id=run.agent_id)
        self._dispatch.send([job], delay_seconds=min(wait_seconds, LONGEST_PUT_OFF_SECONDS))


def _usage(usage: TokenUsage) -> dict[str, int]:
    return usage.model_dump(mode="json")
