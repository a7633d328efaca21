"""What every stage of an erasure goes by: who is erased, where they were, what was found so far."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from skein.models.base import MemberRef, NamedMember
from skein.models.chat import Chat, Message
from skein.models.erasure import ErasedChat, Erasure, Subject
from skein.models.run import Run
from skein.models.storage import Exists, Update

ERASED = NamedMember(kind="user", id="erased", name="Erased")
ROWS = 100


@dataclass(slots=True)
class Found:
    """What a stretch of work has erased, by kind, and how many runs and places it had to stop."""

    counts: Counter[str] = field(default_factory=Counter)
    stopped: int = 0


@dataclass
class Sweep:
    """One sweep of an erasure.

    Attributes:
        erasure: As it was when the sweep's worker took it up.
        subject: Who is erased.
        chats: Where they were, by the chats' ids; the sweep adds to them.
        found: Counted as it goes.
        now: When the worker took it up.
    """

    erasure: Erasure
    subject: Subject
    chats: dict[str, ErasedChat]
    found: Found
    now: datetime

    @property
    def tenant(self) -> str:
        """Whose person."""
        return self.erasure.tenant

    def is_theirs(self, member: MemberRef | None) -> bool:
        """Whether this is the person, under any of their ids."""
        return member is not None and member.kind == "user" and member.id in self.subject.ids

    def suspect(self, made_at: datetime) -> bool:
        """Whether what was made then may have been made from what is erased.

        The first sweep takes everything; what came after its end has never seen any of it.
        """
        swept_at = self.erasure.swept_at
        return swept_at is None or made_at <= swept_at

    def to_stop(self, run: Run) -> bool:
        """Whether a run that has not ended may have been shown what is erased."""
        if run.ended:
            return False
        swept_at = self.erasure.swept_at
        return swept_at is None or (run.started_at is not None and run.started_at <= swept_at)

    def learn(self, subject: Subject) -> None:
        """Go by more names and numbers from now on."""
        self.subject = subject
        vars(self).pop("_telling", None)

    @cached_property
    def _telling(self) -> re.Pattern[str]:
        plain = [*self.subject.ids, *self.subject.phones]
        words = [rf"(?<!\w){re.escape(name.casefold())}(?!\w)" for name in self.subject.names]
        return re.compile("|".join([*(re.escape(text.casefold()) for text in plain), *words]))

    def names_them(self, *texts: str | None) -> bool:
        """Whether a text holds an id or a number of theirs, or a name as a word of its own."""
        return any(text and self._telling.search(text.casefold()) for text in texts)

    def mentions_them(self, attributes: Any) -> bool:
        """The same for anything JSON-ready."""
        return self.names_them(json.dumps(attributes, ensure_ascii=False, default=str))


def tombstone(message: Message) -> dict[str, Any]:
    """The attributes that leave of a message its number, its id and its time.

    A person's is by nobody any more; an agent's stays its own, without the words.
    """
    sender = ERASED if message.sender.kind == "user" else message.sender
    return {
        "kind": "erased",
        "text": "",
        "sender": sender.model_dump(mode="json"),
        "client_id": f"erased:{message.seq}",
        "reply_to": None,
        "media": [],
        "expects_reply": False,
        "origin": None,
        "traced_to": None,
        "correlation_id": None,
    }


def epoch_raised(tenant: str, chat_id: str) -> Update:
    """Lets nobody go by what they have kept of a chat's messages, or are about to derive."""
    key = Chat.key_of(tenant, chat_id)
    return Update(key, add={"epoch": 1, "version": 1}, condition=Exists())


def is_to_go(sweep: Sweep, note: ErasedChat, message: Message, *, suspect: bool) -> bool:
    """Whether a message of one of their chats is erased.

    Their own are; and an agent's, where it names them, or was said in private while they were
    there or to those who still are.

    Args:
        sweep: Whose.
        note: On the chat.
        message: As it stands there.
        suspect: Whether its sender may have seen what is erased.
    """
    if message.kind == "erased":
        return False
    if message.sender.kind == "user":
        return sweep.is_theirs(message.sender)
    there = message.seq >= (note.present_seq or 1)
    quoting = sweep.names_them(message.text)
    return quoting or (note.private and there and suspect)
