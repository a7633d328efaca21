"""Waits: a run that has asked a question waits for a reply or a time-out.

One transaction posts the question, writes the wait and sets the status `waiting`
(`replies/ask_and_wait`). The wait is stored on the agent's membership in the chat where the run
asked. The reply and the time-out are both conditional on that wait, so exactly one of them ends the
wait (docs/runs.md, "A wait").
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from skein.models.chats.chat import Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.storage import Is, Update, Write, all_of
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run
from skein.models.runs.trigger import Resume, Wait
from skein.ports import Table
from skein.services.runs.slots import resuming, run_due_at, slots_unchanged
from skein.settings import Settings


class ResumedRun(NamedTuple):
    """The writes that resume a waiting run, and the run's job if it can start at once."""

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
) -> ResumedRun:
    """Resume an agent's waiting run with a message posted to the chat where it waits.

    The run takes the chain depth of the message: 0 if a person posted it.

    Args:
        table: The table from which the membership in the run's own chat is read, if the run waits
            in another chat.
        member: The waiting agent's membership, freshly read.
        message: The reply.
        changes: Further attributes of the membership to set.
        settings: For the debounce and the outbox grace.
    """
    wait = _wait_of(member)
    resume = Resume(status="reply", chat_id=member.chat_id, asked_seq=wait.seq, seq=message.seq)
    deeper = {"active_chat_id": member.chat_id, "chain_depth": message.depth}
    requeue = _queued_again(member, resume, deeper, now, settings)
    return _resumed(table, member, requeue, changes)


def timed_out(table: Table, member: Membership, *, now: datetime, settings: Settings) -> ResumedRun:
    """Resume an agent's waiting run after a time-out. The writes fail if the wait has changed.

    Args:
        table: See `resumed_by`.
        member: The agent's membership in the chat where the run waits, freshly read.
        settings: See `resumed_by`.
    """
    here = {"active_chat_id": member.chat_id}
    requeue = _queued_again(member, _unanswered(member), here, now, settings)
    return _resumed(table, member, requeue, {})


def release_wait(
    table: Table, member: Membership, *, now: datetime, settings: Settings
) -> ResumedRun:
    """Resume a run that can get no reply any more, because the agent leaves or the chat closes.

    The run resumes in its own chat, as after a time-out. If the run waits in its own chat, its next
    claim cancels it. The caller clears the wait on `member` in the same transaction.

    Args:
        table: See `resumed_by`.
        member: The agent's membership in the chat where the run waits.
        settings: See `resumed_by`.
    """
    nowhere = {"active_chat_id": None}
    requeue = _queued_again(member, _unanswered(member), nowhere, now, settings)
    home = _home(table, member)
    if home is None or not home.active or home.key == member.key:
        return ResumedRun((requeue,), _job(member))
    return ResumedRun(
        (requeue, resuming(home, _wait_of(member).run_id)),
        _job(member) if home.running_run is None else None,
    )


def _resumed(
    table: Table, member: Membership, requeue: Update, changes: Mapping[str, Any]
) -> ResumedRun:
    run_id = _wait_of(member).run_id
    over = {"wait": None} | dict(changes)
    home = _home(table, member)
    if home is not None and home.key == member.key:
        writes: tuple[Write, ...] = (requeue, resuming(member, run_id, changes=over))
    else:
        unwait = Update(member.key, set=over, condition=slots_unchanged(member))
        writes = (requeue, unwait)
        if home is not None and home.active:
            writes = (*writes, resuming(home, run_id))
    free = home is None or home.running_run is None
    return ResumedRun(writes, _job(member) if free else None)


def _queued_again(
    member: Membership,
    resume: Resume,
    changes: Mapping[str, Any],
    now: datetime,
    settings: Settings,
) -> Update:
    """Return the write that queues the waiting run again; it fails if the wait has changed."""
    wait = _wait_of(member)
    key = Run.key_of(member.tenant, wait.run_id)
    change = {
        "status": "queued",
        "wait": None,
        "wait_chat_id": None,
        "resumed": resume.model_dump(mode="json", exclude_none=True),
        "due_tries": None,
        "unpaused_at": rfc3339(now),
    }
    this_wait = Is("wait", wait.model_dump(mode="json", exclude_none=True))
    return Update(
        key,
        set=change | dict(changes) | due_pointer("run", key, run_due_at(now, settings)),
        condition=all_of(Is("status", "waiting"), this_wait),
    )


def _unanswered(member: Membership) -> Resume:
    return Resume(status="timeout", chat_id=member.chat_id, asked_seq=_wait_of(member).seq)


def _home(table: Table, member: Membership) -> Membership | None:
    home_id = Run.home_of(_wait_of(member).run_id)
    if home_id == member.chat_id:
        return member
    if not home_id.startswith("chat_"):
        return None
    agent: MemberRef = member.member.ref
    return Membership.read(table, Membership.key_of(member.tenant, home_id, agent))


def _job(member: Membership) -> RunJob:
    run_id = _wait_of(member).run_id
    return RunJob(tenant=member.tenant, run_id=run_id, agent_id=member.member.id)


def _wait_of(member: Membership) -> Wait:
    if member.wait is None:
        raise ValueError("the run does not wait for a reply")
    return member.wait
