"""Reflections of agents as the HTTP API shows them."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Resource
from skein.models.common.base import Instant
from skein.models.memory.reflection import ReflectionRecord
from skein.models.runs.completion import TokenUsage


class ReflectionResource(Resource):
    """One question about journal entries that were about to fade."""

    id: str
    considered: Annotated[
        tuple[str, ...], Field(description="Ids of the journal entries in question.")
    ]
    promoted: Annotated[
        tuple[str, ...], Field(description="Ids of the core memories that were made of some.")
    ]
    usage: TokenUsage
    failure: Annotated[str | None, Field(description="Why nothing came of it.")]
    at: Instant

    @classmethod
    def of(cls, record: ReflectionRecord) -> Self:
        """The resource of a record."""
        return cls.model_validate(record, from_attributes=True)


class ReflectionPage(Resource):
    """Some of an agent's reflections."""

    items: tuple[ReflectionResource, ...]
    next_cursor: str | None
