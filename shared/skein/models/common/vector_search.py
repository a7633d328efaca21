"""Vector search: the nearest blocks of one scope."""

from dataclasses import dataclass

from skein.models.common.embedding import Vector

DIMENSIONS = 256  # of every vector in the index
MAX_NEAREST = 100
# The attributes of a block that a search returns: all but the vector.
BLOCK_ATTRIBUTES = (
    "pk",
    "sk",
    "tenant",
    "chat_id",
    "agent_id",
    "number",
    "scope",
    "version",
    "recall_scope",
    "recall_model",
    "first_at",
    "last_at",
    "names",
    "lines",
    "steps",
    "expires_at",
)


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """A search for the blocks whose vectors are nearest to a query's vector.

    Attributes:
        partition: The partition of the agent's items in one scope (`owned_partition`).
        model: The name of the embeddings' model; blocks of other models are not found.
        vector: The vector of the query; its length does not matter.
        limit: The maximum number of blocks, at most `MAX_NEAREST`.
        first_at: The time from which a block's messages count, in seconds since 1970; None for all.
            A block is found if one of its messages may lie between `first_at` and `last_at`.
        last_at: The time until which a block's messages count, inclusive; None for all.
    """

    partition: str
    model: str
    vector: Vector
    limit: int = MAX_NEAREST
    first_at: float | None = None
    last_at: float | None = None
