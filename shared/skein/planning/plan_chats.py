"""Choose the chat of an operator's plan, and the scope, audience and zone that follow from it."""

from dataclasses import dataclass

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership, member_relation, related_chat
from skein.models.common.base import MemberRef
from skein.models.common.storage import Query
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.visibility.audience import NOBODY
from skein.models.visibility.ownership import Owner, private_scope
from skein.ports import Table
from skein.services.common.pagination import pages
from skein.services.directory.time_zones import zone_of_person
from skein.services.visibility.audience import audience_of, scope_of

ROWS = 50  # index rows per query; their chats fit in one batch


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChats:
    """The service that chooses the chat of an operator's plan."""

    table: Table

    def owner(
        self, agent: Agent, *, chat_id: str | None = None, user_id: str | None = None
    ) -> Owner:
        """Return the owner of a plan that an operator sets.

        A plan for a chat has the scope of that chat, and the people who are in the chat now as its
        audience. A plan without a chat, or for a chat without people, is open.

        Args:
            chat_id: The plan's chat.
            user_id: A person, instead of a chat. Of the person's direct chats with the agent, the
                plan gets the one with the newest message.

        Raises:
            NotFound: The agent is not a member of the chat, or the person does not exist.
            Conflict: The chat is discarded.
            Unprocessable: Both ids are given, or the person has no direct chat with the agent.
        """
        if chat_id is not None and user_id is not None:
            raise Unprocessable("give chat_id or user_id, not both")
        if chat_id is not None:
            chat = self._chat_of(agent, chat_id)
        elif user_id is not None:
            chat = self._direct_chat(agent, user_id)
        else:
            return Owner(tenant=agent.tenant, agent_id=agent.id, by_operator=True)
        owner = Owner(
            tenant=agent.tenant, agent_id=agent.id, source_chat_id=chat.id, by_operator=True
        )
        audience = audience_of(chat, since_seq=chat.last_seq + 1)
        if audience == NOBODY:
            return owner
        return owner.model_copy(update={"scope": scope_of(chat), "audience": audience})

    def time_zone(self, owner: Owner, agent: Agent) -> str:
        """Return the time zone of a plan that does not name one.

        In a person's private direct chat, this is the person's time zone; otherwise, the agent's.
        """
        person = owner.audience.only_person
        if person is None or owner.scope != private_scope(user_id=person):
            return agent.time_zone
        user = User.read(self.table, User.key_of(agent.tenant, person))
        own = zone_of_person(user) if user is not None else None
        return own or agent.time_zone

    def _chat_of(self, agent: Agent, chat_id: str) -> Chat:
        chat_key = Chat.key_of(agent.tenant, chat_id)
        member_key = Membership.key_of(agent.tenant, chat_id, agent.as_member.ref)
        found = self.table.get_many([chat_key, member_key])
        if chat_key not in found or member_key not in found:
            raise NotFound("chat not found for this agent")
        if not Membership.must_read(found, member_key).active:
            raise NotFound("chat not found for this agent")
        chat = Chat.must_read(found, chat_key)
        if chat.discarded_at is not None:
            raise Conflict("this chat is discarded")
        return chat

    def _direct_chat(self, agent: Agent, user_id: str) -> Chat:
        """Of a person's direct chats with an agent, return the one with the newest message.

        The index orders chats by activity hour, so the search ends at the first page that has a
        direct chat of the person and the agent.
        """
        user = User.read(self.table, User.key_of(agent.tenant, user_id))
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        relation = member_relation(agent.tenant, MemberRef(kind="user", id=user_id))
        for rows in pages(
            lambda start: self.table.query(
                Query(relation, index="gsi1", limit=ROWS, newest_first=True, start=start)
            )
        ):
            keys = [Chat.key_of(agent.tenant, related_chat(row)) for row in rows]
            found = self.table.get_many(keys) if keys else {}
            chats = Chat.read_each(found)
            direct = [chat for chat in chats if _is_theirs(chat, agent, user_id)]
            if direct:
                return max(direct, key=lambda one: (one.last_message_at or one.created_at, one.id))
        raise Unprocessable("the person has no direct chat with this agent")


def _is_theirs(chat: Chat, agent: Agent, user_id: str) -> bool:
    """Return whether a chat is a direct chat of a person and an agent, and not discarded."""
    members = {(member.kind, member.id) for member in chat.roster}
    both = {("user", user_id), ("agent", agent.id)}
    return chat.kind == "direct" and chat.discarded_at is None and both <= members
