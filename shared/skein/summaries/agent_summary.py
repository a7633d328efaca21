"""Agent summaries: a background task that keeps each agent's summary of a chat up to date.

A summary is made only if a prompt in another chat can show it, and if no run of the agent is queued
or running in the chat.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.errors import ConditionFailed
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.chats.summary import SummaryState
from skein.models.common.base import MemberRef, Value
from skein.models.common.storage import Absent, Is, Item, Update, Write, all_of
from skein.models.outbox.jobs import SummaryJob
from skein.services.background.engine import Overtaken
from skein.services.chat_state.sessions import first_to_summarize
from skein.services.chat_state.snapshot import read_agent, read_snapshot
from skein.services.chats.staleness import MIN_MESSAGES, agent_renewal_at
from skein.services.common.optimistic import revise
from skein.services.outbox.dispatch import OUTBOX_GRACE
from skein.summaries import model as texts
from skein.summaries.other_chats import OtherChats
from skein.summaries.summary_task import (
    SummaryClaim,
    SummaryRequest,
    SummaryTask,
    authors_of,
    messages_for_elsewhere,
    words_of,
)

NEWEST_MESSAGES = 10
ROWS_READ = 50  # more than needed, because some messages are keywords and notices


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummaries(SummaryTask):
    """Task that renews agent summaries, which are stored in the agents' memberships."""

    other_chats: OtherChats

    def claim(self, job: SummaryJob, until: datetime) -> SummaryClaim | None:
        """Begin the cooldown of an agent's summary, if the summary is stale and can be shown.

        If no other chat can show the summary, no summary is made, and the messages count as
        summarized. If a chat that is created later can show it, that chat requests the summary with
        its own job (`SummaryJob.wanted_in`). This job also makes the summarized chat due for
        upkeep, which requests the summary again if this attempt fails.
        """
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        chat, agent = snapshot.chat, MemberRef(kind="agent", id=job.agent_id or "")
        member = snapshot.member(agent)
        if member is None:
            return None
        before, now = member.summary_state, self.clock.now()
        state, due = before or SummaryState(), list[Write]()
        if job.wanted_in is not None and state.tried_seq >= chat.last_seq:
            state = state.model_copy(update={"tried_seq": 0})
            due.append(revise(chat, {}, also=chat.upkeep(now + OUTBOX_GRACE))[1])
        stale = member.model_copy(update={"summary_state": state})
        at = agent_renewal_at(chat, stale, self.settings)
        if at is None:
            return None
        if member.busy or at > now:
            if due:
                self.table.transact([changed(member, before, {"summary_state": state}), *due])
            return None
        if job.wanted_in is None and not self.other_chats.can_show(chat, agent, now):
            state = state.model_copy(update={"tried_seq": chat.last_seq})
            self.table.write(changed(member, before, {"summary_state": state}))
            return None
        state = state.model_copy(update={"claimed_at": now})
        write = changed(member, before, {"summary_state": state})
        if due:
            self.table.transact([write, *due])
        else:
            self.table.write(write)
        return SummaryClaim(chat, before, state, member)

    def prepared(self, claim: SummaryClaim) -> SummaryRequest:
        """Read the newest messages, and render the question.

        There is no question if there are no new messages, or if the agent is deleted.
        """
        chat, member = claim.chat, claim.member
        if member is None:
            return SummaryRequest(chat.last_seq)
        agent = read_agent(self.table, chat.tenant, member.member.id)
        since, earlier = first_to_summarize(chat), member.summary
        earlier = earlier if earlier is not None and earlier.from_seq >= since else None
        rows = self.rows(chat, since, limit=ROWS_READ, newest_first=True)
        messages = messages_for_elsewhere(chat, reversed(rows))[-NEWEST_MESSAGES:]
        covered = earlier.seq if earlier else 0
        if agent is None or len(messages) < MIN_MESSAGES or messages[-1].seq <= covered:
            return SummaryRequest(chat.last_seq)
        prompt = texts.ask_agent(
            agent,
            chat,
            earlier.text if earlier else None,
            messages,
            missing=self._missing(chat, rows, max(covered, since - 1), messages[0].seq),
        )
        from_seq = earlier.from_seq if earlier else messages[0].seq
        return SummaryRequest(
            chat.last_seq,
            from_seq,
            authors_of(earlier, messages),
            words_of(messages),
            prompt,
            texts.AGENT_SCHEMA,
            texts.note_lines,
        )

    def _missing(self, chat: Chat, rows: Sequence[Item], covered: int, first_seq: int) -> int:
        """Count the messages between the summary and the messages in the question.

        Between the summary and the first message that was read, every `seq` counts as a message,
        even the `seq` of a notice.
        """
        read_from = rows[-1]["seq"]
        between = (each.seq for each in messages_for_elsewhere(chat, rows))
        unread = max(int(read_from) - 1 - covered, 0)
        return unread + sum(covered < seq < first_seq for seq in between)

    def settle(
        self, claim: SummaryClaim, state: SummaryState | None, made: Mapping[str, object]
    ) -> None:
        """Store the state in the membership, unless the agent has left; see `SummaryTask`."""
        if claim.member is None:
            return
        try:
            self.table.write(changed(claim.member, claim.state, {"summary_state": state, **made}))
        except ConditionFailed as failure:
            raise Overtaken(str(claim.member.key)) from failure


def changed(member: Membership, was: SummaryState | None, change: Mapping[str, object]) -> Update:
    """Return the write that applies `change` if the agent is a member and the state is `was`."""
    as_read = Is("summary_state", _stored(was))
    condition = all_of(as_read, Absent("left_seq"), Is("chat_id", member.chat_id))
    stored = {name: _stored(value) for name, value in change.items()}
    return Update(member.key, set=stored, condition=condition)


def _stored(value: object) -> object:
    return value.model_dump(mode="json", exclude_none=True) if isinstance(value, Value) else value
