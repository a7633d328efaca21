"""Vector search: the nearest passages of one scope."""

from dataclasses import dataclass

from skein.models.common.embedding import Vector

DIMENSIONS = 256  # of every vector in the index
MAX_NEAREST = 100
DISTANCE = "distance"  # the attribute of a found passage: 0 for the same direction, up to 2
# The attributes of a passage that a search returns: all but the vector.
PASSAGE_ATTRIBUTES = (
    "pk",
    "sk",
    "tenant",
    "chat_id",
    "agent_id",
    "seq",
    "part",
    "parts",
    "scope",
    "version",
    "recall_scope",
    "recall_model",
    "recall_author",
    "recall_month",
    "weight",
    "name",
    "stems",
    "posted",
    "characters",
    "created_at",
    "expires_at",
    "memory_id",
    "sources",
)


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """A search for the passages whose vectors are nearest to a query's vector.

    Attributes:
        partition: The partition that holds an agent's passages in one scope (`recall_partition`).
        model: The name of the embedding model; passages of other models are not found.
        vector: The vector of the query. It need not be a unit vector.
        limit: The maximum number of passages, at most `MAX_NEAREST`.
        author: The id of the author whose messages to find; None for all authors.
        month: The month (UTC) from which to find messages, such as `2026-02`; None for all months.
    """

    partition: str
    model: str
    vector: Vector
    limit: int = MAX_NEAREST
    author: str | None = None
    month: str | None = None
