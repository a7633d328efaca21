"""List a person's open choices, with their questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import INVITATION, Choice, Invited
from skein.models.chats.membership import Membership
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.base import MemberRef
from skein.models.common.storage import Item, Key
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import read_choices
from skein.services.choices.wording import YES_NO, question_to_join


class ListedChoice(NamedTuple):
    """An open choice with its chat and its question.

    Attributes:
        chat: The chat of the question; for an invitation, the chat to join.
        message: The question's message; None for an invitation.
        invited: The invitation; None for a question.
    """

    listed: OpenChoice
    chat: Chat
    message: Message | None
    choice: Choice
    invited: Invited | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChoices:
    """The service that lists the open choices of a person."""

    table: Table
    clock: Clock

    def of(self, tenant: str, user_id: str) -> list[ListedChoice]:
        """List a person's open choices, oldest first, in two reads.

        Questions in discarded chats, and in chats that the person has left, are left out.
        """
        now = self.clock.now()
        choices = read_choices(self.table, tenant, user_id, now)
        keys = [_keys_of(tenant, user_id, listed) for listed in choices.open]
        wanted = dict.fromkeys(key for of_one in keys for key in of_one)
        found = self.table.get_many(list(wanted)) if wanted else {}
        made = (
            _listed(listed, of_one, found)
            if listed.invited_to is None
            else self._invitation(listed, Chat.read(found, of_one[0]), user_id)
            for listed, of_one in zip(choices.open, keys, strict=True)
        )
        return [one for one in made if one is not None and one.choice.status(now) == "open"]

    def _invitation(
        self, listed: OpenChoice, chat: Chat | None, user_id: str
    ) -> ListedChoice | None:
        chat = chat and chat.at(self.clock.now())
        invited = chat.invitation(user_id) if chat is not None else None
        if chat is None or invited is None or chat.discarded_at is not None:
            return None
        choice = Choice(
            question=question_to_join(chat, invited),
            options=YES_NO,
            addressee=user_id,
            purpose=INVITATION,
            expires_at=invited.expires_at,
        )
        return ListedChoice(listed, chat, None, choice, invited)


def _keys_of(tenant: str, user_id: str, listed: OpenChoice) -> list[Key]:
    if listed.invited_to is not None:
        return [Chat.key_of(tenant, listed.invited_to)]
    person = MemberRef(kind="user", id=user_id)
    return [
        Chat.key_of(tenant, listed.chat_id),
        Membership.key_of(tenant, listed.chat_id, person),
        Message.key_of(tenant, listed.chat_id, listed.seq or 0),
    ]


def _listed(
    listed: OpenChoice, keys: Sequence[Key], found: Mapping[Key, Item]
) -> ListedChoice | None:
    chat_key, membership_key, question_key = keys
    chat, message = Chat.read(found, chat_key), Message.read(found, question_key)
    if chat is None or membership_key not in found or message is None:
        return None
    if chat.discarded_at is not None or message.choice is None:
        return None
    return ListedChoice(listed, chat, message, message.choice)
