"""The bookkeeping of sharing rules: who may be told the secret, decided without the product.

It asks nothing of the code under test but the messages and chats that it stores.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from skein.models.chats.chat import Message
from tests.support.builders import World

QUIET_TIME = timedelta(minutes=15)
KEEP_WORDS = ("PRIVATE", "KEEP PRIVATE")


@dataclass(frozen=True)
class HeldRole:
    """A role of a person, with the person whom it is about."""

    role: str
    subject: str | None = None


Roles = tuple[HeldRole, ...]


@dataclass
class Rule:
    """A rule between two roles as it was made; its reason is in the notice."""

    id: str
    whose: str
    to: str
    same_subject: bool
    reason: str
    begins_at: datetime
    ends_at: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Whether the rule holds at a time."""
        return self.begins_at <= at and (self.ends_at is None or at < self.ends_at)


@dataclass(frozen=True)
class Told:
    """A word as a person said it to an agent alone, with the roles of that moment."""

    word: str
    who: str
    chat_id: str
    seq: int
    roles: Roles


@dataclass
class Permissions:
    """Who may be told a word by a rule.

    Attributes:
        roles: The roles of each person now.
        rules: The rules that were not deleted.
        said: Where words were said.
        withdrawn: The messages that their author withdrew, as chat and seq.
        kept: Messages whose talk their author kept by a call, as chat and seq.
        refusing: The people who turned off being told.
        gone: The ids of people who were erased, or merged into others.
    """

    world: World
    roles: dict[str, Roles] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    said: list[Told] = field(default_factory=list)
    withdrawn: set[tuple[str, int]] = field(default_factory=set)
    kept: set[tuple[str, int]] = field(default_factory=set)
    refusing: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    def note(self, message: Message, word: str) -> None:
        """Note that a person said a word to an agent alone."""
        who = message.sender.id
        told = Told(word, who, message.chat_id, message.seq, self.roles.get(who, ()))
        self.said.append(told)

    def left(self, person: str) -> None:
        """Note that a person's id stands for nobody any more: they were erased or merged."""
        self.gone.add(person)
        self.roles.pop(person, None)

    def forgotten(self, person: str) -> None:
        """Note that an erasure is done: roles about the person end."""
        for who, roles in self.roles.items():
            self.roles[who] = tuple(held for held in roles if held.subject != person)

    def permits(self, word: str, reader: str, agent: str, at: datetime) -> bool:
        """Whether a rule lets an agent tell a reader a word at a time."""
        if reader in self.gone | self.refusing:
            return False
        return any(
            self._tells(rule, told, reader, at)
            for rule in self.rules
            for told in self.said
            if told.word == word
            and told.who not in {reader, *self.gone}
            and agent in self._agents(told.chat_id)
        )

    def _agents(self, chat_id: str) -> set[str]:
        roster = self.world.stored_chat(chat_id).roster
        return {member.id for member in roster if member.kind == "agent"}

    def _tells(self, rule: Rule, told: Told, reader: str, at: datetime) -> bool:
        roles = self.roles.get(reader, ())
        sides = _has(rule.whose, told.roles) and _has(rule.to, roles)
        one = _subject(told.roles)
        subjects = not rule.same_subject or (one is not None and one == _subject(roles))
        if not (sides and subjects and rule.holds(at)):
            return False
        if self.world.stored_chat(told.chat_id).discarded_at is not None:
            return False
        messages = self.world.messages(told.chat_id)
        return self._covers(rule, told, messages) and self._is_tellable(told, messages, at)

    def _covers(self, rule: Rule, told: Told, messages: list[Message]) -> bool:
        """Whether the words come after the notice of a rule."""
        notices = [m.seq for m in messages if m.kind == "notice" and rule.reason in m.text]
        return bool(notices) and notices[0] < told.seq

    def _is_tellable(self, told: Told, messages: list[Message], at: datetime) -> bool:
        """Whether the talk of the words is over, and nobody kept it."""
        talks = [*talks_of(told.who, (each for each in messages if each.created_at <= at))]
        number = next((n for n, each in enumerate(talks) if told.seq in seqs_of(each)), None)
        if number is None or (told.chat_id, told.seq) in self.withdrawn:
            return False
        talk, later = talks[number], talks[number + 1 :]
        notices = [m.seq for m in messages if m.kind == "notice" and KEEP_WORDS[0] in m.text]
        words = [*talk, *(each[0] for each in later[:1])]  # one that comes late keeps, too
        kept = any(each.text in KEEP_WORDS and min(notices) < each.seq for each in words)
        by_call = any((told.chat_id, seq) in self.kept for seq in seqs_of(talk))
        over = bool(later) or at - talk[-1].created_at >= QUIET_TIME
        return over and not kept and not by_call


def talks_of(who: str, messages: Iterable[Message]) -> Iterable[list[Message]]:
    """Yield the talks of a person: messages without a longer pause than the quiet time."""
    talk: list[Message] = []
    for each in messages:
        if each.sender.id != who:
            continue
        if talk and each.created_at - talk[-1].created_at >= QUIET_TIME:
            yield talk
            talk = []
        talk.append(each)
    if talk:
        yield talk


def seqs_of(talk: list[Message]) -> list[int]:
    """Return the numbers of the messages of a talk."""
    return [each.seq for each in talk]


def _has(role: str, roles: Roles) -> bool:
    return any(held.role == role for held in roles)


def _subject(roles: Roles) -> str | None:
    subjects = {held.subject for held in roles if held.subject is not None}
    return subjects.pop() if len(subjects) == 1 else None
