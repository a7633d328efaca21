"""A run that asked something and waits: how the wait begins, and the two ways in which it ends.

The message, the wait and the state `waiting` are one transaction. The wait sits on the membership
of the chat that is waited in; the reply and the time-out both condition on that very wait, so one
of them ends it, once (DESIGN section 5).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from skein.models.audience import OPEN
from skein.models.base import MemberRef
from skein.models.chat import Membership, Message
from skein.models.jobs import RunJob
from skein.models.run import Run
from skein.models.storage import Is, Update, Write, all_of
from skein.models.trigger import QueuedRun, Resume, Trigger, Wait
from skein.ports import Table
from skein.services.slots import requeue, run_due_at, slots_unchanged
from skein.settings import Settings


class Resumed(NamedTuple):
    """What lets a waiting run go on: the writes, and the job if it may start at once."""

    writes: tuple[Write, ...]
    job: RunJob | None


def resumed_by(
    table: Table,
    member: Membership,
    message: Message,
    *,
    changes: Mapping[str, Any],
    now: datetime,
    settings: Settings,
) -> Resumed:
    """What a message does to the wait of an agent in the chat it is posted to.

    Args:
        table: To read the run's home, where it waits in another chat than its own.
        member: The waiting agent's membership, freshly read.
        message: The reply.
        changes: Further attributes of the membership to set.
        now: The present.
        settings: For the debounce and the outbox grace.
    """
    wait = _wait_of(member)
    resume = Resume(status="reply", chat_id=member.chat_id, asked_seq=wait.seq, seq=message.seq)
    trigger = Trigger(
        type="chat_message", seq=message.seq, from_seq=message.seq, by=message.sender.ref
    )
    depth = message.depth if message.sender.kind == "agent" else None
    return _resumed(
        table, member, resume, trigger, depth=depth, changes=changes, now=now, settings=settings
    )


def timed_out(
    table: Table, member: Membership, run: Run, *, now: datetime, settings: Settings
) -> Resumed:
    """What the end of its time does to a wait; conditional on that very wait.

    Args:
        table: See `resumed_by`.
        member: The agent's membership in the chat that is waited in, freshly read.
        run: The waiting run.
        now: The present.
        settings: See `resumed_by`.
    """
    wait = _wait_of(member)
    resume = Resume(status="timeout", chat_id=member.chat_id, asked_seq=wait.seq)
    return _resumed(
        table, member, resume, run.trigger, depth=None, changes={}, now=now, settings=settings
    )


def _resumed(
    table: Table,
    member: Membership,
    resume: Resume,
    trigger: Trigger,
    *,
    depth: int | None,
    changes: Mapping[str, Any],
    now: datetime,
    settings: Settings,
) -> Resumed:
    wait = _wait_of(member)
    run_key = Run.key_of(member.tenant, wait.run_id)
    change: dict[str, Any] = {
        "status": "queued",
        "wait": None,
        "wait_chat_id": None,
        "active_chat_id": member.chat_id,
        "resumed": resume.model_dump(mode="json", exclude_none=True),
        "due_tries": None,
    }
    if depth is not None:
        change["chain_depth"] = depth
    due = Run(
        tenant=member.tenant,
        id=wait.run_id,
        agent_id=member.member.id,
        trigger=trigger,
        created_at=now,
    ).due(run_due_at(now, settings))
    waiting = all_of(
        Is("status", "waiting"), Is("wait", wait.model_dump(mode="json", exclude_none=True))
    )
    go_on = Update(run_key, set=change | due, condition=waiting)
    job = RunJob(tenant=member.tenant, run_id=wait.run_id, agent_id=member.member.id)
    slot = QueuedRun(
        run_id=wait.run_id, trigger=trigger, depth=depth or 0, audience=OPEN, resumes=True
    )
    over = {"wait": None} | dict(changes)
    home_id = Run.home_of(wait.run_id)
    if home_id == member.chat_id:
        writes = requeue(member, slot, changes=over, now=now)
        return Resumed((go_on, *writes), job if member.running_run is None else None)
    unwait = Update(member.key, set=over, condition=slots_unchanged(member))
    home = _membership(table, member.tenant, home_id, member.member.ref)
    if home is None or not home.active:
        return Resumed((go_on, unwait), job)
    writes = requeue(home, slot, now=now)
    return Resumed((go_on, unwait, *writes), job if home.running_run is None else None)


def _membership(table: Table, tenant: str, chat_id: str, ref: MemberRef) -> Membership | None:
    if not chat_id.startswith("chat_"):
        return None
    item = table.get(Membership.key_of(tenant, chat_id, ref))
    return Membership.from_item(item) if item else None


def _wait_of(member: Membership) -> Wait:
    if member.wait is None:
        raise ValueError("nothing is waited for here")
    return member.wait
