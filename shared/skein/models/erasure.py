"""The erasure of a person: how far it has come, and the notes it needs until it is done."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from skein.models.base import E164, Identifier, Instant, MemberRef, Stored, Tenant, Value, key_part
from skein.models.due import NOT_DUE, due_mark
from skein.models.storage import Item, Key

ErasureStage = Literal["find", "close", "chats", "kept", "runs", "rest", "resting", "done"]

FIRST_STAGE: ErasureStage = "find"
BACKUP_DAYS = 35  # the longest that DynamoDB's point-in-time recovery reaches back


class SweepCount(Value):
    """What one sweep has come upon, by kind of thing; a finished one says when it ended."""

    counts: dict[str, int] = Field(default_factory=dict)
    ended_at: Instant | None = None


class Erasure(Stored):
    """A job, and afterwards the record that it was done: ids and numbers, nothing of the person's.

    Attributes:
        id: `era_<ulid>`.
        requested_by: The `sub` of the operator.
        stage: What is being done; `resting` between two sweeps.
        after: How far the stage has come, in its own words.
        sweeps: One for each that was begun.
        canceled: How many runs the sweep at hand has stopped, and places it has closed; as long as
            there are any, a further one follows.
        fence: Raised by every claim; a worker's writes hold only while the work is its own.
        busy_until: Until when the claiming worker is believed alive.
    """

    tenant: Tenant
    id: Identifier
    user_id: Identifier
    requested_by: Identifier
    requested_at: Instant
    stage: ErasureStage = FIRST_STAGE
    after: str | None = None
    sweeps: tuple[SweepCount, ...] = (SweepCount(),)
    canceled: int = 0
    fence: int = 0
    busy_until: Instant | None = None
    sweep_again_at: Instant | None = None
    finished_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, erasure_id: str) -> Key:
        """Return the key of an erasure."""
        return Key(f"{key_part(tenant)}#ERASURES", f"ERASURE#{key_part(erasure_id)}")

    @property
    def key(self) -> Key:
        """The key of this erasure."""
        return self.key_of(self.tenant, self.id)

    @property
    def swept_at(self) -> datetime | None:
        """When the first sweep ended; what was made since is not made from what it erased."""
        return self.sweeps[0].ended_at

    def due(self, at: datetime | None) -> dict[str, Any]:
        """The attributes that bring a worker at `at`, or not at all."""
        return dict(NOT_DUE) if at is None else due_mark("erasure", self.key, at)

    def to_item(self, due_at: datetime | None) -> Item:
        """Return the erasure as table attributes."""
        return self.attributes() | self.due(due_at)


class Subject(Stored):
    """By what the person can be recognised; gone once the erasure is done.

    Attributes:
        ids: Their own, and those under which they were known before.
        names: As they are called in any of their chats.
        phones: Theirs, now or formerly.
    """

    tenant: Tenant
    erasure_id: Identifier
    ids: tuple[Identifier, ...]
    names: tuple[str, ...] = ()
    phones: tuple[E164, ...] = ()

    @staticmethod
    def key_of(tenant: str, erasure_id: str) -> Key:
        """Return the key of an erasure's subject."""
        erasure = Erasure.key_of(tenant, erasure_id)
        return Key(erasure.pk, f"{erasure.sk}#SUBJECT")

    @property
    def key(self) -> Key:
        """The key of this subject."""
        return self.key_of(self.tenant, self.erasure_id)

    @property
    def refs(self) -> tuple[MemberRef, ...]:
        """Every id as a member's."""
        return tuple(MemberRef(kind="user", id=user_id) for user_id in self.ids)

    def to_item(self) -> Item:
        """Return the subject as table attributes."""
        return self.attributes()


class ErasedChat(Stored):
    """What must be known of one of their chats once they are in it no more; goes with the rest.

    Attributes:
        private: Whether agents there may have kept things for its people alone.
        agents: All that ever were in it.
        others: Other people who ever were.
        since: Since when they may have been spoken of there.
        present_seq: The first message that they were there for.
        first_seq: The first message that they wrote.
        told: Other chats in which agents said why they spoke: something was asked here; and since
            when.
    """

    tenant: Tenant
    erasure_id: Identifier
    chat_id: Identifier
    private: bool
    agents: tuple[Identifier, ...] = ()
    others: tuple[Identifier, ...] = ()
    since: Instant
    present_seq: int | None = None
    first_seq: int | None = None
    told: dict[str, Instant] = Field(default_factory=dict)

    @staticmethod
    def key_of(tenant: str, erasure_id: str, chat_id: str) -> Key:
        """Return the key of an erasure's note on a chat."""
        erasure = Erasure.key_of(tenant, erasure_id)
        return Key(erasure.pk, f"{erasure.sk}#CHAT#{key_part(chat_id)}")

    @property
    def key(self) -> Key:
        """The key of this note."""
        return self.key_of(self.tenant, self.erasure_id, self.chat_id)

    def to_item(self) -> Item:
        """Return the note as table attributes."""
        return self.attributes()
