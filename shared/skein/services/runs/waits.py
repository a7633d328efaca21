"""A run that asked something and waits: the ways in which a wait ends.

The message, the wait and the state `waiting` are one transaction (`asking`). The wait sits on the
membership of the chat that is waited in; the reply and the time-out both condition on that very
wait, so one of them ends it, once (DESIGN section 5).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from skein.models.base import MemberRef
from skein.models.chat import Membership, Message
from skein.models.due import due_mark
from skein.models.jobs import RunJob
from skein.models.run import Run
from skein.models.storage import Is, Update, Write, all_of
from skein.models.trigger import Resume, Wait
from skein.ports import Table
from skein.services.runs.slots import resuming, run_due_at, slots_unchanged
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

    The run goes on as deep in the chain as a run that the message had started: 0 by a person.

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
    deeper = {"active_chat_id": member.chat_id, "chain_depth": message.depth}
    go_on = _going_on(member, resume, deeper, run_due_at(now, settings))
    return _resumed(table, member, go_on, changes)


def timed_out(table: Table, member: Membership, *, now: datetime, settings: Settings) -> Resumed:
    """What the end of its time does to a wait; conditional on that very wait.

    Args:
        table: See `resumed_by`.
        member: The agent's membership in the chat that is waited in, freshly read.
        now: The present.
        settings: See `resumed_by`.
    """
    here = {"active_chat_id": member.chat_id}
    go_on = _going_on(member, _unanswered(member), here, run_due_at(now, settings))
    return _resumed(table, member, go_on, {})


def let_go(table: Table, member: Membership, *, now: datetime, settings: Settings) -> Resumed:
    """What becomes of a wait in a chat in which nobody can answer any more.

    The run goes on in its own chat, told that its time ran out; if this is its own chat, its next
    claim cancels it. The caller takes the wait away from `member` in the same transaction.

    Args:
        table: See `resumed_by`.
        member: The membership that closes, or whose chat does.
        now: The present.
        settings: See `resumed_by`.
    """
    go_on = _going_on(
        member, _unanswered(member), {"active_chat_id": None}, run_due_at(now, settings)
    )
    home = _home(table, member)
    if home is None or not home.active or home.key == member.key:
        return Resumed((go_on,), _job(member))
    return Resumed(
        (go_on, resuming(home, _wait_of(member).run_id)),
        _job(member) if home.running_run is None else None,
    )


def _resumed(
    table: Table, member: Membership, go_on: Update, changes: Mapping[str, Any]
) -> Resumed:
    run_id = _wait_of(member).run_id
    over = {"wait": None} | dict(changes)
    home = _home(table, member)
    if home is not None and home.key == member.key:
        writes: tuple[Write, ...] = (go_on, resuming(member, run_id, changes=over))
    else:
        unwait = Update(member.key, set=over, condition=slots_unchanged(member))
        writes = (go_on, unwait)
        if home is not None and home.active:
            writes = (*writes, resuming(home, run_id))
    free = home is None or home.running_run is None
    return Resumed(writes, _job(member) if free else None)


def _going_on(
    member: Membership, resume: Resume, changes: Mapping[str, Any], due_at: datetime
) -> Update:
    """The run that waited, queued again; holds while it waits this very wait."""
    wait = _wait_of(member)
    key = Run.key_of(member.tenant, wait.run_id)
    change = {
        "status": "queued",
        "wait": None,
        "wait_chat_id": None,
        "resumed": resume.model_dump(mode="json", exclude_none=True),
        "due_tries": None,
    }
    this_wait = Is("wait", wait.model_dump(mode="json", exclude_none=True))
    return Update(
        key,
        set=change | dict(changes) | due_mark("run", key, due_at),
        condition=all_of(Is("status", "waiting"), this_wait),
    )


def _unanswered(member: Membership) -> Resume:
    return Resume(status="timeout", chat_id=member.chat_id, asked_seq=_wait_of(member).seq)


def _home(table: Table, member: Membership) -> Membership | None:
    """The agent's membership in the chat that the waiting run belongs to, if it belongs to one."""
    home_id = Run.home_of(_wait_of(member).run_id)
    if home_id == member.chat_id:
        return member
    if not home_id.startswith("chat_"):
        return None
    agent: MemberRef = member.member.ref
    item = table.get(Membership.key_of(member.tenant, home_id, agent))
    return Membership.from_item(item) if item else None


def _job(member: Membership) -> RunJob:
    run_id = _wait_of(member).run_id
    return RunJob(tenant=member.tenant, run_id=run_id, agent_id=member.member.id)


def _wait_of(member: Membership) -> Wait:
    if member.wait is None:
        raise ValueError("nothing is waited for here")
    return member.wait
