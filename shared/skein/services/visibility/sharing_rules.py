"""Decide to whom sharing rules may show what a person said to an agent in private.

Prompts and explanations both use this module. A rule shares only messages that a person wrote in
their own direct chat, and memories that were made only from these messages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

MAX_PARTITIONS = 8  # the most partitions that one turn searches

Rules = tuple[SharingRule, ...]


@dataclass(frozen=True, slots=True)
class PersonRoles:
    """A person, with the roles that sharing rules are checked against.

    Attributes:
        refuses: Whether the person has chosen not to receive what others said.
    """

    user_id: str
    roles: tuple[Role, ...]
    refuses: bool = False
    version: int = 0

    @classmethod
    def of(cls, user: User, moment: datetime) -> "PersonRoles":
        roles = roles_at(user.roles, moment)
        return cls(user.id, roles, user.refuses_shared, user.sharing_version)

    def is_in(self, party: SharingParty) -> bool:
        return any(each.role == party.role for each in self.roles)

    def can_be(self, party: SharingParty, rule: SharingRule) -> bool:
        """Return whether a role makes the person this party (author or reader) of the rule.

        If the rule requires that author and reader have the same subject, the person must have
        exactly one subject.
        """
        return self.is_in(party) and not (rule.same_subject and self.subject is None)

    @property
    def subject(self) -> str | None:
        """The subject of the person's roles; None if the roles have no subject or several."""
        subjects = {each.subject for each in self.roles if each.subject is not None}
        return subjects.pop() if len(subjects) == 1 else None


def refusal_between(
    rule: SharingRule, author: PersonRoles, reader: PersonRoles
) -> SharingRefusal | None:
    """Return why a rule never shares an author's messages with a reader; None if it may.

    This function does not check times; see `AuthorRules.refusal_by`.
    """
    if author.user_id == reader.user_id:
        return SharingRefusal.OWN_WORDS
    if not author.is_in(rule.from_):
        return SharingRefusal.AUTHOR_ROLE
    if not reader.is_in(rule.to):
        return SharingRefusal.READER_ROLE
    same = author.subject is not None and author.subject == reader.subject
    return SharingRefusal.SUBJECT if rule.same_subject and not same else None


def covering(rules: Iterable[SharingRule], author: PersonRoles) -> Rules:
    """Return the rules that cover a person's messages."""
    return tuple(rule for rule in rules if author.can_be(rule.from_, rule))


def telling(rules: Iterable[SharingRule], reader: PersonRoles) -> Rules:
    """Return the rules that may share others' messages with a person."""
    return tuple(rule for rule in rules if reader.can_be(rule.to, rule))


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """A message without its text; `author` is the id of its sender at the time."""

    seq: int
    author: str
    at: datetime

    @classmethod
    def of(cls, message: Message) -> "SaidMessage | None":
        """Build the metadata of a stored message; None if rules can never share the message."""
        own = message.sender.kind == "user" and message.via is None and not message.resets
        if not own or message.kind != "text":
            return None
        return cls(message.seq, message.sender.id, message.created_at)


@dataclass(frozen=True, slots=True)
class AuthorRules:
    """An author, and the sharing rules in force, which may cover the author's messages."""

    author: User
    rules: Rules
    now: datetime
    settings: Settings

    def rules_of(self, chat: Chat, said: SaidMessage | None) -> Rules:
        """Return the rules that cover a message of a chat now; empty if it may not be shared."""
        if said is None or chat.sharing is None or self.refusal(chat, said) is not None:
            return ()
        covered, sharing = covering(self.rules, PersonRoles.of(self.author, said.at)), chat.sharing
        return tuple(rule for rule in covered if self.refusal_by(rule, sharing, said) is None)

    def refusal(self, chat: Chat, said: SaidMessage | None) -> SharingRefusal | None:
        """Return why no rule may share a message now; None if a rule may share it."""
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
        """Return why no message may be shared from a chat; None if messages may be shared.

        The chat must be a private direct chat that is not discarded. The person must have had the
        same id in the chat from the beginning, and must not be erased.
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
        """Return why the times of a rule and a message forbid sharing; None if they allow it."""
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
        """Return the index partitions in which readers other than the author can find an item.

        An item is put into a partition only if sharing rules allow this for each message in `said`.

        Args:
            said: The messages from which the item was made; None for a message that no rule can
                share.
        """
        found = [self._partitions_of(chat, each, agent_id) for each in said]
        return tuple(sorted(set[str].intersection(*found))) if found else ()

    def _partitions_of(self, chat: Chat, said: SaidMessage | None, agent_id: str) -> set[str]:
        if said is None:
            return set()
        author = PersonRoles.of(self.author, said.at)
        return set(_partitions(chat.tenant, agent_id, self.rules_of(chat, said), author))


@dataclass(frozen=True, slots=True)
class RuleRefusal:
    """A rule that does not share a message with a reader, and the first condition that fails."""

    rule: SharingRule
    reason: SharingRefusal


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether sharing rules allow sharing a message with readers.

    Attributes:
        rules: The rules that allow it; empty if the message may not be shared with all readers.
        refusal: The first condition that fails; None if sharing is allowed.
        reader: The first reader who may not see the message, if a single reader is the cause.
        refused: For each rule, why it does not share the message with that reader.
    """

    rules: Rules = ()
    refusal: SharingRefusal | None = None
    reader: str | None = None
    refused: tuple[RuleRefusal, ...] = ()


@dataclass(frozen=True, slots=True)
class ReaderRules:
    """The sharing rules in force, and the readers of a prompt with their current roles."""

    rules: Rules
    readers: tuple[PersonRoles, ...]
    epoch: int
    now: datetime
    settings: Settings

    @classmethod
    def of(
        cls, rules: SharingRules, readers: Iterable[User], now: datetime, settings: Settings
    ) -> "ReaderRules":
        standings = tuple(PersonRoles.of(reader, now) for reader in readers)
        return cls(rules.in_force(now), standings, rules.epoch, now, settings)

    @property
    def versions(self) -> dict[str, int]:
        return {reader.user_id: reader.version for reader in self.readers}

    def partitions(self, tenant: str, agent_id: str) -> tuple[str, ...]:
        """Return the index partitions whose content the rules share with all readers.

        At most eight are returned, in the order of the rules.
        """
        if self._refusal is not None:
            return ()
        first, *others = (
            _partitions(tenant, agent_id, telling(self.rules, reader), reader)
            for reader in self.readers
        )
        common = (each for each in first if all(each in other for other in others))
        return tuple(common)[:MAX_PARTITIONS]

    @property
    def _refusal(self) -> SharingRefusal | None:
        """Why nothing may be shared with these readers; None if rules may share something."""
        if not self.readers:
            return SharingRefusal.NO_READER
        refuses = any(reader.refuses for reader in self.readers)
        return SharingRefusal.READER_REFUSES if refuses else None

    def decided(self, chat: Chat, said: SaidMessage | None, author: User | None) -> Decision:
        """Decide whether a message of a chat may be shared with all readers, and explain why."""
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
        """Return the rules that may share an item made from these messages with all readers.

        The result is empty if one of the messages may not be shared. This includes None, which
        stands for a deleted message.
        """
        found = [self.decided(chat, each, author).rules for each in said]
        return tuple(dict.fromkeys(chain(*found))) if all(found) else ()


def pause_in(chat: Chat, settings: Settings) -> timedelta:
    """Return how long a person must be quiet in a chat before their messages may be shared."""
    return timedelta(minutes=effective_in(chat, settings).sharing_quiet_minutes)


def _partitions(tenant: str, agent_id: str, rules: Rules, person: PersonRoles) -> list[str]:
    """Return the index partitions of content that rules share; the author's role selects one.

    Args:
        person: The author or the reader. If a rule requires the same subject, this person's subject
            selects the partition.
    """
    sides = dict.fromkeys(
        (rule.from_.role, person.subject if rule.same_subject else None) for rule in rules
    )
    return [shared_partition(tenant, agent_id, role=role, subject=about) for role, about in sides]
