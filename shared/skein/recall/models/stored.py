"""The items of the index of recall: blocks in chats' partitions, and postings of rare words.

A block and the postings of its lines change in one transaction. So the lines say which postings may
refer to them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from skein.models.chats.chat import chat_partition
from skein.models.common.base import Identifier, Stored, Tenant, key_part
from skein.models.common.embedding import Vector
from skein.models.common.ownership import owned_partition
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.recall.models.block import DIGITS, Block, BlockLine, short

MAX_REFS = 64  # of a posting; a stem of more messages says little


class RecallBlock(Stored):
    """A block of one agent, as stored in the chat's partition.

    Attributes:
        agent_id: The agent. It was present for each message of the block.
        number: The position of the block in the chat; see `block_number`.
        scope: The chat's scope when the block was indexed; see `owned_partition`.
        version: The optimistic lock.
        recall_scope: The partition of the agent's items in `scope`; the vector index is searched
            by it.
        recall_model: The name of the embeddings' model.
        vector: The unit vector of all messages together; empty if the item was read without it.
        first_at: When the first message was posted, in whole seconds since 1970.
        last_at: When the last message was posted, in whole seconds since 1970.
        names: The name of each sender at the time of indexing, by id.
        lines: The messages in order.
        expires_at: When the last message expires, in seconds since 1970; None if one never does.
    """

    PREFIX: ClassVar = SortKeyPrefix("RECALL#")

    tenant: Tenant
    chat_id: Identifier
    agent_id: Identifier
    number: int
    scope: str | None = None
    version: int = 1
    recall_scope: str
    recall_model: str
    vector: Vector = ()
    first_at: int
    last_at: int
    names: dict[str, str] = Field(default_factory=dict)
    lines: tuple[BlockLine, ...]
    expires_at: int | None = None

    @staticmethod
    def key_of(tenant: str, chat_id: str, agent_id: str, number: int) -> Key:
        """Return the key of a block."""
        prefix = RecallBlock.prefix_of(agent_id)
        return Key(chat_partition(tenant, chat_id), f"{prefix}{number:09d}")

    @staticmethod
    def prefix_of(agent_id: str) -> SortKeyPrefix:
        """Return the prefix of an agent's blocks in a chat; their order is that of the messages."""
        return SortKeyPrefix(f"{RecallBlock.PREFIX}{key_part(agent_id)}#")

    @property
    def key(self) -> Key:
        """The key of this block."""
        return self.key_of(self.tenant, self.chat_id, self.agent_id, self.number)

    @property
    def block(self) -> Block:
        """The block as it is ranked."""
        return Block(self.chat_id, self.number, self.recall_model, self.vector, self.lines)

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Build a block from a table item, which may lack the vector."""
        return super().from_item(item | {"lines": _unpacked(item["lines"], item["steps"])})

    def to_item(self) -> Item:
        """Return the block as table attributes; the steps of all lines are one attribute."""
        item = self.model_dump(mode="json", exclude_none=True, exclude={"lines", "vector"})
        steps = b"".join(line.steps for line in self.lines)
        vector = [round(component, DIGITS) for component in self.vector]
        return item | {"vector": vector, "lines": _packed(self.lines), "steps": steps}


def _packed(lines: Iterable[BlockLine]) -> str:
    """Return the lines without their steps as one text, which is fast to read."""
    rows = [
        [
            line.seq,
            line.sender_id,
            " ".join(line.stems),
            short(line.scale),
            short(line.near),
            short(line.wide),
            line.created_at,
            line.characters,
            " ".join(line.posted),
            line.expires_at,
        ]
        for line in lines
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def _unpacked(packed: str, steps: bytes) -> tuple[BlockLine, ...]:
    rows = json.loads(packed)
    size = len(steps) // len(rows) if rows else 0
    return tuple(
        BlockLine(
            seq,
            sender_id,
            tuple(stems.split()),
            steps[position * size : (position + 1) * size],
            scale,
            near,
            wide,
            created_at,
            characters,
            tuple(posted.split()),
            expires_at,
        )
        for position, (
            seq,
            sender_id,
            stems,
            scale,
            near,
            wide,
            created_at,
            characters,
            posted,
            expires_at,
        ) in enumerate(rows)
    )


@dataclass(frozen=True, slots=True)
class PostingRef:
    """A message with a distinctive stem.

    Attributes:
        created_at: When it was posted, in whole seconds since 1970.
        expires_at: When it expires, in seconds since 1970; None if never.
    """

    chat_id: str
    seq: int
    created_at: int
    expires_at: int | None = None


class Posting(Stored):
    """The newest messages with one distinctive stem, of an agent in one scope.

    The postings of a scope have a partition of their own, so no other query reads them.

    Attributes:
        stem: The stem.
        refs: The newest messages with the stem, newest first; at most `MAX_REFS`.
        common: Whether more messages than `MAX_REFS` have the stem. Such a posting has no
            references, and further messages do not change it. It starts over when a message with
            the stem leaves the index. In the scope of a private chat no posting is common, because
            people who joined later could tell from it what was said before.
        version: The optimistic lock.
        expires_at: When the last message expires, in seconds since 1970; None if one never does.
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
        """Return the key of the partition of all postings of an agent in a scope."""
        return f"{owned_partition(tenant, agent_id, scope)}#WORDS"

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, stem: str) -> Key:
        """Return the key of a stem's posting."""
        pk = Posting.partition_of(tenant, agent_id, scope)
        return Key(pk, f"{Posting.PREFIX}{key_part(stem)}")

    @property
    def key(self) -> Key:
        """The key of this posting."""
        return self.key_of(self.tenant, self.agent_id, self.scope, self.stem)

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Build a posting from a table item."""
        return super().from_item(item | {"refs": _refs(json.loads(item["refs"]))})

    def to_item(self) -> Item:
        """Return the posting as table attributes; the references are one text."""
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
    """Return references in order, the newest message first."""
    return sorted(refs, key=lambda ref: (ref.created_at, ref.chat_id, ref.seq), reverse=True)
