"""The consolidation of chats as the HTTP API shows it."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Resource
from skein.models.common.base import Instant
from skein.models.memory.consolidation import ConsolidationRecord
from skein.models.runs.completion import TokenUsage


class RequestedResource(Resource):
    """What is going to be remembered."""

    chat_id: str
    to_seq: Annotated[int, Field(description="The newest message that is taken in.")]
    agents: Annotated[int, Field(description="How many agents have something to remember there.")]


class ConsolidationResource(Resource):
    """What one chunk of a chat gave one agent."""

    id: str
    agent_id: str
    from_seq: int
    to_seq: int
    messages: int
    core: Annotated[int, Field(description="Core memories that were made.")]
    journal: Annotated[int, Field(description="Journal entries that were made.")]
    superseded: Annotated[int, Field(description="Older memories that gave way to them.")]
    doubles: Annotated[int, Field(description="What the agent remembered already.")]
    usage: TokenUsage
    passed_over: Annotated[
        bool, Field(description="Nobody who was there for it is still there; no model was asked.")
    ]
    failure: Annotated[str | None, Field(description="Why nothing came of it.")]
    at: Instant

    @classmethod
    def of(cls, record: ConsolidationRecord) -> Self:
        """The resource of a record."""
        values = dict(record) | dict(record.kept)
        return cls(**{name: values[name] for name in cls.model_fields})


class ConsolidationPage(Resource):
    """Some of a chat's consolidations."""

    items: tuple[ConsolidationResource, ...]
    next_cursor: str | None
