"""The slots of a (chat, agent) pair: one run at work, one that is to start, one that waits.

Everything that wants an agent to work in a chat goes through here. The writes belong into the
transaction that gives the reason, and hold only while the slots are as they were read.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from skein.models.audience import Audience
from skein.models.base import rfc3339
from skein.models.chat import Membership
from skein.models.due import NOT_DUE
from skein.models.jobs import RunJob
from skein.models.run import Run, run_id_in
from skein.models.storage import Absent, Condition, Is, Missing, Put, Update, Write, all_of
from skein.models.trigger import QueuedRun, Trigger
from skein.ports import Ids
from skein.settings import Settings


class Enqueued(NamedTuple):
    """What makes an agent respond: the writes, the run, and the job if it may start at once."""

    writes: tuple[Write, ...]
    run_id: str
    job: RunJob | None


def slots_unchanged(member: Membership) -> Condition:
    """The membership is open and its slots are as they were read."""
    slots = stored(member)
    return all_of(
        Absent("left_seq"),
        *(Is(name, slots.get(name)) for name in ("running_run", "queued_run", "wait")),
    )


def stored(member: Membership) -> dict[str, Any]:
    """The membership's attributes as the table holds them, for comparisons."""
    return member.attributes()


def run_due_at(now: datetime, settings: Settings) -> datetime:
    """When the tick sends a run whose job, after the debounce, was not sent or got lost."""
    return now + timedelta(seconds=settings.reply_debounce_seconds + settings.outbox_grace_seconds)


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
) -> Enqueued:
    """Give the agent a run, or widen the one that has not started yet.

    Args:
        member: The agent's membership, freshly read; the writes are conditional on its slots.
        trigger: Why.
        depth: The run's chain depth.
        audience: Who was there for what the run is to answer.
        then: Agents that respond afterwards, one after another.
        changes: Further attributes of the membership to set.
        ids: Where a new run's id comes from.
        now: The present.
        settings: For the debounce and the outbox grace.

    Returns:
        The writes for the caller's transaction. No job while another run of this pair is at work:
        the transaction that ends that one names this one.
    """
    if member.queued_run is not None:
        slot = member.queued_run.widened(trigger, depth=depth, then=tuple(then), audience=audience)
        return Enqueued((slot_write(member, slot, changes),), slot.run_id, None)
    run = Run(
        tenant=member.tenant,
        id=run_id_in(member.chat_id, ids.ulid()),
        agent_id=member.member.id,
        chat_id=member.chat_id,
        trigger=trigger,
        audience=audience,
        chain_depth=depth,
        then=tuple(then),
        created_at=now,
    )
    slot = QueuedRun(
        run_id=run.id, trigger=trigger, depth=depth, then=tuple(then), audience=audience
    )
    job = RunJob(tenant=run.tenant, run_id=run.id, agent_id=run.agent_id)
    put = Put(run.key, run.to_item(run_due_at(now, settings)), Missing())
    return Enqueued(
        (put, slot_write(member, slot, changes)),
        run.id,
        job if member.running_run is None else None,
    )


def requeue(
    home: Membership, slot: QueuedRun, *, changes: Mapping[str, Any] | None = None, now: datetime
) -> tuple[Write, ...]:
    """Let a run that has waited go on in its home chat, absorbing one that has not started there.

    Args:
        home: The agent's membership where the run belongs, freshly read.
        slot: The resumed run's.
        changes: Further attributes of the membership to set.
        now: The present.
    """
    waiting = home.queued_run
    if waiting is None:
        return (slot_write(home, slot, changes),)
    joined = slot.model_copy(update={"then": tuple(sorted({*slot.then, *waiting.then}))})
    return (
        slot_write(home, joined, changes),
        absorbed(home, waiting.run_id, into=slot.run_id, now=now),
    )


def absorbed(home: Membership, run_id: str, *, into: str, now: datetime) -> Update:
    """A run that never started is over, because another one answers what it was to answer."""
    change = {"status": "canceled", "error": f"joined {into}", "ended_at": rfc3339(now)}
    return Update(
        Run.key_of(home.tenant, run_id), set=change | NOT_DUE, condition=Is("status", "queued")
    )


def slot_write(
    member: Membership, slot: QueuedRun, changes: Mapping[str, Any] | None = None
) -> Update:
    """The membership with `slot` as its queued run."""
    queued = {"queued_run": slot.model_dump(mode="json", exclude_none=True)}
    return Update(member.key, set=queued | dict(changes or {}), condition=slots_unchanged(member))
