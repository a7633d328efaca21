"""Erasures of people and of single messages: their progress and their working records."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from skein.models.common.address import Address
from skein.models.common.base import (
    Identifier,
    Instant,
    MemberRef,
    Stored,
    Tenant,
    Value,
    key_part,
)
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.outbox.due import NOT_DUE, LeasedItem, due_pointer

ErasureStage = Literal[
    "find", "close", "quotes", "chats", "kept", "runs", "rest", "resting", "done"
]
NamedTexts = Literal["keep", "replace", "remove"]
"""What the operator decides about texts of others that have the person's full name."""

FIRST_STAGE: ErasureStage = "find"
ERASURE = SortKeyPrefix("ERASURE#")
BACKUP_DAYS = 35  # the maximum period of DynamoDB's point-in-time recovery
# After this time, eventually consistent reads no longer return erased text. Usually, this takes one
# second.
REPLICATION = timedelta(seconds=10)


class DeletedMessage(Value):
    """A message that a person has deleted.

    Attributes:
        posted_at: When the message was posted.
        run_id: If the message is an agent's question whether to post words, the run that asked it.
        forgotten: Whether the person has asked to forget the message. In that case, items made from
            it are deleted, too.
    """

    chat_id: Identifier
    seq: int
    posted_at: Instant
    run_id: Annotated[Identifier | None, Field(exclude_if=lambda run_id: run_id is None)] = None
    forgotten: Annotated[bool, Field(exclude_if=lambda forgotten: not forgotten)] = False


class SweepCount(Value):
    """The counts of one sweep by kind of item, and when the sweep ended."""

    counts: dict[str, int] = Field(default_factory=dict)
    ended_at: Instant | None = None


class ErasureChanges(TypedDict, total=False):
    """The fields of an erasure that its worker changes."""

    fence: int
    busy_until: Instant | None
    stage: ErasureStage
    after: str | None
    sweeps: tuple[SweepCount, ...]
    canceled: int
    sweep_again_at: Instant | None
    finished_at: Instant | None


class Erasure(LeasedItem):
    """The erasure of a person, and later its report; or the erasure of a deleted message.

    It has ids and numbers, but no other data of the person. The erasure of a message is deleted
    when it is done.

    Attributes:
        id: `era_<ulid>`.
        requested_by: The `sub` of the operator's token. For a message, the id of the person who
            deleted it.
        message: The deleted message; None for the erasure of a person.
        named_texts: What happens to other people's texts that contain the person's full name.
        stage: The current stage; `resting` between two sweeps.
        after: The cursor of the stage.
        sweeps: The counts of each sweep that has begun.
        canceled: The number of runs canceled and memberships closed by the current sweep. If this
            is not 0, another sweep follows.
    """

    tenant: Tenant
    id: Identifier
    user_id: Identifier
    requested_by: Identifier
    requested_at: Instant
    message: Annotated[DeletedMessage | None, Field(exclude_if=lambda message: message is None)] = (
        None
    )
    named_texts: NamedTexts = "keep"
    stage: ErasureStage = FIRST_STAGE
    after: str | None = None
    sweeps: tuple[SweepCount, ...] = (SweepCount(),)
    canceled: int = 0
    sweep_again_at: Instant | None = None
    finished_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, erasure_id: str) -> "Key[Erasure]":
        return Key(erasures_partition(tenant), f"{ERASURE}{key_part(erasure_id)}")

    @staticmethod
    def sort_key_in(sk: str) -> str:
        """Return the sort key of an erasure from the sort key of one of its items.

        Args:
            sk: The sort key of an erasure, or of one of its working records.
        """
        return "#".join(sk.split("#")[:2])

    @property
    def key(self) -> "Key[Erasure]":
        return self.key_of(self.tenant, self.id)

    @property
    def swept_at(self) -> datetime | None:
        """The time after which new items cannot contain erased data; None if not known yet.

        By then, the first sweep has ended and all replicas of the table have its writes.
        """
        ended_at = self.sweeps[0].ended_at
        return ended_at + REPLICATION if ended_at is not None else None

    def due(self, at: datetime | None) -> dict[str, Any]:
        """Return the attributes that list this item as due at `at`; if None, as not due."""
        return dict(NOT_DUE) if at is None else due_pointer("erasure", self.key, at)

    def to_item(self, due_at: datetime | None) -> Item:
        return self.attributes() | self.due(due_at)


class Subject(Stored):
    """The ids, names and addresses of the person to erase; deleted when the erasure is done.

    Attributes:
        ids: The person's id and former ids.
        names: The person's names in all their chats.
        addresses: The person's current and former addresses.
    """

    tenant: Tenant
    erasure_id: Identifier
    ids: tuple[Identifier, ...]
    names: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()

    @staticmethod
    def key_of(tenant: str, erasure_id: str) -> "Key[Subject]":
        erasure = Erasure.key_of(tenant, erasure_id)
        return Key(erasure.pk, f"{erasure.sk}#SUBJECT")

    @property
    def key(self) -> "Key[Subject]":
        return self.key_of(self.tenant, self.erasure_id)

    @property
    def refs(self) -> tuple[MemberRef, ...]:
        """The person's ids as member references."""
        return tuple(MemberRef(kind="user", id=user_id) for user_id in self.ids)

    def to_item(self) -> Item:
        return self.attributes()


class ErasedChat(Stored):
    """An erasure's note on one of the person's chats.

    The erasure needs the note after the person is removed from the chat. The note is deleted when
    the erasure is done.

    Attributes:
        private: Whether the chat is private. If so, its agents can own items in the chat's scope.
        agents: All agents that are or were members.
        others: All other people who are or were members.
        since: The time from which messages may mention the person.
        first_seq: The first message that the person wrote.
        shown_in: For each other chat that has messages whose origin is in this chat, the time of
            the first such message, by chat id.
    """

    tenant: Tenant
    erasure_id: Identifier
    chat_id: Identifier
    private: bool
    agents: tuple[Identifier, ...] = ()
    others: tuple[Identifier, ...] = ()
    since: Instant
    first_seq: int | None = None
    shown_in: dict[str, Instant] = Field(default_factory=dict)

    @staticmethod
    def key_of(tenant: str, erasure_id: str, chat_id: str) -> "Key[ErasedChat]":
        erasure = Erasure.key_of(tenant, erasure_id)
        return Key(erasure.pk, f"{erasure.sk}#CHAT#{key_part(chat_id)}")

    @property
    def key(self) -> "Key[ErasedChat]":
        return self.key_of(self.tenant, self.erasure_id, self.chat_id)

    def to_item(self) -> Item:
        return self.attributes()


class Quotes(Stored):
    """Hashes of what the person wrote in a part of a chat; see `quotes_in`.

    Later sweeps still need the hashes, because the messages have lost their words by then. The
    record is deleted when the erasure is done.

    Attributes:
        first_seq: The `seq` of the first of these messages.
        hashes: 16 hexadecimal digits for each hash, without separators.
    """

    tenant: Tenant
    erasure_id: Identifier
    chat_id: Identifier
    first_seq: int
    hashes: str

    @classmethod
    def of(cls, erasure: Erasure, chat_id: str, first_seq: int, hashes: Iterable[int]) -> "Quotes":
        return cls(
            tenant=erasure.tenant,
            erasure_id=erasure.id,
            chat_id=chat_id,
            first_seq=first_seq,
            hashes="".join(f"{each:016x}" for each in hashes),
        )

    @staticmethod
    def prefix_of(tenant: str, erasure_id: str) -> Key:
        """Return the partition key and the sort key prefix of an erasure's records of quotes."""
        erasure = Erasure.key_of(tenant, erasure_id)
        return Key(erasure.pk, f"{erasure.sk}#QUOTES#")

    @property
    def key(self) -> "Key[Quotes]":
        prefix = self.prefix_of(self.tenant, self.erasure_id)
        return Key(prefix.pk, f"{prefix.sk}{key_part(self.chat_id)}#{self.first_seq:012d}")

    @property
    def word_hashes(self) -> set[int]:
        """The hashes as 64-bit numbers."""
        return {int(self.hashes[at : at + 16], 16) for at in range(0, len(self.hashes), 16)}

    def to_item(self) -> Item:
        return self.attributes()


def erasures_partition(tenant: str) -> str:
    """Return the partition of a tenant's erasures and their working records."""
    return f"{key_part(tenant)}#ERASURES"
