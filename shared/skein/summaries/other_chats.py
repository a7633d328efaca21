"""Find the agent's other chats in which prompts show the agent's summary of a chat.

A prompt shows the summaries of the agent's newest open chats and of the newest chats of its reader
(`agent/reading/reader.py`). This module finds the same chats.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.interface.reading import OwnChat
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership, member_relation, related_chat
from skein.models.chats.summary import SummaryState
from skein.models.common.base import MemberRef
from skein.models.common.storage import MAX_BATCH_GET_KEYS, Query
from skein.models.visibility.audience import Audience, may_show
from skein.ports import Table
from skein.services.chat_state.sessions import first_to_summarize
from skein.services.chats.staleness import agent_renewal_at
from skein.services.visibility.audience import audience_of, destination_of
from skein.settings import Settings

NEWEST_CHATS = MAX_BATCH_GET_KEYS // 2  # of the agent, and of each person; two keys per chat
PEOPLE_READ = 10  # of a group; if it has more people, one is assumed to be a reader elsewhere
SHOWN_FOR = timedelta(hours=6)
MAX_WANTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherChats:
    """Finds the chats in which prompts show an agent's summaries of its other chats."""

    table: Table
    settings: Settings

    def can_show(self, chat: Chat, agent: MemberRef, now: datetime) -> bool:
        """Return whether another chat of the agent has readers who may see its summary of `chat`.

        Private chats of people who are not in `chat` are not found, because the index does not list
        private chats under the agent. When upkeep runs for such a private chat, it requests the
        summaries that the private chat's prompts show (`wanted_in`). If `chat` has more than ten
        people, the result is True without a search.
        """
        people = chat.person_ids
        if len(people) > PEOPLE_READ:
            return True
        return any(
            _shows(destination_of(other.chat), chat, now)
            for other in self._others(chat, agent, people)
        )

    def wanted_in(self, chat: Chat, agent: MemberRef, now: datetime) -> list[OwnChat]:
        """Return the other chats that prompts in `chat` would show and whose summaries are stale.

        Chats whose summary is renewed without a request from `chat` are left out.

        Returns:
            At most ten chats with a message in the last six hours, newest first.
        """
        found = {
            other.chat.id: other
            for other in self._others(chat, agent, chat.person_ids[:1])
            if _shows(destination_of(chat), other.chat, now)
            and other.last_active_at >= now - SHOWN_FOR
            and self._needs_asking(chat, other, now)
        }
        return sorted(found.values(), key=lambda other: other.last_active_at)[
            : -MAX_WANTED - 1 : -1
        ]

    def _needs_asking(self, chat: Chat, other: OwnChat, now: datetime) -> bool:
        """Return whether a summary is stale and is renewed only if `chat` requests it.

        Normally, a chat with a stale summary is due for upkeep, which requests the summary. But the
        upkeep of that chat does not find private chats of people who are not its members, although
        prompts in these private chats could show the summary. If `chat` is such a private chat, it
        must request the summary, unless a cooldown is running.
        """
        state = other.member.summary_state or SummaryState()
        untried = state.model_copy(update={"tried_seq": 0})
        stale = other.member.model_copy(update={"summary_state": untried})
        at = agent_renewal_at(other.chat, stale, self.settings)
        if at is None:
            return False
        if other.chat.upkeep_at is None or state.tried_seq >= other.chat.last_seq:
            return True
        found = chat.visibility == "open" or not set(chat.person_ids).isdisjoint(
            other.chat.person_ids
        )
        return not found and at <= now

    def _others(self, chat: Chat, agent: MemberRef, people: Sequence[str]) -> Iterator[OwnChat]:
        """Yield the agent's newest open chats, then its chats with each person; never `chat`."""
        for member in (agent, *(MemberRef(kind="user", id=person) for person in people)):
            relation = member_relation(chat.tenant, member)
            query = Query(relation, index="gsi1", limit=NEWEST_CHATS, newest_first=True)
            ids = [related_chat(row) for row in self.table.query(query).items]
            keys = [
                (Chat.key_of(chat.tenant, id_), Membership.key_of(chat.tenant, id_, agent))
                for id_ in ids
                if id_ != chat.id
            ]
            found = self.table.get_many([key for pair in keys for key in pair]) if keys else {}
            for chat_key, member_key in keys:
                if chat_key in found and member_key in found:
                    other = Chat.must_read(found, chat_key)
                    if other.discarded_at is None:
                        yield OwnChat(other, Membership.must_read(found, member_key))


def _shows(readers: Audience, chat: Chat, now: datetime) -> bool:
    """Return whether `readers` may see an agent summary that would be made from `chat` at `now`."""
    audience = audience_of(chat, since_seq=first_to_summarize(chat))
    return may_show(audience, readers) and not chat.awaits(readers, now)
