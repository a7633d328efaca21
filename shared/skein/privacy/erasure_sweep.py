"""Erasure sweeps: the person, the person's chats and the counts, shared by all stages."""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from skein.models.chats.chat import Message
from skein.models.common.base import MemberRef, NamedMember
from skein.models.runs.run import Run
from skein.privacy.models.erasure import ErasedChat, Erasure, Subject

ERASED = NamedMember(kind="user", id="erased", name="Erased")
ROWS = 100
NEVER = "(?!)"  # a pattern that matches nothing


def nobody(erasure: Erasure) -> Subject:
    """Return the subject of a message's erasure: it names nobody, so it finds no other data."""
    return Subject(tenant=erasure.tenant, erasure_id=erasure.id, ids=())


@dataclass(slots=True)
class SweepCounts:
    """Counts since the last save.

    Attributes:
        counts: Erased items by kind.
        stopped: Canceled runs and closed memberships.
    """

    counts: Counter[str] = field(default_factory=Counter)
    stopped: int = 0


@dataclass
class Sweep:
    """One sweep of an erasure.

    Attributes:
        erasure: The erasure as the worker claimed it.
        subject: The person, as ids, names and addresses.
        chats: Notes on the person's chats by chat id; the sweep adds to them.
        unsaved: Counts since the last save.
        now: When the worker claimed the erasure.
    """

    erasure: Erasure
    subject: Subject
    chats: dict[str, ErasedChat]
    unsaved: SweepCounts
    now: datetime

    @property
    def tenant(self) -> str:
        """The tenant of the person."""
        return self.erasure.tenant

    def is_theirs(self, member: MemberRef | None) -> bool:
        """Return whether a member is the person, under any of the person's ids."""
        return member is not None and member.kind == "user" and member.id in self.subject.ids

    def suspect(self, made_at: datetime) -> bool:
        """Return whether content made at this time may be derived from erased content.

        True for everything made before the first sweep ends. Content made later cannot be derived
        from erased content, because the first sweep erases all of that content.
        """
        swept_at = self.erasure.swept_at
        return swept_at is None or made_at <= swept_at

    def to_stop(self, run: Run) -> bool:
        """Return whether a live run may have been shown erased content."""
        if run.ended:
            return False
        swept_at = self.erasure.swept_at
        return swept_at is None or (run.started_at is not None and run.started_at <= swept_at)

    def learn(self, subject: Subject) -> None:
        """Replace the subject, with more names and addresses."""
        self.subject = subject
        vars(self).pop("_telling", None)

    @cached_property
    def _telling(self) -> re.Pattern[str]:
        """The pattern of the words that name the person; see `names_them`."""
        names = [name for name in self.subject.names if len(name.split()) > 1]
        ids = [each for each in self.subject.ids if not each.isalpha()]
        addresses = [own.address for own in self.subject.addresses]
        spelled = [each.casefold().split() for each in (*names, *ids, *addresses)]
        texts = [r"\s+".join(map(re.escape, words)) for words in spelled]
        return re.compile(rf"(?<!\w)(?:{'|'.join(texts)})(?!\w)" if texts else NEVER)

    def names_them(self, *texts: str | None) -> bool:
        """Return whether a free text names the person: by full name, id or address.

        A name of one word tells nothing: "Will", "Mark" and "the" are in texts about others. So
        does an id that consists of letters only.
        """
        return any(text and self._telling.search(text.casefold()) for text in texts)


def tombstone(message: Message) -> dict[str, Any]:
    """Return the attributes that erase a message but keep its number, id and time.

    A person's message gets the sender `ERASED`. An agent's message keeps its sender.
    """
    sender = ERASED if message.sender.kind == "user" else message.sender
    return {
        "kind": "erased",
        "text": "",
        "sender": sender.model_dump(mode="json"),
        "client_id": f"erased:{message.seq}",
        "reply_to": None,
        "media": [],
        "choice": None,
        "answers": None,
        "via": None,
        "expects_reply": False,
        "origin": None,
        "traced_to": None,
        "correlation_id": None,
    }


def deleted(message: Message) -> dict[str, Any]:
    """Return the attributes of a message that its sender deletes.

    Unlike a tombstone, the message keeps its sender, `client_id`, `reply_to` and correlation id. A
    repeated post with the same `client_id` therefore finds the deleted message.
    """
    stays = ("sender", "client_id", "reply_to", "correlation_id")
    stored = message.attributes()
    return tombstone(message) | {"kind": "deleted"} | {name: stored.get(name) for name in stays}


def is_to_go(sweep: Sweep, erased: ErasedChat, message: Message, *, suspect: bool) -> bool:
    """Return whether to erase a message of one of the person's chats.

    The person's own messages are erased, and questions to the person. An agent's message is erased
    if it names the person. In a private chat, it is also erased if `suspect` is set and its number
    is `erased.present_seq` or higher.

    Args:
        sweep: The sweep of the person.
        erased: The note on the chat.
        message: The message as stored.
        suspect: Whether the sender may have seen erased content.
    """
    if message.kind == "erased":
        return False
    if message.sender.kind == "user":
        return sweep.is_theirs(message.sender)
    if message.choice is not None and message.choice.addressee in sweep.subject.ids:
        return True
    there = message.seq >= (erased.present_seq or 1)
    quoting = sweep.names_them(message.text)
    return quoting or (erased.private and there and suspect)
