"""The two slots of a (chat, agent) pair: one run at work, one that has never started.

Everything that wants an agent to work in a chat goes through `enqueue`, whose writes belong into
the transaction that gives the reason.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.models.chat import Membership
from skein.models.jobs import RunJob
from skein.models.run import QueuedRun, Run, Trigger, run_id_in
from skein.models.storage import Absent, Condition, Is, Missing, Put, Update, Write, all_of
from skein.ports import Ids
from skein.settings import Settings


class Enqueued(NamedTuple):
    """What makes an agent respond: the writes, the run, and the job if it may start at once."""

    writes: tuple[Write, ...]
    run_id: str
    job: RunJob | None


def slots_unchanged(member: Membership) -> Condition:
    """The membership is open and its slots are as they were read."""
    queued = member.queued_run and member.queued_run.model_dump(mode="json", exclude_none=True)
    return all_of(
        Absent("left_seq"), Is("running_run", member.running_run), Is("queued_run", queued)
    )


def enqueue(
    member: Membership,
    trigger: Trigger,
    *,
    depth: int,
    then: Sequence[str] = (),
    ids: Ids,
    now: datetime,
    settings: Settings,
) -> Enqueued:
    """Give the agent a run, or widen the one that has not started yet.

    Args:
        member: The agent's membership, freshly read; the writes are conditional on its slots.
        trigger: Why.
        depth: The run's chain depth.
        then: Agents that respond afterwards, one after another.
        ids: Where a new run's id comes from.
        now: The present.
        settings: For the debounce and the outbox grace.

    Returns:
        The writes for the caller's transaction. No job while another run of this pair is at work:
        the transaction that ends that one names this one.
    """
    if member.queued_run is not None:
        slot = member.queued_run.widened(trigger, depth=depth, then=tuple(then))
        return Enqueued((_slot_write(member, slot),), slot.run_id, None)
    run = Run(
        tenant=member.tenant,
        id=run_id_in(member.chat_id, ids.ulid()),
        agent_id=member.member.id,
        chat_id=member.chat_id,
        trigger=trigger,
        chain_depth=depth,
        then=tuple(then),
        created_at=now,
    )
    slot = QueuedRun(run_id=run.id, trigger=trigger, depth=depth, then=tuple(then))
    due_at = now + timedelta(
        seconds=settings.reply_debounce_seconds + settings.outbox_grace_seconds
    )
    job = RunJob(tenant=run.tenant, run_id=run.id, agent_id=run.agent_id)
    return Enqueued(
        (Put(run.key, run.to_item(due_at), Missing()), _slot_write(member, slot)),
        run.id,
        job if member.running_run is None else None,
    )


def _slot_write(member: Membership, slot: QueuedRun) -> Update:
    return Update(
        member.key,
        set={"queued_run": slot.model_dump(mode="json", exclude_none=True)},
        condition=slots_unchanged(member),
    )
