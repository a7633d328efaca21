"""Find messages that are missing in recall's index because the change feed lost a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.storage import Query
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import RecallJob
from skein.ports import Clock, Table
from skein.recall.models.stored import RecallPassage
from skein.services.outbox.dispatch import Dispatch
from skein.settings import Settings

NEWEST = 16  # messages of a chat that a sweep reads
GRACE = timedelta(minutes=5)  # time in which the feed may still be working on a message


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSweep:
    """Sweep that compares the newest passages of a chat with its messages. It writes nothing.

    Args:
        dispatch: Sends the jobs. If a job is lost, the next sweep sends it again.
    """

    table: Table
    clock: Clock
    dispatch: Dispatch
    settings: Settings

    def check(self, chat: Chat, members: Sequence[Membership]) -> None:
        """Send a job for each agent whose index lacks the newest message older than 5 minutes.

        Args:
            members: The chat's current memberships.
        """
        agents = [member for member in members if member.member.kind == "agent" and member.active]
        if not agents or chat.discarded_at is not None or not self.settings.recall:
            return
        message = self._newest(chat)
        if message is None:
            return
        keys = {
            RecallPassage.key_of(chat.tenant, chat.id, agent.member.id, message.seq): agent
            for agent in agents
            if agent.joined_seq < message.seq
        }
        found = self.table.get_many(list(keys)) if keys else {}
        behind = [agent for key, agent in keys.items() if key not in found]
        self.dispatch.send([self._job(chat, agent) for agent in self._existing(chat, behind)])

    def _existing(self, chat: Chat, agents: Sequence[Membership]) -> list[Membership]:
        """Return the memberships of agents that still exist; only they have an index."""
        keys = {Agent.key_of(chat.tenant, agent.member.id): agent for agent in agents}
        found = self.table.get_many(list(keys)) if keys else {}
        deleted = {agent.id for agent in Agent.read_each(found) if agent.deleted_at is not None}
        return [agent for agent in agents if agent.member.id not in deleted]

    def _newest(self, chat: Chat) -> Message | None:
        """Return the newest message that should be indexed by now, or None.

        Only the chat's newest 16 messages are considered.
        """
        first = Message.key_of(chat.tenant, chat.id, 0)
        page = self.table.query(
            Query.under(first.pk, Message.PREFIX, limit=NEWEST, newest_first=True)
        )
        until = self.clock.now() - GRACE
        for message in Message.each_of(page.items):
            findable = message.conversational and message.full_text and not message.resets
            if findable and message.created_at <= until:
                return message
        return None

    def _job(self, chat: Chat, agent: Membership) -> RecallJob:
        """Return the job that indexes all messages after the agent's newest passage."""
        partition = chat_partition(chat.tenant, chat.id)
        prefix = RecallPassage.prefix_of(agent.member.id)
        page = self.table.query(Query.under(partition, prefix, limit=1, newest_first=True))
        indexed = max(
            (passage.seq for passage in RecallPassage.each_of(page.items)), default=agent.joined_seq
        )
        return RecallJob(
            tenant=chat.tenant,
            chat_id=chat.id,
            agent_id=agent.member.id,
            first_seq=indexed + 1,
        )
