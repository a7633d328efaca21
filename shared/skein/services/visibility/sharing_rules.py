"""Decide who may be told by a sharing rule what a person said to an agent alone.

Nothing else knows the answer: prompts and explanations ask here. Told words are those
of one person, in that person's own direct chat, and memories that were made from such words alone;
agents' words, groups and all other derived items are never told by a rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from skein.models.chats.chat import Chat, Message
from skein.models.directory.role import Role, roles_at
from skein.models.directory.user import User
from skein.models.visibility.ownership import shared_partition
from skein.models.visibility.refusal import SharingRefusal
from skein.models.visibility.sharing_rules import SharingParty, SharingRule, SharingRules
from skein.models.visibility.talk import SharingState
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MAX_PARTITIONS = 8  # that one turn searches

Rules = tuple[SharingRule, ...]


@dataclass(frozen=True, slots=True)
class PersonRoles:
    """A person with the roles that count.

    Attributes:
        refuses: Whether the person turned off being told what others said.
        version: The sharing version of the person's record.
    """

    user_id: str
    roles: tuple[Role, ...]
    refuses: bool = False
    version: int = 0

    @classmethod
    def of(cls, user: User, moment: datetime) -> "PersonRoles":
        """Return the person with the roles held at `moment`."""
        roles = roles_at(user.roles, moment)
        return cls(user.id, roles, user.refuses_shared, user.sharing_version)

    def is_in(self, party: SharingParty) -> bool:
        """Tell whether the person belongs to one side of a rule."""
        return any(each.role == party.role for each in self.roles)

    @property
    def subject(self) -> str | None:
        """The only subject of the person's roles; None if there is none, or several."""
        subjects = {each.subject for each in self.roles if each.subject is not None}
        return subjects.pop() if len(subjects) == 1 else None


def refusal_of_author(rule: SharingRule, author: PersonRoles) -> SharingRefusal | None:
    """Return why a rule does not cover what a person says, whatever the time; None if it does."""
    if not author.is_in(rule.from_):
        return SharingRefusal.AUTHOR_ROLE
    return SharingRefusal.SUBJECT if rule.same_subject and author.subject is None else None


def refusal_between(
    rule: SharingRule, author: PersonRoles, reader: PersonRoles
) -> SharingRefusal | None:
    """Return why a rule does not tell a reader the words of an author, whatever the time."""
    if author.user_id == reader.user_id:
        return SharingRefusal.OWN_WORDS
    refusal = refusal_of_author(rule, author)
    if refusal is SharingRefusal.AUTHOR_ROLE:
        return refusal
    if not reader.is_in(rule.to):
        return SharingRefusal.READER_ROLE
    differ = rule.same_subject and author.subject != reader.subject
    return SharingRefusal.SUBJECT if differ else refusal


def may_tell(rule: SharingRule, author: PersonRoles, reader: PersonRoles) -> bool:
    """Tell whether a rule lets a reader be told the words of an author, whatever the time."""
    return refusal_between(rule, author, reader) is None


def covering(rules: Iterable[SharingRule], author: PersonRoles) -> Rules:
    """Return the rules that cover what a person says."""
    return tuple(rule for rule in rules if refusal_of_author(rule, author) is None)


def telling(rules: Iterable[SharingRule], reader: PersonRoles) -> Rules:
    """Return the rules by which a person may be told what others say."""
    return tuple(
        rule
        for rule in rules
        if reader.is_in(rule.to) and not (rule.same_subject and reader.subject is None)
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
        if said is None or chat.sharing is None or self.refusal(chat, said) is not None:
            return ()
        covered, sharing = covering(self.rules, PersonRoles.of(self.author, said.at)), chat.sharing
        return tuple(rule for rule in covered if self.refusal_by(rule, sharing, said) is None)

    def refusal(self, chat: Chat, said: SaidMessage | None) -> SharingRefusal | None:
        """Return why no rule may tell a message now; None if one may."""
        if said is None:
            return SharingRefusal.NOT_OWN_WORDS
        refusal, sharing = self._refusal_in(chat, said.author), chat.sharing
        if refusal is not None:
            return refusal
        if sharing is None:
            return SharingRefusal.NO_NOTICE
        if sharing.keeps(said.seq):
            newest = sharing.private and said.seq >= sharing.talk_from
            return SharingRefusal.PRIVATE if newest else SharingRefusal.KEPT
        over = sharing.is_over(said.seq, self.now, pause_in(chat, self.settings))
        return None if over else SharingRefusal.TALK_NOT_OVER

    def _refusal_in(self, chat: Chat, author: str) -> SharingRefusal | None:
        """Return why nothing that a person said in a chat is told; None if it may be.

        The chat must be the private direct chat of a person under one and the same id.
        """
        if self.author.erasure_id is not None:
            return SharingRefusal.AUTHOR_GONE
        if chat.discarded_at is not None:
            return SharingRefusal.DISCARDED
        if chat.kind != "direct" or chat.readers.open or len(chat.person_ids) != 1:
            return SharingRefusal.NOT_ALONE
        noticed = chat.sharing.person_id if chat.sharing is not None else author
        same = author == self.author.id == noticed and chat.person_ids == (author,)
        return None if same else SharingRefusal.FORMER_ACCOUNT

    def refusal_by(
        self, rule: SharingRule, sharing: SharingState, said: SaidMessage
    ) -> SharingRefusal | None:
        """Return why a rule does not tell a message by its time; None if it does."""
        if rule.withdrawn_at is not None and rule.withdrawn_at <= self.now:
            return SharingRefusal.RULE_DELETED
        if not rule.in_force(self.now):
            early = self.now < rule.begins_at
            return SharingRefusal.RULE_NOT_BEGUN if early else SharingRefusal.RULE_ENDED
        if sharing.covered_by(rule.id, said.seq):
            return None
        early = said.at < rule.begins_at
        return SharingRefusal.BEFORE_RULE if early else SharingRefusal.BEFORE_NOTICE

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


@dataclass(frozen=True, slots=True)
class RuleRefusal:
    """A rule that does not tell a message to a reader, and the first condition that fails."""

    rule: SharingRule
    reason: SharingRefusal


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether readers may be told a message by sharing rules.

    Attributes:
        rules: The rules by which all readers may be told; none if one may not.
        refusal: The first condition that fails; None if they may be told.
        reader: The first reader who may not be told, if that is about one reader.
        refused: Why each rule does not tell that reader.
    """

    rules: Rules = ()
    refusal: SharingRefusal | None = None
    reader: str | None = None
    refused: tuple[RuleRefusal, ...] = ()


@dataclass(frozen=True, slots=True)
class ReaderRules:
    """The rules that count for the readers of a prompt, as they were just read.

    Attributes:
        rules: The rules in force.
        readers: The readers with their roles of now.
        epoch: The epoch of the rules.
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

    @property
    def without_rules(self) -> "ReaderRules":
        """The same readers, who are told nothing."""
        return replace(self, rules=())

    @property
    def versions(self) -> dict[str, int]:
        """The sharing versions of the readers, by id."""
        return {reader.user_id: reader.version for reader in self.readers}

    def partitions(self, tenant: str, agent_id: str) -> tuple[str, ...]:
        """Return the partitions of an agent's index with what all readers may be told.

        There are at most eight, by the order of the rules.
        """
        for_each = [
            dict.fromkeys(
                _partition(tenant, agent_id, rule, reader.subject)
                for rule in telling(self.rules, reader)
            )
            for reader in self.readers
        ]
        if self._refusal is not None:
            return ()
        first, *others = for_each
        common = (each for each in first if all(each in other for other in others))
        return tuple(common)[:MAX_PARTITIONS]

    @property
    def _refusal(self) -> SharingRefusal | None:
        """Why these readers are told nothing at all; None if rules may tell them something."""
        if not self.readers:
            return SharingRefusal.NO_READER
        refuses = any(reader.refuses for reader in self.readers)
        return SharingRefusal.READER_REFUSES if refuses else None

    def rules_for(self, chat: Chat, said: SaidMessage | None, author: User | None) -> Rules:
        """Return the rules by which all readers may be told a message; see `decided`."""
        return self.decided(chat, said, author).rules

    def decided(self, chat: Chat, said: SaidMessage | None, author: User | None) -> Decision:
        """Decide whether all readers may be told a message, and say why.

        Args:
            chat: The chat of the message, as it is now.
            said: The message; None if rules can never tell it.
            author: The record of its sender; None if there is none.
        """
        if said is None:
            return Decision(refusal=SharingRefusal.NOT_OWN_WORDS)
        if author is None:
            return Decision(refusal=SharingRefusal.AUTHOR_GONE)
        covered = AuthorRules(author, self.rules, self.now, self.settings)
        refusal = covered.refusal(chat, said) or self._refusal
        if refusal is not None or chat.sharing is None:
            return Decision(refusal=refusal)
        said_by, found = PersonRoles.of(author, said.at), list[SharingRule]()
        for reader in self.readers:
            refused = list[RuleRefusal]()
            for rule in self.rules:
                reason = refusal_between(rule, said_by, reader) or covered.refusal_by(
                    rule, chat.sharing, said
                )
                if reason is None:
                    found.append(rule)
                    break
                refused.append(RuleRefusal(rule, reason))
            else:
                no = SharingRefusal.NO_RULE
                return Decision(refusal=no, reader=reader.user_id, refused=tuple(refused))
        return Decision(rules=tuple(dict.fromkeys(found)))

    def rules_for_all(
        self, chat: Chat, said: Iterable[SaidMessage | None], author: User | None
    ) -> Rules:
        """Return the rules by which all readers may be told what was made from some messages.

        There are none unless each of these messages may be told; None is one that is gone.
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
        subject=subject if rule.same_subject else None,
    )
