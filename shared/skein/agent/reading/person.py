"""The person of a direct chat, and who may be shown that person's profile."""

from skein.models.audience import Audience, may_show
from skein.models.base import NamedMember
from skein.models.chat import Chat
from skein.models.storage import Key
from skein.models.user import User
from skein.services.chat_state.audience import destination_of


def person_at(chat: Chat | None) -> NamedMember | None:
    """The one person of a direct chat with an agent; None elsewhere."""
    if chat is None or chat.kind != "direct":
        return None
    people = [member for member in chat.roster if member.kind == "user"]
    return people[0] if len(people) == 1 else None


def profile_audience(user_id: str) -> Audience:
    """Who may be shown a person's profile: they themselves."""
    return Audience(open=False, people=(user_id,))


def keys_of_person(chat: Chat | None) -> list[Key]:
    """Where the record of a direct chat's person stands, if they alone read what is said there."""
    person = person_at(chat)
    if chat is None or person is None:
        return []
    if not may_show(profile_audience(person.id), destination_of(chat)):
        return []
    return [User.key_of(chat.tenant, person.id)]
