"""Hand a chat back to its agents: when its holder asks for it, or after the holder's long silence.

One transaction removes the holder from the chat's item. It also queues a run for each agent that
has work left from the time of the hold: messages of people to answer, or a tool call that people
approved. A message that is posted after the transaction starts a run as usual.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from skein.desk.live_runs import background_runs, runs_of
from skein.desk.notices import DeskNotices
from skein.errors import ConditionFailed, Conflict, ExtraWriteFailed
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.desk import Briefing, DeskState
from skein.models.chats.desk_stay import DeskEnd, DeskStay, is_current
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import Exists, Is, Query, Update, Write
from skein.models.config.desk import DeskSettings
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.outbox.jobs import DeskJob, Job
from skein.models.runs.trigger import Trigger
from skein.models.visibility.provenance import Authors
from skein.ports import Clock, Ids, Table
from skein.prompts import render
from skein.services.chat_state.desk_stays import read_stay, silence
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import optimistic, revise
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.services.runs.slots import enqueue
from skein.services.runs.wakeups import woken_by
from skein.services.visibility.audience import audience_of
from skein.settings import Settings

MAX_UNANSWERED = 200  # messages that a return checks for a missing answer
MAX_QUESTIONS = 100  # newest answers before the holder's words that a return looks at
MAX_RECORDED = 40  # newest messages that record their run; a transaction has 100 writes

logger = logging.getLogger(__name__)


class _Return(NamedTuple):
    """A chat that was handed back, its stay, and the jobs to send."""

    chat: Chat
    stay: DeskStay | None
    jobs: list[Job]


@dataclass(frozen=True, slots=True, kw_only=True)
class Returns:
    """The service that hands chats back to their agents."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    notices: DeskNotices
    settings: Settings

    def hand_back(self, tenant: str, chat_id: str, holder_id: str, briefing: str = "") -> Chat:
        """Hand a chat back to its agents, on behalf of its holder (idempotent).

        Args:
            holder_id: The operator who holds the chat.
            briefing: What the agents should know; it is shown in their next prompts.

        Raises:
            NotFound: The chat does not exist.
            Conflict: The operator does not hold the chat.
        """

        def attempt() -> _Return:
            snapshot = read_snapshot(self.table, tenant, chat_id)
            if _was_handed_back(snapshot.chat, holder_id, briefing):
                return _Return(snapshot.chat, None, [])
            holder = snapshot.chat.holder
            if holder is None or holder.id != holder_id:
                raise Conflict("you haven't taken over this chat")
            return self._return_once(snapshot, briefing, "handed_back")

        returned = optimistic(self.clock, attempt, finds_own_write=True)
        self.dispatch.send(returned.jobs)
        return returned.chat

    def look(self, job: DeskJob) -> None:
        """Hand a chat back if its holder was silent for too long, and post one notice (idempotent).

        If the holder has written in the meantime, the job runs again when the holder has been
        silent for long enough since then.
        """
        returned = optimistic(self.clock, lambda: self._look_once(job))
        if returned is None:
            return
        if returned.stay is not None:
            self._tell(returned.stay)
        self.dispatch.send(returned.jobs)

    def _look_once(self, job: DeskJob) -> _Return | None:
        stay = DeskStay.read(self.table, DeskStay.key_of(job.tenant, job.chat_id, job.stay_id))
        if stay is None:
            return None
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        if stay.ended_by == "silence" and not stay.notified:  # a worker died before the notice
            return _Return(snapshot.chat, stay, [])
        desk, now = snapshot.chat.desk, self.clock.now()
        if not is_current(stay, snapshot.chat) or desk is None or desk.spoke_at is None:
            return None
        overrides = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(job.tenant)))
        until = desk.spoke_at + silence(DeskSettings.model_validate(overrides))
        if now < until:
            due = due_pointer("desk", stay.key, until) | {"due_tries": None}
            self.table.write(Update(stay.key, set=due, condition=Is("version", stay.version)))
            return None
        return self._return_once(snapshot, "", "silence")

    def _return_once(self, snapshot: ChatSnapshot, briefing: str, end: DeskEnd) -> _Return:
        """Clear the holder, end the stay and queue the runs, in one transaction."""
        chat, now = snapshot.chat, self.clock.now()
        desk = chat.desk
        if desk is None or desk.holder is None:
            raise Conflict("nobody holds the chat")
        stay = read_stay(self.table, chat)
        words = Briefing(
            holder=desk.holder,
            text=briefing,
            from_seq=desk.from_seq,
            seq=chat.last_seq,
            at=now,
            audience=audience_of(chat, since_seq=desk.from_seq),
            authors=Authors.in_digests(chat.person_ids),
            silent=end == "silence",
        )
        returned, write = revise(chat, {"desk": None, "briefing": words})
        writes: list[Write] = [write]
        if stay is not None:
            stay, ended = _ended(stay, desk, words, end, now)
            writes.append(ended)
        waited = [run_id for agent in snapshot.agents for run_id in agent.resuming]
        held_back = [*background_runs(self.table, chat), *runs_of(self.table, chat.tenant, waited)]
        jobs: list[Job] = [run.job for run in held_back]
        runs: dict[int, tuple[Message, dict[str, str]]] = {}
        for agent, asked in self._unanswered(snapshot._replace(chat=returned), desk):
            enqueued = enqueue(
                agent,
                _trigger_of(asked),
                depth=0,
                audience=audience_of(chat, since_seq=asked[0].seq),
                ids=self.ids,
                now=now,
                settings=self.settings,
            )
            writes.extend(enqueued.writes)
            for each in asked:
                runs.setdefault(each.seq, (each, {}))[1][agent.member.id] = enqueued.run_id
            jobs.extend([enqueued.job] if enqueued.job else [])
        writes.extend(_answered_by(*runs[seq]) for seq in sorted(runs)[-MAX_RECORDED:])
        self.table.transact(writes)
        logger.info("chat handed back", extra={"chat_id": chat.id, "ended_by": end})
        return _Return(returned, stay, jobs)

    def _unanswered(
        self, snapshot: ChatSnapshot, desk: DeskState
    ) -> Iterator[tuple[Membership, list[Message]]]:
        """Yield each agent that has messages of people to answer, with these messages.

        A message of the holder counts as the answer to all messages before it, except approvals of
        tool calls: only the agent can make an approved call, or say why it doesn't.
        """
        chat = snapshot.chat
        firsts = {
            agent.member.id: desk.unanswered.get(agent.member.id, desk.from_seq + 1)
            for agent in snapshot.agents
        }
        if not firsts or min(firsts.values()) > chat.last_seq:
            return
        written = self._messages(chat, min(firsts.values()))
        agreed = self._agreed([each for each in written if each.seq < desk.spoke_seq])
        asked = [each for each in written if each.seq > desk.spoke_seq or each.seq in agreed]
        limit = self.settings.max_chain_depth
        for agent in snapshot.agents:
            theirs = [
                each
                for each in asked
                if each.seq >= firsts[agent.member.id]
                and _may_be_answered(each, desk)
                and agent in woken_by(each, chat, snapshot.agents, max_chain_depth=limit)
            ]
            if theirs:
                yield agent, theirs

    def _messages(self, chat: Chat, first: int) -> Sequence[Message]:
        """Return people's messages from `first` on that may need an answer, oldest first."""
        page = self.table.query(
            Query(
                chat_partition(chat.tenant, chat.id),
                first=Message.key_of(chat.tenant, chat.id, first).sk,
                last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
                limit=MAX_UNANSWERED,
                newest_first=True,
            )
        )
        messages = (chat.as_now(message) for message in Message.each_of(reversed(page.items)))
        return [each for each in messages if each.sender.kind == "user" and not each.resets]

    def _agreed(self, messages: Sequence[Message]) -> set[int]:
        """Return the `seq` of each message that approves a tool call."""
        keys = [
            Message.key_of(each.tenant, each.chat_id, each.reply_to)
            for each in messages
            if each.answers is not None and each.reply_to is not None
        ]
        found = self.table.get_many(list(dict.fromkeys(keys))[-MAX_QUESTIONS:]) if keys else {}
        asked = (each.choice for each in Message.read_each(found))
        return {
            choice.answer.seq
            for choice in asked
            if choice is not None and choice.answer is not None and choice.agrees_to_call
        }

    def _tell(self, stay: DeskStay) -> None:
        """Post one notice that the chat was handed back automatically."""
        _, recorded = revise(stay, {"notified": True}, also=NOT_DUE)
        snapshot = read_snapshot(self.table, stay.tenant, stay.chat_id)
        name = stay.holder.name if stay.holder is not None else ""
        text = render("notice_desk_returned", {"name": name})
        with suppress(ConditionFailed, ExtraWriteFailed):  # another worker has posted the notice
            self.notices.post(stay, snapshot, text, client_id=f"desk:{stay.id}", recorded=recorded)


def _may_be_answered(message: Message, desk: DeskState) -> bool:
    """Return whether the desk, and not a limit, kept a message from starting a run."""
    reasons = {message.reason, *message.reasons.values()}
    return message.seq <= desk.from_seq or Reason.DESK in reasons


def _trigger_of(asked: Sequence[Message]) -> Trigger:
    """Return the trigger of a run that answers people's messages."""
    newest = asked[-1]
    by = newest.sender.ref
    return Trigger(type="chat_message", seq=newest.seq, from_seq=asked[0].seq, by=by)


def _answered_by(message: Message, runs: dict[str, str]) -> Update:
    """Return the write that records in a message which runs answer it after the hand-back."""
    return Update(message.key, set={"runs": {**message.runs, **runs}}, condition=Exists())


def _was_handed_back(chat: Chat, holder_id: str, briefing: str) -> bool:
    """Return whether this operator has already handed the chat back with this briefing."""
    last = chat.briefing
    return (
        chat.desk is None
        and last is not None
        and (last.holder.id, last.text, last.silent) == (holder_id, briefing, False)
    )


def _ended(
    stay: DeskStay, desk: DeskState, words: Briefing, end: DeskEnd, now: datetime
) -> tuple[DeskStay, Update]:
    """Return the stay as ended, and the write that ends it.

    If the stay ended because of silence, its job is repeated until the notice about this is posted.
    """
    changes: dict[str, Any] = {
        "ended_at": now,
        "ended_by": end,
        "briefing": words.text or None,
        "authors": stay.authors.joined(words.authors),
        "answered_at": desk.answered_at,
    }
    due = NOT_DUE if end == "handed_back" else due_pointer("desk", stay.key, now + OUTBOX_GRACE)
    return revise(stay, changes, also={"gsi1pk": None, "gsi1sk": None} | due)
