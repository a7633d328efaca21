"""Requests and resources of the HTTP API: memories of agents."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from skein.memory.models.memory import MadeBy, Memory, MemoryFields, MemoryText
from skein.models.api.base import CreatedAt, Id, Page, Request, Resource
from skein.models.common.base import Instant
from skein.models.common.json_types import JsonBool


class NewMemory(MemoryFields, Request):
    """A new open memory, which the agent may disclose to everyone in the tenant."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"kind": "core", "text": "Ann trains for a race in May."}}
    )


class MemoryReplacement(Request):
    """The words that replace those of a memory."""

    text: MemoryText


class MemoryChange(Request):
    """The changes to a memory."""

    confirmed: Annotated[
        JsonBool | None,
        Field(description="Whether only operators may change it; always for operators' own."),
    ] = None
    public: Annotated[
        JsonBool | None,
        Field(
            description="Whether visitors of web pages may be shown it, too; open memories only."
        ),
    ] = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.confirmed is None and self.public is None:
            raise ValueError("confirmed or public must be given")
        return self


class MemorySource(Resource):
    """The origin of a memory. All fields are null if an operator made the memory."""

    chat_id: Annotated[str | None, Field(description="The id of a chat.")]
    from_seq: Annotated[
        int | None, Field(description="The first message that the memory was made from.")
    ]
    to_seq: Annotated[
        int | None, Field(description="The last message that the memory was made from.")
    ]
    run_id: Annotated[str | None, Field(description="The run that made the memory with a tool.")]


class MemoryResource(MemoryFields, Resource):
    """An active or former memory of an agent."""

    id: Id
    created_at: CreatedAt
    expires_at: Annotated[
        Instant | None,
        Field(
            description="When a journal entry fades. After this, even a restored entry is hidden."
        ),
    ]
    source: Annotated[MemorySource, Field(description="Where it comes from.")]
    made_by: Annotated[MadeBy, Field(description="What made the memory.")]
    superseded_by: Annotated[
        str | None, Field(description="The memory that replaced it; null after a restore.")
    ]
    promoted_from: Annotated[
        str | None, Field(description="The journal entry from which a reflection made it.")
    ]
    confirmed: Annotated[
        bool,
        Field(description="Whether an operator made or confirmed it; only operators change it."),
    ]
    deleted_at: Annotated[Instant | None, Field(description="When the memory was removed.")]

    @classmethod
    def of(cls, memory: Memory) -> Self:
        apart = {"expires_at", "source", "confirmed", "deleted_at"}
        span = memory.made_from.span_in(memory.source_chat_id)
        shared = {name: getattr(memory, name) for name in cls.model_fields if name not in apart}
        source = MemorySource(
            chat_id=memory.source_chat_id,
            from_seq=span.first_seq if span else None,
            to_seq=span.last_seq if span else None,
            run_id=memory.source_run_id,
        )
        deleted_at = memory.ended_at if memory.status == "removed" else None
        return cls(
            expires_at=memory.fades_at,
            source=source,
            confirmed=memory.by_operator,
            deleted_at=deleted_at,
            **shared,
        )


class MemoryPage(Page[MemoryResource]):
    """A page of memories: active before ended ones; operators' first, then core, then journal."""
