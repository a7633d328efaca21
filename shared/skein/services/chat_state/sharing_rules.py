"""Decide who may be told by a sharing rule what a person said to an agent alone.

Nothing else knows the answer: prompts, explanations and previews all ask here. Told words are those
of one person, in that person's own direct chat, and memories that were made from such words alone;
agents' words, groups and all other derived items are never told by a rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from skein.models.chats.chat import Chat, Message
from skein.models.common.ownership import shared_partition
from skein.models.config.sharing import SharingParty, SharingRule, SharingRules
from skein.models.directory.role import Role, roles_at
from skein.models.directory.user import User
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MAX_PARTITIONS = 8  # that one turn searches

Rules = tuple[SharingRule, ...]


@dataclass(frozen=True, slots=True)
class PersonRoles:
    """A person with the roles that count."""

    user_id: str
    roles: tuple[Role, ...]

    @classmethod
    def of(cls, user: User, moment: datetime) -> "PersonRoles":
        """Return a person with the roles of a time."""
        return cls(user.id, roles_at(user.roles, moment))

    def is_in(self, party: SharingParty) -> bool:
        """Tell whether the person belongs to one side of a rule."""
        if party.user_id is not None:
            return party.user_id == self.user_id
        return any(each.role == party.role for each in self.roles)

    @property
    def subject(self) -> str | None:
        """The only subject of the person's roles; None if there is none, or several."""
        subjects = {each.subject for each in self.roles if each.subject is not None}
        return subjects.pop() if len(subjects) == 1 else None


def may_tell(rule: SharingRule, author: PersonRoles, reader: PersonRoles) -> bool:
    """Tell whether a rule lets a reader be told the words of an author, whatever the time."""
    if author.user_id == reader.user_id or not author.is_in(rule.from_):
        return False
    if not reader.is_in(rule.to):
        return False
    return not rule.same_subject or author.subject == reader.subject is not None


def covering(rules: Iterable[SharingRule], author: PersonRoles) -> Rules:
    """Return the rules that cover what a person says."""
    return tuple(
        rule
        for rule in rules
        if author.is_in(rule.from_) and not (rule.same_subject and author.subject is None)
    )


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """What is known of a message without its words.

    Attributes:
        author: The id that its sender had at that time.
    """

    seq: int
    author: str
    at: datetime

    @classmethod
    def of(cls, message: Message) -> "SaidMessage | None":
        """Return a message as stored, if rules can tell it at all: a text of a person's own."""
        own = message.sender.kind == "user" and message.via is None and not message.resets
        if not own or message.kind != "text":
            return None
        return cls(message.seq, message.sender.id, message.created_at)


@dataclass(frozen=True, slots=True)
class AuthorRules:
    """A person and the rules that may cover what the person says.

    Attributes:
        author: The person's record.
        rules: The rules in force.
    """

    author: User
    rules: Rules
    now: datetime
    settings: Settings

    def rules_of(self, chat: Chat, said: SaidMessage | None) -> Rules:
        """Return the rules that cover a message and do so now; none if it may not be told.

        Args:
            chat: The chat of the message, as it is now.
            said: The message; None if rules can never tell it.
        """
        sharing = chat.sharing
        if sharing is None or said is None or not self._is_direct_of(chat, said.author):
            return ()
        pause = pause_in(chat, self.settings)
        if sharing.keeps(said.seq) or not sharing.is_over(said.seq, self.now, pause):
            return ()
        by_time = covering(self.rules, PersonRoles.of(self.author, said.at))
        return tuple(rule for rule in by_time if sharing.covered_by(rule.id, said.seq))

    def partitions(
        self, chat: Chat, said: Sequence[SaidMessage | None], agent_id: str
    ) -> tuple[str, ...]:
        """Return the partitions of an agent's index in which others find some messages together.

        Args:
            chat: The chat of the messages, as it is now.
            said: The messages; what was made from several of them is told only where all are.
            agent_id: The agent.
        """
        found = [self._partitions_of(chat, each, agent_id) for each in said]
        return tuple(sorted(set[str].intersection(*found))) if found else ()

    def _partitions_of(self, chat: Chat, said: SaidMessage | None, agent_id: str) -> set[str]:
        if said is None:
            return set()
        subject = PersonRoles.of(self.author, said.at).subject
        rules = self.rules_of(chat, said)
        return {_partition(chat.tenant, agent_id, rule, subject) for rule in rules}

    def _is_direct_of(self, chat: Chat, author: str) -> bool:
        """Tell whether a chat is the private direct chat of a person under one and the same id."""
        if chat.kind != "direct" or chat.readers.open or chat.discarded_at is not None:
            return False
        same = chat.sharing is not None and chat.sharing.person_id == author == self.author.id
        return same and chat.person_ids == (author,) and self.author.erasure_id is None


@dataclass(frozen=True, slots=True)
class ReaderRules:
    """The rules that count for the readers of a prompt, as they were just read.

    Attributes:
        rules: The rules in force.
        readers: The readers with their roles of now.
        epoch: The epoch of the rules; each post of what was told checks it.
    """

    rules: Rules
    readers: tuple[PersonRoles, ...]
    epoch: int
    now: datetime
    settings: Settings

    @classmethod
    def of(
        cls, rules: SharingRules, readers: Iterable[User], now: datetime, settings: Settings
    ) -> "ReaderRules":
        """Return the rules that hold now, for readers with their roles of now."""
        standings = tuple(PersonRoles.of(reader, now) for reader in readers)
        return cls(rules.in_force(now), standings, rules.epoch, now, settings)

    def partitions(self, tenant: str, agent_id: str) -> tuple[str, ...]:
        """Return the partitions of an agent's index with what all readers may be told.

        There are at most eight, by the order of the rules.
        """
        for_each = [
            dict.fromkeys(
                _partition(tenant, agent_id, rule, reader.subject)
                for rule in self.rules
                if reader.is_in(rule.to) and not (rule.same_subject and reader.subject is None)
            )
            for reader in self.readers
        ]
        if not for_each:
            return ()
        first, *others = for_each
        common = (each for each in first if all(each in other for other in others))
        return tuple(common)[:MAX_PARTITIONS]

    def rules_for(self, chat: Chat, said: SaidMessage | None, author: User | None) -> Rules:
        """Return the rules by which all readers may be told a message; none if one may not.

        Args:
            chat: The chat of the message, as it is now.
            said: The message; None if rules can never tell it.
            author: The record of its sender; None if there is none.
        """
        if author is None or said is None:
            return ()
        covering_it = AuthorRules(author, self.rules, self.now, self.settings).rules_of(chat, said)
        said_by, found = PersonRoles.of(author, said.at), list[SharingRule]()
        for reader in self.readers:
            rule = next((one for one in covering_it if may_tell(one, said_by, reader)), None)
            if rule is None:
                return ()
            found.append(rule)
        return tuple(dict.fromkeys(found))

    def rules_for_all(self, chat: Chat, said: Iterable[SaidMessage], author: User | None) -> Rules:
        """Return the rules by which all readers may be told what was made from some messages.

        There are none unless each of these messages may be told.
        """
        found = [self.rules_for(chat, each, author) for each in said]
        return tuple(dict.fromkeys(chain(*found))) if all(found) else ()


def pause_in(chat: Chat, settings: Settings) -> timedelta:
    """Return how long a person must be quiet in a chat until their words may be told."""
    return timedelta(minutes=effective_in(chat, settings).sharing_quiet_minutes)


def _partition(tenant: str, agent_id: str, rule: SharingRule, subject: str | None) -> str:
    """Return the partition of what a rule lets agents tell."""
    return shared_partition(
        tenant,
        agent_id,
        role=rule.from_.role,
        user_id=rule.from_.user_id,
        subject=subject if rule.same_subject else None,
    )
