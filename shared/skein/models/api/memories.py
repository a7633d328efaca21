"""Memories of agents as the HTTP API shows them (DESIGN section 7)."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Request, Resource
from skein.models.common.base import Instant
from skein.models.memory.memory import MadeBy, Memory, MemoryKind, MemoryText


class NewMemory(Request):
    """A memory for an agent, which it may tell everybody."""

    kind: MemoryKind
    text: MemoryText
    constitutional: Annotated[
        bool,
        Field(description="Neither the agent nor consolidation removes it; core memories only."),
    ] = False


class MemorySource(Resource):
    """Where a memory comes from; all of it is null for what operators made."""

    chat_id: str | None
    from_seq: Annotated[int | None, Field(description="The first message that it rests on.")]
    to_seq: Annotated[int | None, Field(description="The last one.")]
    run_id: Annotated[str | None, Field(description="The run whose tool made it.")]


class MemoryResource(Resource):
    """Something that an agent remembers, or once did."""

    id: str
    kind: MemoryKind
    text: str
    created_at: Instant
    expires_at: Annotated[
        Instant | None,
        Field(description="From then on a journal entry is not shown, restored or not."),
    ]
    source: MemorySource
    made_by: MadeBy
    constitutional: bool
    superseded_by: Annotated[
        str | None, Field(description="The memory that took its place; null once restored.")
    ]
    promoted_from: Annotated[
        str | None, Field(description="The journal entry that a reflection made it from.")
    ]
    deleted_at: Annotated[Instant | None, Field(description="When it was removed.")]

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The resource of a memory."""
        apart = {"expires_at", "source"}
        shared = {name: getattr(memory, name) for name in cls.model_fields if name not in apart}
        source = MemorySource(
            chat_id=memory.source_chat_id,
            from_seq=memory.from_seq,
            to_seq=memory.to_seq,
            run_id=memory.source_run_id,
        )
        return cls(expires_at=memory.fades_at, source=source, **shared)


class MemoryPage(Resource):
    """A page of memories: live ones first, constitutional, core, then the journal."""

    items: tuple[MemoryResource, ...]
    next_cursor: str | None
