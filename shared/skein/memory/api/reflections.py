"""Resources of the HTTP API: reflections, in which agents choose fading journal entries to keep."""

from typing import Annotated

from pydantic import Field

from skein.models.api.base import Id, Page, Resource
from skein.models.common.base import Instant
from skein.models.runs.completion import TokenUsage


class ReflectionResource(Resource):
    """One decision of an agent about journal entries that were about to fade."""

    id: Id
    considered: Annotated[
        tuple[str, ...], Field(description="Ids of the journal entries that the agent considered.")
    ]
    promoted: Annotated[
        tuple[str, ...],
        Field(description="Ids of the core memories that the agent made from them."),
    ]
    usage: Annotated[TokenUsage, Field(description="The tokens that were used.")]
    failure: Annotated[
        str | None, Field(description="Why the reflection failed; null if it succeeded.")
    ]
    at: Annotated[Instant, Field(description="When the agent decided.")]


class ReflectionPage(Page[ReflectionResource]):
    """A page of an agent's reflections, oldest first."""
