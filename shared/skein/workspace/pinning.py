"""Pinned threads: operators read an agent's membership and set the thread its runs start with."""

from dataclasses import dataclass

from skein.errors import Conflict, NotFound
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import Absent, Exists, Update, all_of
from skein.models.directory.agent import Agent
from skein.models.visibility.ownership import Reach, scopes_at
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic
from skein.services.items.store import Snapshot
from skein.services.visibility.audience import scope_of
from skein.workspace.models.thread import Thread
from skein.workspace.thread_changes import check_open


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The service that pins threads to agents' memberships of chats.

    Runs of the agent that are triggered in the chat start with the pinned thread as the active one.
    """

    table: Table
    clock: Clock

    def membership(self, tenant: str, chat_id: str, agent_id: str) -> Membership:
        """Get an agent's membership of a chat. The chat may be discarded.

        Raises:
            NotFound: The agent does not exist, or is not a member of a chat with this id.
        """
        return self._read(tenant, chat_id, agent_id)[1]

    def pin(self, tenant: str, chat_id: str, agent_id: str, thread_id: str | None) -> Membership:
        """Pin a thread to an agent's membership (idempotent).

        Args:
            chat_id: A chat of the agent.
            agent_id: The owner of the thread.
            thread_id: An open thread that may be shown in the chat; None unpins.

        Returns:
            The changed membership.

        Raises:
            NotFound: The agent is not a member of a chat with this id, or has no thread with this
                id that may be shown in the chat.
            Conflict: The thread has ended, or the chat is discarded.
        """
        return optimistic(self.clock, lambda: self._pin_once(tenant, chat_id, agent_id, thread_id))

    def _pin_once(
        self, tenant: str, chat_id: str, agent_id: str, thread_id: str | None
    ) -> Membership:
        chat, membership = self._read(tenant, chat_id, agent_id)
        if chat.discarded_at is not None:
            raise Conflict("this chat is discarded")
        if thread_id is not None:
            scopes = scopes_at(scope_of(chat))
            reach = Reach(
                tenant=tenant,
                agent_id=agent_id,
                scopes=scopes,
                readers=chat.readers,
                chat_id=chat_id,
            )
            check_open(Snapshot.read(self.table, Thread, reach, [thread_id]).get(thread_id))
        there = all_of(Exists(), Absent("left_seq"))
        self.table.write(Update(membership.key, {"pinned_thread_id": thread_id}, condition=there))
        return membership.model_copy(update={"pinned_thread_id": thread_id})

    def _read(self, tenant: str, chat_id: str, agent_id: str) -> tuple[Chat, Membership]:
        agent = MemberRef(kind="agent", id=agent_id)
        keys = Chat.key_of(tenant, chat_id), Membership.key_of(tenant, chat_id, agent)
        agent_key = Agent.key_of(tenant, agent_id)
        found = self.table.get_many([*keys, agent_key])
        if any(key not in found for key in (*keys, agent_key)):
            raise NotFound("chat not found for this agent")
        if Agent.must_read(found, agent_key).deleted_at is not None:
            raise NotFound("agent not found")
        chat, membership = Chat.must_read(found, keys[0]), Membership.must_read(found, keys[1])
        if not membership.active:
            raise NotFound("chat not found for this agent")
        return chat, membership
