"""A block: eight consecutive messages of a chat, as recall compares them with a query."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skein.models.common.embedding import Embedding, Vector, length, unit

BLOCK_MESSAGES = 8
NEAR, WIDE = 1, 3  # messages on each side of a message that belong to its windows
DIGITS = 5  # of a stored component of a vector or factor
STEPS = 127  # a component of a vector is stored as a whole number from -127 to 127


@dataclass(frozen=True, slots=True)
class BlockLine:
    """One message of a block.

    Attributes:
        stems: The stems of its words and its numbers, in order.
        steps: Its embedding, one signed byte for each component.
        scale: The factor from `steps` to the weighted vector.
        near: The length of the sum of the weighted vectors of the messages within `NEAR`.
        wide: The same for `WIDE`.
        created_at: When the message was posted, in whole seconds since 1970.
        characters: The length of its text.
        posted: The distinctive ones of `stems`: each has a posting that may refer to the message.
        expires_at: When the message expires, in seconds since 1970; None if never.
    """

    seq: int
    sender_id: str
    stems: tuple[str, ...]
    steps: bytes
    scale: float
    near: float
    wide: float
    created_at: int = 0
    characters: int = 0
    posted: tuple[str, ...] = ()
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The messages `number * 8` to `number * 8 + 7` of a chat, as far as they have been indexed.

    Attributes:
        number: The position of the block in the chat, from 0.
        model: The name of the embeddings' model; vectors of two models are not comparable.
        vector: The unit vector of all messages together.
        lines: The messages in order.
    """

    chat_id: str
    number: int
    model: str
    vector: Vector
    lines: tuple[BlockLine, ...]


def block_number(seq: int) -> int:
    """Return the number of the block that holds a message."""
    return seq // BLOCK_MESSAGES


@dataclass(frozen=True, slots=True)
class IndexedText:
    """What a block keeps of one message.

    Attributes:
        stems: See `BlockLine`.
        created_at: See `BlockLine`.
        characters: See `BlockLine`.
        posted: See `BlockLine`.
        expires_at: See `BlockLine`.
    """

    seq: int
    sender_id: str
    stems: tuple[str, ...]
    embedding: Embedding
    created_at: int = 0
    characters: int = 0
    posted: tuple[str, ...] = ()
    expires_at: int | None = None


def line_of(text: IndexedText) -> BlockLine:
    """Build the line of one message; `assembled` sets the lengths of its windows."""
    steps, scale = _rounded(text.embedding)
    return BlockLine(
        seq=text.seq,
        sender_id=text.sender_id,
        stems=text.stems,
        steps=bytes(step % 256 for step in steps),
        scale=scale,
        near=0.0,
        wide=0.0,
        created_at=text.created_at,
        characters=text.characters,
        posted=text.posted,
        expires_at=text.expires_at,
    )


def block_of(chat_id: str, number: int, model: str, texts: Sequence[IndexedText]) -> Block:
    """Build a block from the messages of its range; windows do not cross its ends."""
    return assembled(chat_id, number, model, [line_of(text) for text in texts])


def assembled(chat_id: str, number: int, model: str, lines: Sequence[BlockLine]) -> Block:
    """Build a block from its lines, which need no embedding then.

    The vector of the block and the lengths of the windows follow from the lines.
    """
    vectors = [[line.scale * step for step in memoryview(line.steps).cast("b")] for line in lines]
    windowed = tuple(
        replace(
            line,
            near=length(_sum(_window(vectors, position, NEAR))),
            wide=length(_sum(_window(vectors, position, WIDE))),
        )
        for position, line in enumerate(lines)
    )
    return Block(chat_id, number, model, unit(_sum(vectors)), windowed)


def short(value: float) -> float:
    """Round a number to the digits that are stored of it.

    Lines are rounded when they are made, so a line that was stored has the same windows.
    """
    return float(f"{value:.{DIGITS}g}")


def _rounded(embedding: Embedding) -> tuple[list[int], float]:
    """Return an embedding's components as whole numbers, and the factor back to its weight."""
    largest = max(map(abs, embedding.vector), default=0.0)
    if not largest:
        return [0] * len(embedding.vector), 0.0
    steps = [round(value / largest * STEPS) for value in embedding.vector]
    return steps, short(largest / STEPS * embedding.weight)


def _window(vectors: Sequence[Sequence[float]], position: int, reach: int) -> list[Sequence[float]]:
    return list(vectors[max(0, position - reach) : position + reach + 1])


def _sum(vectors: Sequence[Sequence[float]]) -> list[float]:
    return [sum(values) for values in zip(*vectors, strict=True)]
