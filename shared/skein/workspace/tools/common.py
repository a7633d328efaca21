"""Shared parts of the tools for documents, files and threads: names, authors, reach and files."""

from typing import Annotated

from pydantic import Field, StringConstraints

from skein.errors import NotFound
from skein.interface.arguments import LINE
from skein.interface.history import words_of
from skein.interface.tool_context import (
    ToolContext,
    actor_of,
    admitted,
    authors_of,
    content_of,
    material_of,
    readers_of,
)
from skein.media.copies import GONE, CopiedFiles
from skein.models.chats.media import MediaFile
from skein.models.common.effects import effect_id
from skein.services.chats.own_chats import OwnChats
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
        items: The ids of the items that the tool call names.
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
    """Return the readers, and the folders: the chat's, the activation's scope, the open scope."""
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


def file_of_chat(call: ToolContext, name: str) -> MediaFile:
    """Return a file of the active chat, by its id, or by a name such as `picture 12.1`.

    The agent then counts as having seen the file and its message.

    Raises:
        NotFound: No message that the agent may see has such a file.
        Forbidden: The readers of the prompt may not see the message.
    """
    tenant, agent = call.activation.run.tenant, call.activation.claim.agent
    chats = call.service(OwnChats)
    chat, _ = chats.get(tenant, agent, call.target(None))
    file = call.service(CopiedFiles).find(chat, name)
    seq = file.seq or 0
    messages, audience = chats.newest_messages(
        chat, 1, here=call.reading.chat, readers=call.reading.destination, before=seq + 1
    )
    shown = [message for message in admitted(call, messages) if message.seq == seq]
    if not shown:
        raise NotFound(GONE)
    call.activation.add_held(audience, words_of(shown).joined(file.words))
    return file
