"""Resources of the HTTP API: consolidations, which make memories from a chat's messages."""

from typing import Annotated, Self

from pydantic import Field

from skein.memory.models.records import ConsolidationRecord
from skein.models.api.base import Id, IdOfAgent, IdOfChat, Page, Resource
from skein.models.common.base import Instant
from skein.models.runs.completion import TokenUsage


class RequestedResource(Resource):
    """A requested consolidation."""

    chat_id: IdOfChat
    to_seq: Annotated[int, Field(description="The newest message that the consolidation covers.")]
    agents: Annotated[int, Field(description="Number of agents that have messages to consolidate.")]


class ConsolidationResource(Resource):
    """The consolidation of one chunk of a chat by one agent."""

    id: Id
    agent_id: IdOfAgent
    from_seq: Annotated[int, Field(description="The `seq` of the first message.")]
    to_seq: Annotated[int, Field(description="The `seq` of the last message.")]
    messages: Annotated[int, Field(description="Number of messages.")]
    core: Annotated[int, Field(description="Number of new core memories.")]
    journal: Annotated[int, Field(description="Number of new journal entries.")]
    superseded: Annotated[
        int, Field(description="Number of older memories that the new ones replaced.")
    ]
    removed: Annotated[int, Field(description="Number of memories that were removed as wrong.")]
    doubles: Annotated[int, Field(description="Number of duplicates of existing memories.")]
    profile: Annotated[int, Field(description="Number of fields set in the person's profile.")]
    usage: Annotated[TokenUsage, Field(description="The tokens that were used.")]
    passed_over: Annotated[
        bool,
        Field(description="True if nobody who was present is still a member; no model was called."),
    ]
    failure: Annotated[
        str | None, Field(description="Why the consolidation failed; null if it succeeded.")
    ]
    at: Annotated[Instant, Field(description="When the consolidation ended.")]

    @classmethod
    def of(cls, record: ConsolidationRecord) -> Self:
        values = dict(record) | dict(record.kept)
        return cls(**{name: values[name] for name in cls.model_fields})


class ConsolidationPage(Page[ConsolidationResource]):
    """A page of a chat's consolidations, newest first."""
