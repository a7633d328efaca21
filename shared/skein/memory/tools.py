"""The tools for memories: save, forget and search."""

from typing import Annotated

from pydantic import Field

from skein.interface.arguments import TEXT, Count, Id, Query
from skein.interface.sources import SourceNames, named_in
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, owner_at, reach_at
from skein.memory.memories import Memories, memory_id_of
from skein.memory.models.memory import Memory, MemoryKind
from skein.memory.search import MemorySearch
from skein.services.common.quoting import quoted_id
from skein.services.visibility.insiders import members_of

MemoryText = Annotated[str, Field(min_length=1, max_length=10_000), TEXT]

MAX_TEXT = 2_000  # characters of one memory in a list
CUT = " [...]"


@tool(effect="save")
def save_memory(
    call: ToolContext,
    text: MemoryText,
    kind: Annotated[MemoryKind, Field(description="core: for good; journal: for a week.")],
) -> str:
    """Save what must not be lost, in one clear sentence."""
    run = call.activation.run
    with refusals_as_tool_errors():
        memory, known = call.service(Memories).add(
            owner_at(call),
            text,
            kind,
            made_by="tool",
            reach=reach_at(call),
            memory_id=memory_id_of(call.effect, run.created_at),
            guard=call.activation.claim.guard,
        )
    outcome = "this memory already exists" if known else "remembered"
    until = f"; it fades on {memory.fades_at:%Y-%m-%d}" if memory.fades_at else ""
    takes_ids = forget_memory.name in call.reading.agent.enabled_tools
    return f"{outcome}{f', id: {memory.id}' if takes_ids else ''}{until}"


@tool(effect="save")
def forget_memory(call: ToolContext, memory_id: Id) -> str:
    """Forget a memory that is wrong or no longer wanted. search_memories gives ids."""
    with refusals_as_tool_errors():
        call.service(Memories).forget(reach_at(call), memory_id, guard=call.activation.claim.guard)
    return "forgotten"


@tool(effect="read")
def search_memories(
    call: ToolContext,
    query: Query,
    limit: Count = 10,
) -> str:
    """Search memories that may be shown here, beyond those above."""
    members = members_of(call.reading.chat)
    found = call.service(MemorySearch).search(reach_at(call), query, limit=limit, members=members)
    call.activation.add_items(found)
    chat, names = call.reading.chat, call.names().joined(named_in(found))
    sources = SourceNames(names.__getitem__, chat.id if chat is not None else None)
    return "\n".join(_row(memory, sources) for memory in found) or "no memories found"


def _row(memory: Memory, sources: SourceNames) -> str:
    text = memory.text
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + CUT
    fades = f", fades on {memory.fades_at:%Y-%m-%d}" if memory.fades_at else ""
    what = f"{memory.kind}, {memory.day}{fades}"
    return f"- {quoted_id(memory.id)} ({what}) {sources.line_of(memory, text)}"
