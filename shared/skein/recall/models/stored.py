"""The items of the index of recall: passages in chats' partitions, and postings of rare words.

The passages of a message and the postings of its words change in one transaction. So the list of
postings in the message's first passage is always complete.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from skein.models.chats.chat import chat_partition
from skein.models.common.base import Identifier, MemberRef, Stored, Tenant, key_part
from skein.models.common.embedding import Vector
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.visibility.ownership import is_shared_partition, owned_partition
from skein.models.visibility.provenance import MadeFrom

MAX_REFS = 64  # references of a posting; a stem in more messages is not distinctive
MEMORY = 99  # the part number in the key of a memory's passage, which sorts after the message's
DIGITS = 4  # decimal places of a vector's components; more would take more bytes
AGENT = "agt_"  # prefix of agent ids
TEAM = "team:"  # prefix for a person of the team, who may also be a person in chats


def author_of(sender: MemberRef) -> str:
    """Return the author of a passage: the sender's id, with a mark for a person of the team."""
    return f"{TEAM}{sender.id}" if sender.kind == "team" else sender.id


def person_of_author(author: str) -> str | None:
    """Return the id of the person who wrote a passage; None for an agent and the team."""
    return None if author.startswith((AGENT, TEAM)) else author


class RecallPassage(Stored):
    """A passage of a message in the index of one agent, as stored in the chat's partition.

    Attributes:
        agent_id: The agent, which was present for the message.
        seq: The number of the message.
        part: The position of the passage in the message, from 0.
        parts: The number of passages of the message; at most 12 are indexed.
        scope: The chat's scope when the message was indexed; see `owned_partition`.
        version: The optimistic lock.
        recall_scope: The partition of the vector index; see `recall_partition`. A message that
            sharing rules may show has a copy of each passage in each partition for such messages.
        recall_model: The name of the model that made the embedding.
        recall_author: The sender; see `author_of`.
        recall_month: The month of the message (UTC), such as `2026-02`.
        vector: The embedding, a unit vector; empty if the item was read without it.
        weight: How much the passage counts in the mean of several vectors; see `Embedding`.
        name: The name of the sender at the time of indexing.
        stems: The stems of the passage's words and its numbers, in order.
        posted: The rare stems of the message. Each has a posting that may refer to the message.
            Only the first passage lists them.
        characters: The length of the message.
        created_at: When the message was posted, in whole seconds since 1970.
        expires_at: When the message expires, in seconds since 1970; None if never.
        memory_id: The memory, if the passage is of a memory that sharing rules may show. Such a
            passage is stored next to the passages of the memory's last source message.
        sources: For a passage of a memory, the number and the time of each source message.
    """

    PREFIX: ClassVar = SortKeyPrefix("RECALL#")

    tenant: Tenant
    chat_id: Identifier
    agent_id: Identifier
    seq: int
    part: int = 0
    parts: int = 1
    scope: str | None = None
    version: int = 1
    recall_scope: str
    recall_model: str
    recall_author: Identifier
    recall_month: str
    vector: Vector = ()
    weight: float
    name: str
    stems: tuple[str, ...]
    posted: tuple[str, ...] = ()
    characters: int
    created_at: int
    expires_at: int | None = None
    memory_id: Identifier | None = None
    sources: Annotated[
        tuple[tuple[int, int], ...], Field(exclude_if=lambda sources: not sources)
    ] = ()

    @staticmethod
    def key_of(
        tenant: str, chat_id: str, agent_id: str, seq: int, part: int = 0, *, copied_to: str = ""
    ) -> "Key[RecallPassage]":
        """Return the key of a passage.

        Args:
            copied_to: For a copy that a sharing rule may show: the copy's partition of the vector
                index. If the passage is of a memory, the memory's ID follows.
        """
        prefix = RecallPassage.prefix_of(agent_id)
        copy = f"#{hashlib.sha256(copied_to.encode()).hexdigest()[:16]}" if copied_to else ""
        return Key(chat_partition(tenant, chat_id), f"{prefix}{seq:012d}#{part:02d}{copy}")

    @staticmethod
    def prefix_of(agent_id: str) -> SortKeyPrefix:
        """Return the prefix of an agent's passages in a chat, which sort in message order."""
        return SortKeyPrefix(f"{RecallPassage.PREFIX}{key_part(agent_id)}#")

    @property
    def key(self) -> "Key[RecallPassage]":
        copied_to = f"{self.recall_scope}{self.memory_id or ''}" if self.by_rule else ""
        part = MEMORY if self.memory_id is not None else self.part
        return self.key_of(
            self.tenant, self.chat_id, self.agent_id, self.seq, part, copied_to=copied_to
        )

    @property
    def by_rule(self) -> bool:
        """Whether this is a copy that a sharing rule may show to other people."""
        return is_shared_partition(self.recall_scope)

    def copied_to(self, partition: str) -> "RecallPassage":
        """Return a copy of the passage for a partition of words that sharing rules may show."""
        return self.model_copy(update={"recall_scope": partition, "posted": ()})

    @property
    def made_from(self) -> MadeFrom:
        """The messages that the passage and its vector were made from."""
        author = person_of_author(self.recall_author)
        seqs = [seq for seq, _ in self.sources] or [self.seq]
        return MadeFrom.each(self.chat_id, seqs, [author])

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Build a passage from a table item, which may lack the vector."""
        split = {name: tuple(item.get(name, "").split()) for name in ("stems", "posted")}
        return super().from_item(item | split)

    def to_item(self) -> Item:
        """Return the passage as table attributes, with the stems joined into one text."""
        item = self.model_dump(mode="json", exclude_none=True, exclude={"vector"})
        vector = [round(component, DIGITS) for component in self.vector]
        joined = {"stems": " ".join(self.stems), "posted": " ".join(self.posted)}
        return item | joined | {"vector": vector, "weight": round(self.weight, DIGITS)}


def recall_partition(
    tenant: str, agent_id: str, scope: str | None, *, since: int, answers: bool
) -> str:
    """Return the partition of the vector index for an agent's passages in one scope.

    Args:
        since: For a private group, the number of a message: all current members were present for
            this message and for all later ones. Earlier messages have other partitions, because a
            search returns a fixed number of passages, and hidden ones would take the places of
            visible ones.
        answers: Whether the passages belong to long messages of agents. These have a separate
            partition, because they would otherwise crowd out the other results.
    """
    joined = f"#SINCE{since}" if since > 1 else ""
    return f"{owned_partition(tenant, agent_id, scope)}{joined}{'#ANSWERS' if answers else ''}"


@dataclass(frozen=True, slots=True)
class PostingRef:
    """A message with a distinctive stem.

    Attributes:
        created_at: When the message was posted, in whole seconds since 1970.
        expires_at: When the message expires, in seconds since 1970; None if never.
    """

    chat_id: str
    seq: int
    created_at: int
    expires_at: int | None = None


class Posting(Stored):
    """For an agent and a scope, the newest messages that contain one distinctive word stem.

    The postings of an agent in a scope have a partition of their own, so that queries for other
    items do not read them.

    Attributes:
        refs: The newest messages with the stem, newest first; at most `MAX_REFS`.
        common: Whether more messages than `MAX_REFS` have the stem. A common posting has no
            references, and further messages do not change it. When a message with the stem leaves
            the index, the posting is no longer common, and begins a new list of references. In the
            scope of a private chat, postings are never common, because this could reveal earlier
            messages to people who joined later.
        version: The optimistic lock.
        expires_at: When the last of the messages expires, in seconds since 1970; None if one of
            them never expires.
    """

    PREFIX: ClassVar = SortKeyPrefix("WORD#")

    tenant: Tenant
    agent_id: Identifier
    scope: str | None = None
    stem: str
    refs: Annotated[tuple[PostingRef, ...], Field(max_length=MAX_REFS)] = ()
    common: bool = False
    version: int = 1
    expires_at: int | None = None

    @staticmethod
    def partition_of(tenant: str, agent_id: str, scope: str | None) -> str:
        """Return the partition key of an agent's postings in a scope."""
        return f"{owned_partition(tenant, agent_id, scope)}#WORDS"

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, stem: str) -> "Key[Posting]":
        pk = Posting.partition_of(tenant, agent_id, scope)
        return Key(pk, f"{Posting.PREFIX}{key_part(stem)}")

    @property
    def key(self) -> "Key[Posting]":
        return self.key_of(self.tenant, self.agent_id, self.scope, self.stem)

    @classmethod
    def from_item(cls, item: Item) -> Self:
        return super().from_item(item | {"refs": _refs(json.loads(item["refs"]))})

    def to_item(self) -> Item:
        """Return the posting as table attributes, with the references as one JSON text."""
        chats: dict[str, list[list[int]]] = {}
        for ref in self.refs:
            numbers = [ref.seq, ref.created_at, ref.expires_at]
            row = [number for number in numbers if number is not None]
            chats.setdefault(ref.chat_id, []).append(row)
        refs = json.dumps(chats, ensure_ascii=False, separators=(",", ":"))
        item = self.model_dump(mode="json", exclude_none=True, exclude={"refs"})
        return item | {"refs": refs}


def _refs(chats: Mapping[str, list[list[Any]]]) -> tuple[PostingRef, ...]:
    refs = [PostingRef(chat_id, *row) for chat_id, rows in chats.items() for row in rows]
    return tuple(newest_first(refs))


def newest_first(refs: Iterable[PostingRef]) -> list[PostingRef]:
    """Return references in order, newest message first."""
    return sorted(refs, key=lambda ref: (ref.created_at, ref.chat_id, ref.seq), reverse=True)
