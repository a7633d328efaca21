"""Read the sharing rules that apply to the people of a private chat."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from skein.models.chats.chat import Chat
from skein.models.common.storage import Item, Key
from skein.models.directory.user import User
from skein.models.visibility.sharing_rules import BatchReader, SharingRule, SharingRules
from skein.services.visibility.sharing_rules import AuthorRules, PersonRoles, ReaderRules, covering
from skein.settings import Settings


@dataclass(frozen=True, slots=True)
class SharingReading:
    """The sharing rules of a tenant, for the people of one private chat.

    Attributes:
        for_readers: The rules that may show other people's content to the people of the chat.
        unnoticed: For a direct chat: the rules that cover the person's messages, and of which the
            person was not yet notified in this chat.
    """

    for_readers: ReaderRules
    unnoticed: tuple[SharingRule, ...] = ()


def read_sharing(
    table: BatchReader,
    chat: Chat,
    prefetched: Mapping[Key, Item | None],
    now: datetime,
    settings: Settings,
) -> SharingReading | None:
    """Read the rules and the records of a chat's people; return None if no rule can apply.

    Args:
        prefetched: Items that were just read, by key; None for an item that does not exist.
    """
    if chat.readers.open or not chat.person_ids:
        return None
    rules_key = SharingRules.key_of(chat.tenant)
    people = [User.key_of(chat.tenant, person) for person in chat.person_ids]
    known = {key: each for key, each in prefetched.items() if each is not None}
    found = known | table.get_many([rules_key, *(key for key in people if key not in prefetched)])
    if rules_key not in found:
        return None
    rules = SharingRules.must_read(found, rules_key)
    users = User.read_each(found, people)
    if len(users) < len(people) or any(user.erasure_id is not None for user in users):
        return None
    for_readers = ReaderRules.of(rules, users, now, settings)
    noticed = chat.sharing.noticed if chat.sharing is not None else {}
    direct = chat.kind == "direct" and len(users) == 1
    covered = covering(for_readers.rules, PersonRoles.of(users[0], now)) if direct else ()
    unnoticed = tuple(rule for rule in covered if rule.id not in noticed)
    return SharingReading(for_readers, unnoticed)


def read_covered(
    table: BatchReader, chat: Chat, now: datetime, settings: Settings
) -> AuthorRules | None:
    """Read the sharing rules that may cover a chat's messages, and the person of the chat.

    Returns:
        The rules in force and the person; None if rules cannot cover messages of this chat.
    """
    if chat.sharing is None:
        return None
    rules_key = SharingRules.key_of(chat.tenant)
    author_key = User.key_of(chat.tenant, chat.sharing.person_id)
    found = table.get_many([rules_key, author_key])
    if rules_key not in found or author_key not in found:
        return None
    rules = SharingRules.must_read(found, rules_key).in_force(now)
    return AuthorRules(User.must_read(found, author_key), rules, now, settings)
