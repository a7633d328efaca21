"""Resources of the HTTP API: reflections of agents."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Resource
from skein.models.common.base import Instant
from skein.models.memory.reflection import ReflectionRecord
from skein.models.runs.completion import TokenUsage


class ReflectionResource(Resource):
    """One decision about journal entries that were about to fade."""

    id: str
    considered: Annotated[
        tuple[str, ...], Field(description="Ids of the journal entries that the agent considered.")
    ]
    promoted: Annotated[
        tuple[str, ...],
        Field(description="Ids of the core memories that the agent made from them."),
    ]
    usage: TokenUsage
    failure: Annotated[
        str | None, Field(description="Why the reflection failed; null if it succeeded.")
    ]
    at: Instant

    @classmethod
    def of(cls, record: ReflectionRecord) -> Self:
        """Build the resource of a record."""
        return cls.model_validate(record, from_attributes=True)


class ReflectionPage(Resource):
    """A page of an agent's reflections, oldest first."""

    items: tuple[ReflectionResource, ...]
    next_cursor: str | None
