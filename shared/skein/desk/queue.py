"""The queue of the desk: chats that wait for a person of the team or are held by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skein.errors import Conflict, NotFound
from skein.models.chats.chat import Chat
from skein.models.chats.desk_stay import DeskEnd, DeskStay, desk_relation, is_current
from skein.models.common.base import rfc3339
from skein.models.common.storage import Key
from skein.ports import Table
from skein.services.chat_state.desk_stays import read_stay
from skein.services.chat_state.snapshot import read_chat
from skein.services.common.pagination import read_items, rows_after

MAX_LISTED = 200


@dataclass(frozen=True, slots=True)
class DeskEntry:
    """A chat on the desk.

    Attributes:
        chat: The chat, whose `desk` says who holds it.
        stay: The record of the chat's time on the desk so far, with the summary for the holder.
    """

    chat: Chat
    stay: DeskStay


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskQueue:
    """The service that lists the chats on the desk."""

    table: Table

    def list(self, tenant: str) -> Sequence[DeskEntry]:
        """List the chats on the desk, at most 200.

        Waiting chats come before chats that a person of the team has taken over. Each of the two
        groups begins with the oldest chat.
        """
        rows = rows_after(
            self.table, desk_relation(tenant), None, limit=MAX_LISTED, newest_first=False
        )
        stays = DeskStay.read_each(
            read_items(self.table, [Key(row["pk"], row["sk"]) for row in rows])
        )
        chats = read_items(self.table, [Chat.key_of(tenant, stay.chat_id) for stay in stays])
        entries = [
            DeskEntry(chat, stay)
            for stay in stays
            for chat in [Chat.read(chats, Chat.key_of(tenant, stay.chat_id))]
            if chat is not None and is_current(stay, chat) and chat.discarded_at is None
        ]
        return sorted(entries, key=lambda each: (each.chat.held, each.stay.since))

    def get(self, tenant: str, chat_id: str) -> DeskEntry:
        """Return a chat on the desk.

        Raises:
            NotFound: The chat does not exist or is not on the desk; the error's details say how it
                was last handed back.
        """
        chat = read_chat(self.table, tenant, chat_id)
        stay = read_stay(self.table, chat)
        if stay is None:
            raise NotFound("the chat is not on the desk", details=_newest_return(chat))
        return DeskEntry(chat, stay)

    def held_by(self, tenant: str, chat_id: str, holder_id: str) -> Chat:
        """Return a chat that an operator holds.

        Raises:
            NotFound: The chat does not exist.
            Conflict: The operator does not hold the chat; the error's details say how it was last
                handed back.
        """
        chat = read_chat(self.table, tenant, chat_id)
        if chat.holder is None or chat.holder.id != holder_id:
            raise Conflict("you haven't taken over this chat", details=_newest_return(chat))
        return chat


def _newest_return(chat: Chat) -> dict[str, Any]:
    """Return how a chat was last handed back, for an error's details; empty if it never was."""
    last = chat.briefing
    if last is None or chat.held:
        return {}
    ended_by: DeskEnd = "silence" if last.silent else "handed_back"
    return {"holder": last.holder.id, "ended_by": ended_by, "ended_at": rfc3339(last.at)}
