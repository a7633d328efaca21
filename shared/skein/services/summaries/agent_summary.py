"""Renewal of agent summaries: at most one model call per summary and cooldown.

A conditional write claims the cooldown before the model is asked. The chat stays due for upkeep as
long as a summary is stale, so a crash delays the renewal by at most one cooldown.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skein.errors import ConditionFailed, NotFound
from skein.models.chats.chat import Chat, Membership, Message
from skein.models.common.base import MemberRef
from skein.models.common.provenance import NO_AUTHORS, Authors
from skein.models.common.storage import Absent, Is, Item, Query, Update, all_of
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import SummaryJob
from skein.models.summaries.summary import Summary, SummaryState
from skein.ports import Clock, Table
from skein.services.chat_state.audience import audience_of
from skein.services.chat_state.sessions import first_to_summarize
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.summaries import model as texts
from skein.services.summaries.model import Summarizer
from skein.services.summaries.staleness import MIN_MESSAGES, agent_renewal_at
from skein.settings import Settings

NEWEST_MESSAGES = 10
ROWS_READ = 50  # more than the messages wanted, because some are keywords and notices

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummaries:
    """Renewal of the agent summaries of chats."""

    table: Table
    clock: Clock
    summarizer: Summarizer
    settings: Settings

    def renew(self, job: SummaryJob, ref: MemberRef) -> None:
        """Renew an agent summary, if it is stale and its cooldown is over.

        If the model fails or its answer is invalid, the old summary stays, and the next attempt
        follows after the cooldown. If the tenant's budget of the day is spent, nothing changes and
        the chat stays due.

        Args:
            job: The chat.
            ref: The agent.
        """
        try:
            snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        except NotFound:
            return
        chat, member = snapshot.chat, snapshot.member(ref)
        if member is None:
            return
        at = agent_renewal_at(chat, member, self.settings)
        if not self.summarizer.may_renew(job.tenant, at, self.clock.now()):
            return
        since = first_to_summarize(chat)
        earlier = member.summary if member.summary and member.summary.from_seq >= since else None
        agent, messages = self._agent(job.tenant, ref), self._newest(chat, since)
        covered = earlier.seq if earlier else 0
        if agent is None or len(messages) < MIN_MESSAGES or messages[-1].seq <= covered:
            self._change_state(member, {"tried_seq": chat.last_seq})
            return
        claimed = self._change_state(member, {"claimed_at": self.clock.now()})
        if claimed is None:
            return
        question = texts.ask_agent(agent, chat, earlier.text if earlier else None, messages)
        text = self.summarizer.ask(job, question, texts.AGENT_SCHEMA, texts.two_lines)
        from_seq = earlier.from_seq if earlier else messages[0].seq
        self._keep(chat, member, claimed, text, from_seq, authors_of(earlier, messages))

    def _agent(self, tenant: str, ref: MemberRef) -> Agent | None:
        item = self.table.get(Agent.key_of(tenant, ref.id))
        agent = Agent.from_item(item) if item else None
        return agent if agent and agent.deleted_at is None else None

    def _newest(self, chat: Chat, since: int) -> list[Message]:
        """Read the newest messages from `since` up to the chat's `last_seq` as read.

        Newer messages are left out, because the members were read with that state of the chat.
        """
        page = self.table.query(
            Query(
                chat.key.pk,
                first=Message.key_of(chat.tenant, chat.id, since).sk,
                last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
                limit=ROWS_READ,
                newest_first=True,
            )
        )
        return text_messages(chat, reversed(page.items))[-NEWEST_MESSAGES:]

    def _change_state(
        self, member: Membership, change: Mapping[str, object]
    ) -> SummaryState | None:
        """Write a change of the summary state (optimistic lock).

        Returns:
            The new state; None if another writer changed the state or the agent left the chat.
        """
        changed = (member.summary_state or SummaryState()).model_copy(update=change)
        was = Is("summary_state", stored_state(member.summary_state))
        write = Update(
            member.key,
            set={"summary_state": stored_state(changed)},
            condition=all_of(was, Absent("left_seq"), Is("chat_id", member.chat_id)),
        )
        try:
            self.table.write(write)
        except ConditionFailed:
            return None
        return changed

    def _keep(
        self,
        chat: Chat,
        member: Membership,
        claimed: SummaryState,
        text: str | None,
        from_seq: int,
        authors: Authors,
    ) -> None:
        """Store the new summary, or count the failure if there is no text.

        Nothing is stored if another worker claimed the summary or the agent left meanwhile.
        """
        settled = claimed.model_copy(update={"failures": 0 if text else claimed.failures + 1})
        change: dict[str, object] = {"summary_state": stored_state(settled)}
        if text is not None:
            summary = Summary(
                text=text,
                from_seq=from_seq,
                seq=chat.last_seq,
                audience=audience_of(chat, since_seq=from_seq),
                authors=authors,
                at=self.clock.now(),
                title=chat.title,
            )
            change["summary"] = summary.model_dump(mode="json")
        unchanged = all_of(Is("summary_state", stored_state(claimed)), Absent("left_seq"))
        try:
            self.table.write(Update(member.key, set=change, condition=unchanged))
        except ConditionFailed:
            logger.info(
                "agent summary discarded: a newer one is stored", extra={"chat_id": chat.id}
            )


def text_messages(chat: Chat, items: Iterable[Item]) -> list[Message]:
    """Select the messages with text of people and agents among a chat's items."""
    messages = (chat.as_now(Message.from_item(item)) for item in items)
    return [message for message in messages if message.kind == "text" and message.text]


def authors_of(earlier: Summary | None, messages: Sequence[Message]) -> Authors:
    """Return the people whose words a new summary holds, by digest."""
    known = earlier.authors if earlier is not None else NO_AUTHORS
    return known.joined(Authors.in_digests(message.sender.person_id for message in messages))


def stored_state(state: SummaryState | None) -> dict[str, object] | None:
    """Serialize a summary state for the table; None if there was no attempt yet."""
    return state.model_dump(mode="json", exclude_none=True) if state is not None else None
