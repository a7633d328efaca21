"""Run slots: at most one running and one queued run per agent and chat.

The slots, which also list the resuming runs, are attributes of the agent's membership. Every
trigger of an agent in a chat goes through this module. Each function returns writes for the
transaction that records the trigger. The writes are conditional on the slots as they were read
(optimistic lock).

    trigger arrives     -> enqueue()           create the queued run, or extend the existing one
    wait ends           -> resuming()          put the run before any queued run
    run resumes         -> merge_queued_run()  take over the queued run of the shown chat
    run is rebuilt      -> merge_queued_run()  likewise
    deferred run starts -> merge_queued_run()  likewise, while the run has recorded no step
    run ends or waits   -> release_slots()     free the slots; next_run_job() gives the next job
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.correlation import current
from skein.models.chats.membership import Membership, MembershipChanges
from skein.models.common.base import rfc3339
from skein.models.common.reason import Reason, reason_attributes
from skein.models.common.storage import Absent, Condition, Is, Missing, Put, Update, Write, all_of
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run, RunChanges, run_id_in
from skein.models.runs.trigger import QueuedRun, Trigger
from skein.models.visibility.audience import Audience
from skein.ports import Ids
from skein.services.outbox.dispatch import OUTBOX_GRACE
from skein.settings import Settings

logger = logging.getLogger(__name__)

SLOTS = ("running_run", "queued_run", "resuming", "wait")


class EnqueuedRun(NamedTuple):
    """The writes that queue a run, the run's id, and its job if the run can start at once."""

    writes: tuple[Write, ...]
    run_id: str
    job: RunJob | None


def slots_unchanged(member: Membership) -> Condition:
    """Return the condition that the agent is still a member and its slots have not changed."""
    stored = member.attributes()
    there = Is("chat_id", member.chat_id)
    return all_of(there, Absent("left_seq"), *(Is(name, stored.get(name)) for name in SLOTS))


def run_due_at(now: datetime, settings: Settings) -> datetime:
    """Return when the tick sends a run's job if it was lost: some time after the debounce."""
    return now + timedelta(seconds=settings.reply_debounce_seconds) + OUTBOX_GRACE


def enqueue(
    member: Membership,
    trigger: Trigger,
    *,
    depth: int,
    audience: Audience,
    then: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None,
    ids: Ids,
    now: datetime,
    settings: Settings,
) -> EnqueuedRun:
    """Create the agent's queued run, or extend the existing one.

    Args:
        member: The agent's membership, freshly read; the writes are conditional on its slots.
        trigger: Why the run exists.
        depth: The run's chain depth.
        audience: The audience of the content that the run must answer.
        then: Ids of agents that respond afterwards, one after another.
        changes: Further attributes of the membership to set.
        settings: For the debounce and the outbox grace.

    Returns:
        The writes for the caller's transaction, the run's id and its job. The job is None if a
        queued run was extended. It is also None while the agent has a running or resuming run in
        this chat: at the end of that run, the job of the queued run is sent.
    """
    if member.queued_run is not None:
        slot = member.queued_run.widened(trigger, depth=depth, then=tuple(then), audience=audience)
        return EnqueuedRun((slot_write(member, slot, changes),), slot.run_id, None)
    run = Run(
        tenant=member.tenant,
        id=run_id_in(member.chat_id, ids.ulid()),
        agent_id=member.member.id,
        chat_id=member.chat_id,
        trigger=trigger,
        audience=audience,
        chain_depth=depth,
        then=tuple(then),
        correlation_id=current(),
        created_at=now,
    )
    slot = QueuedRun(
        run_id=run.id, trigger=trigger, depth=depth, then=tuple(then), audience=audience
    )
    put = Put(run.key, run.to_item(run_due_at(now, settings)), Missing())
    return EnqueuedRun(
        (put, slot_write(member, slot, changes)),
        run.id,
        run.job if member.free else None,
    )


def without(resuming: Sequence[str], run_id: str) -> list[str] | None:
    """Return `resuming` without one run; None, which removes the attribute, if no run is left."""
    return [other for other in resuming if other != run_id] or None


def resuming(home: Membership, run_id: str, *, changes: Mapping[str, Any] | None = None) -> Update:
    """Return the write that lists a run as resuming, at the end of its wait.

    Args:
        home: The agent's membership in the run's own chat, freshly read.
        changes: Further attributes of the membership to set.
    """
    change = {"resuming": [*home.resuming, run_id]} | dict(changes or {})
    return Update(home.key, set=change, condition=slots_unchanged(home))


class RunMerge(NamedTuple):
    """The merge of a queued run into another run: the changes to that run and the membership.

    Attributes:
        merged: The id of the queued run; None if there is no merge.
    """

    run_changes: RunChanges
    membership_changes: MembershipChanges
    writes: tuple[Write, ...]
    merged: str | None = None

    def log(self) -> None:
        """Log the end of the merged run, once the writes are committed."""
        if self.merged is not None:
            log_canceled(self.merged, Reason.MERGED)

    def all_writes(self, membership: Membership | None) -> tuple[Write, ...]:
        """Return `writes` and, if the merge changes the membership, the write of the membership."""
        if membership is None or not self.membership_changes:
            return self.writes
        unchanged = slots_unchanged(membership)
        return (*self.writes, Update(membership.key, self.membership_changes, condition=unchanged))


def merge_queued_run(
    run: Run, membership: Membership | None, *, widen: bool = False, now: datetime
) -> RunMerge:
    """Merge a chat's queued run into a run whose next prompt shows that chat.

    The queued run ends as `canceled`, so that its messages are answered once. The queued run is
    not merged in two cases: if it has a chain and `run` belongs to another chat; and if `run`
    belongs to a plan or a service and has not waited in that chat (`Run.leaves_messages`).

    Args:
        run: The run that is about to resume, be rebuilt or be tried again.
        membership: The agent's membership in the chat that the run will show; None for no chat.
        widen: Whether to extend the trigger and audience of `run` by those of the queued run. The
            time limit for deferrals then starts again.
    """
    queued = membership.queued_run if membership is not None else None
    if membership is None or queued is None or queued.run_id == run.id:
        return RunMerge({}, {}, ())
    if run.chat_id != membership.chat_id and queued.then:
        return RunMerge({}, {}, ())
    if run.leaves_messages(membership.chat_id):
        return RunMerge({}, {}, ())
    changes: RunChanges = {"chain_depth": min(run.chain_depth, queued.depth)}
    if queued.then:
        changes["then"] = tuple(sorted({*run.then, *queued.then}))
    if widen:
        changes["trigger"] = run.trigger.widened(queued.trigger)
        changes["audience"] = run.audience.narrowed(queued.audience)
        changes["joined_at"] = now
    joined = canceled_queued_run(
        membership, queued, Reason.MERGED, f"joined {run.id}", now, merged_into=run.id
    )
    emptied: MembershipChanges = {"queued_run": None, "burst": None, "awaited_media": None}
    return RunMerge(changes, emptied, (joined,), queued.run_id)


def canceled_queued_run(
    membership: Membership,
    queued: QueuedRun,
    reason: Reason,
    error: str,
    now: datetime,
    *,
    merged_into: str | None = None,
) -> Update:
    """Return the write that cancels a queued run, with `reason` as its first recorded reason."""
    over = {"status": "canceled", "error": error, "ended_at": rfc3339(now)}
    over |= whole_trigger(queued)
    over |= {"merged_into": merged_into} if merged_into is not None else {}
    return Update(
        Run.key_of(membership.tenant, queued.run_id),
        set=over | reason_attributes(reason, now) | NOT_DUE,
        condition=Is("status", "queued"),
    )


def whole_trigger(queued: QueuedRun) -> dict[str, Any]:
    """Return the change of a queued run that ends, so that it names all messages that it was for.

    While a run is queued, only its slot names the messages that came after the first.
    """
    return {"trigger": queued.trigger.model_dump(mode="json", exclude_none=True)}


def log_canceled(run_id: str, reason: Reason) -> None:
    logger.info("run ended", extra={"run_id": run_id, "status": "canceled", "reason": reason})


def is_its_turn(run: Run, member: Membership) -> bool:
    """Return whether no other run of the agent in the chat goes before this run.

    A running run goes first, then resuming runs, then the queued run.
    """
    if member.running_run is not None:
        return member.running_run == run.id
    return not member.resuming or run.id in member.resuming


def slot_write(
    member: Membership, slot: QueuedRun, changes: Mapping[str, Any] | None = None
) -> Update:
    """Return the write that makes `slot` the queued run of a membership."""
    queued = {"queued_run": slot.model_dump(mode="json", exclude_none=True)}
    return Update(member.key, set=queued | dict(changes or {}), condition=slots_unchanged(member))


def release_slots(run: Run, member: Membership, *, seen: bool = True) -> Update:
    """Return the write that frees a run's slots.

    Args:
        seen: Whether the write moves the chat's SEEN watermark to the last message that was shown.
    """
    change: dict[str, object] = {}
    if seen and run.shown is not None and run.shown.chat_id == member.chat_id:
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
    # A run of the agent from another chat may have moved this chat's SEEN watermark since.
    condition = all_of(as_it_was, Is("seen_seq", member.seen_seq))
    return Update(member.key, set=change or {"seen_seq": member.seen_seq}, condition=condition)


def next_run_job(run: Run, member: Membership) -> list[RunJob]:
    """Return the job of the run that may resume or start after the end of `run`, if any."""
    slot = member.queued_run
    queued = [slot.run_id] if slot else []
    following = [run_id for run_id in (*member.resuming, *queued) if run_id != run.id]
    if not following or not member.active or member.running_run not in {None, run.id}:
        return []
    first = following[0]
    user_id = slot.trigger.user_id if slot is not None and slot.run_id == first else None
    return [RunJob(tenant=run.tenant, run_id=first, agent_id=run.agent_id, user_id=user_id)]
