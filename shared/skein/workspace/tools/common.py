"""What the tools for documents and threads share: names, the author of a change, and the reach."""

from typing import Annotated

from pydantic import Field, StringConstraints

from skein.interface.arguments import LINE
from skein.interface.tool_context import (
    ToolContext,
    actor_of,
    authors_of,
    content_of,
    material_of,
    readers_of,
)
from skein.models.common.ownership import effect_id
from skein.workspace.document_edits import Author
from skein.workspace.models.document import DocumentReach, Folder

DocumentName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), LINE
]
DocumentNames = Annotated[list[DocumentName], Field(max_length=10)]
SkillName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64), LINE
]
SkillNames = Annotated[list[SkillName], Field(max_length=10)]


def author_of(call: ToolContext, *items: str) -> Author:
    """Return the author of a change to a document or a thread.

    Args:
        items: The ids of the items that the call names.
    """
    reading, run = call.reading, call.activation.run
    return Author(
        audience=content_of(call),
        authors=authors_of(call),
        made_from=material_of(call, *items),
        source_chat_id=reading.chat.id if reading.chat else None,
        source_run_id=run.id,
        activation=run.activation,
        effect=effect_id(call.effect),
        guard=call.activation.claim.guard,
    )


def document_reach(call: ToolContext) -> DocumentReach:
    """Return the reach for documents: the chat's, those of the activation's scope, open ones."""
    reading, run = call.reading, call.activation.run
    folders = [Folder(tenant=run.tenant, agent_id=run.agent_id)]
    if reading.scope is not None:
        folders.insert(0, Folder(tenant=run.tenant, agent_id=run.agent_id, scope=reading.scope))
    if reading.chat is not None:
        folders.insert(0, Folder(tenant=run.tenant, chat_id=reading.chat.id))
    return DocumentReach(
        folders=tuple(folders),
        readers=readers_of(call),
        content=content_of(call),
        insiders=reading.insiders,
        chat_id=reading.chat.id if reading.chat is not None else None,
        actor=actor_of(call),
    )
