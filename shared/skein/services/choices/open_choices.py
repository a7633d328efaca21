"""List the choices that a person can answer, with their questions."""

from dataclasses import dataclass
from typing import NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import Choice
from skein.models.chats.membership import Membership
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.base import MemberRef
from skein.models.common.storage import Item, Key
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import read_choices


class ListedChoice(NamedTuple):
    """An open choice with its chat and its question."""

    listed: OpenChoice
    chat: Chat
    message: Message
    choice: Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChoices:
    """The service that lists the open choices of a person."""

    table: Table
    clock: Clock

    def of(self, tenant: str, user_id: str) -> list[ListedChoice]:
        """List a person's open choices, oldest first, in two reads.

        Questions in chats that the person has left, or that are discarded, are left out.
        """
        now = self.clock.now()
        choices = read_choices(self.table, tenant, user_id, now)
        keys = [_keys_of(tenant, user_id, listed) for listed in choices.open]
        wanted = dict.fromkeys(key for of_one in keys for key in of_one)
        found = self.table.get_many(list(wanted)) if wanted else {}
        made = (
            _listed(listed, [found.get(key) for key in of_one])
            for listed, of_one in zip(choices.open, keys, strict=True)
        )
        return [one for one in made if one is not None and one.choice.status(now) == "open"]


def _keys_of(tenant: str, user_id: str, listed: OpenChoice) -> list[Key]:
    """Return the keys of an open choice's chat, membership and question."""
    person = MemberRef(kind="user", id=user_id)
    return [
        Chat.key_of(tenant, listed.chat_id),
        Membership.key_of(tenant, listed.chat_id, person),
        Message.key_of(tenant, listed.chat_id, listed.seq or 0),
    ]


def _listed(listed: OpenChoice, found: list[Item | None]) -> ListedChoice | None:
    chat_item, membership, question = found
    if chat_item is None or membership is None or question is None:
        return None
    chat, message = Chat.from_item(chat_item), Message.from_item(question)
    if chat.discarded_at is not None or message.choice is None:
        return None
    return ListedChoice(listed, chat, message, message.choice)
