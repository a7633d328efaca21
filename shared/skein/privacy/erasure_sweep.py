"""State of one sweep of an erasure, shared by all stages: the person, the chats and the counts."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from skein.models.chats.chat import Message
from skein.models.common.base import MemberRef, NamedMember
from skein.models.runs.run import Run
from skein.models.visibility.provenance import MadeFrom, digest_of
from skein.privacy.erasure_words import pattern_of_ids, pattern_of_names
from skein.privacy.models.erasure import ErasedChat, Erasure, Subject

ERASED = NamedMember(kind="user", id="erased", name="Erased")
ROWS = 100


def nobody(erasure: Erasure) -> Subject:
    """Return an empty subject, for the erasure of a message."""
    return Subject(tenant=erasure.tenant, erasure_id=erasure.id, ids=())


@dataclass(slots=True)
class SweepCounts:
    """Counts since the progress was last saved.

    Attributes:
        counts: Erased items by kind.
        stopped: The number of canceled runs and closed memberships.
    """

    counts: Counter[str] = field(default_factory=Counter)
    stopped: int = 0


@dataclass
class Sweep:
    """One sweep of an erasure.

    Attributes:
        erasure: The erasure as the worker claimed it.
        subject: The person, as ids, names and addresses.
        chats: Notes on the person's chats by chat id; the stages add to them.
        unsaved: Counts since the progress was last saved.
        now: When the worker claimed the erasure.
        quotes: Hashes of everything that the person wrote; see `quotes_in`.
        gone: Returns whether all people's messages among an item's sources are deleted; see
            `DeletedMaterial.gone`.
    """

    erasure: Erasure
    subject: Subject
    chats: dict[str, ErasedChat]
    unsaved: SweepCounts
    now: datetime
    quotes: set[int] = field(default_factory=set)
    gone: Callable[[MadeFrom], bool] = lambda _: False

    @property
    def tenant(self) -> str:
        return self.erasure.tenant

    def is_theirs(self, member: MemberRef | None) -> bool:
        """Return whether a member is the person, under any of the person's ids."""
        return member is not None and member.kind == "user" and member.id in self.subject.ids

    def suspect(self, made_at: datetime) -> bool:
        """Return whether content made at this time may be derived from erased content.

        True for content that was made before the first sweep ended. The first sweep erases all of
        the person's content, so later content cannot be derived from it.
        """
        swept_at = self.erasure.swept_at
        return swept_at is None or made_at <= swept_at

    def to_stop(self, run: Run) -> bool:
        """Return whether a run is in progress and may have been shown erased content."""
        if run.ended:
            return False
        swept_at = self.erasure.swept_at
        return swept_at is None or (run.started_at is not None and run.started_at <= swept_at)

    def without_decision(self) -> "Sweep":
        """Return a copy of this sweep that does not erase texts for the person's full name alone.

        The copy is used for data that the preview does not list. The operator had no chance to
        decide about this data.
        """
        kept = self.erasure.model_copy(update={"named_texts": "keep"})
        return replace(self, erasure=kept)

    def learn(self, subject: Subject) -> None:
        """Replace the subject with `subject`, which has more names or addresses."""
        self.subject = subject
        for name in ("digests", "ids_pattern", "names_pattern"):
            vars(self).pop(name, None)

    @cached_property
    def digests(self) -> frozenset[str]:
        """The digests of the person's ids, as they are stored in `authors`."""
        return frozenset(map(digest_of, self.subject.ids))

    @cached_property
    def ids_pattern(self) -> re.Pattern[str]:
        """The pattern of the person's ids and phone numbers."""
        return pattern_of_ids(self.subject.ids, self.subject.addresses)

    @cached_property
    def names_pattern(self) -> re.Pattern[str]:
        """The pattern of the person's full names."""
        return pattern_of_names(self.subject.names)


def tombstone(message: Message) -> dict[str, Any]:
    """Return the attributes that erase a message; its number, id and time stay.

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
        "files": None,
        "choice": None,
        "answers": None,
        "via": None,
        "expects_reply": False,
        "origin": None,
        "traced_to": None,
        "correlation_id": None,
    }


def deleted(message: Message) -> dict[str, Any]:
    """Return the attributes of a message that its sender has deleted.

    Unlike a tombstone, a deleted message keeps its sender, `client_id`, `reply_to` and correlation
    id. A repeated post with the same `client_id` therefore finds the deleted message.
    """
    stays = ("sender", "client_id", "reply_to", "correlation_id")
    stored = message.attributes()
    return tombstone(message) | {"kind": "deleted"} | {name: stored.get(name) for name in stays}
