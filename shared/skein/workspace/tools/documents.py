"""The tools for documents, and `read_skill`."""

import re
from itertools import groupby
from typing import Annotated

from pydantic import Field, StringConstraints

from skein.errors import Correctable, Failed, Forbidden, NotFound
from skein.interface.arguments import LINE, MAX_NUMBER, MAY_BE_EMPTY, TEXT, Count, Id, Query
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, own_scope, reach_at
from skein.media.texts import MediaTexts
from skein.models.chats.chat import Chat
from skein.models.common.base import rfc3339
from skein.models.common.json_types import NUMBER, JsonBool
from skein.services.chats.own_chats import OwnChats
from skein.services.visibility.disclosure import check_effect, check_post
from skein.workspace.document_edits import Revision
from skein.workspace.document_search import DocumentSearch
from skein.workspace.documents import Documents
from skein.workspace.models.document import (
    ID_PATTERN,
    MAX_DOCUMENT_BYTES,
    Document,
    DocumentEffect,
    DocumentReach,
    Folder,
)
from skein.workspace.sections.document_text import (
    SHOWN_CHARACTERS,
    document_text,
    named,
    part_of_text,
)
from skein.workspace.sections.skills import skill_text
from skein.workspace.skills import Skills
from skein.workspace.threads import Threads
from skein.workspace.tools.common import (
    DocumentName,
    SkillName,
    author_of,
    document_reach,
    file_of_chat,
)

MediaType = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=151), LINE
]
ListPosition = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64), LINE
]
NO_FILE = "no message of this chat has a file of this id with a text"
Version = Annotated[int, Field(ge=1, le=MAX_NUMBER), NUMBER]
Offset = Annotated[int, Field(ge=0, le=MAX_NUMBER), NUMBER]
DocumentText = Annotated[str, Field(max_length=MAX_DOCUMENT_BYTES), TEXT]
DocumentPart = Annotated[str, Field(min_length=1, max_length=MAX_DOCUMENT_BYTES), TEXT]

FILE_ID = re.compile(r"med_\w+")

AsRead = Annotated[Version | None, Field(description="Fails if the version differs.")]


@tool(effect="read")
def list_documents(
    call: ToolContext,
    query: Query | None = None,
    limit: Count = 20,
    after: Annotated[ListPosition | None, Field(description="Where the last list ended.")] = None,
) -> str:
    """List or search documents. Of two with one name, tools use the first."""
    reach = document_reach(call)
    if query is not None:
        return _search(call, reach, query, limit, after)
    page = call.service(Documents).shown(reach, limit=limit, after=_position(reach, after))
    call.activation.add_items(page.documents.values())
    lines: list[str] = []
    for folder, documents in groupby(page.documents.items(), key=lambda each: each[0].folder):
        lines.append(f"{_kept(reach.folders[folder])}:")
        lines += [f"- {_row(reach, document)}" for _, document in documents]
    if page.more:
        last = list(page.documents)[-1]
        lines.append(f"[there are more: after {last.folder}:{last.id}]")
    return "\n".join(lines) or "there are no documents"


@tool(effect="read")
def read_document(
    call: ToolContext,
    name: DocumentName,
    thread_id: Annotated[Id | None, Field(description="For a document of another thread.")] = None,
    offset: Annotated[Offset | None, Field(description="Characters to skip.")] = None,
) -> str:
    """Read a document or file, 10,000 characters at a time."""
    if thread_id is None and FILE_ID.fullmatch(name):
        return _text_of_file(call, name, offset or 0)
    document = _found(call, name) if thread_id is None else _of_thread(call, thread_id, name)
    call.activation.add_items([document])
    start = offset or 0
    if start > len(document.text):
        raise Correctable(f"it has {len(document.text):,} characters")
    return document_text(document, characters=SHOWN_CHARACTERS, offset=start)


def _text_of_file(call: ToolContext, media_id: str, start: int) -> str:
    """Return a part of the text of a file of the active chat's messages.

    Raises:
        Failed: No message that the agent may see has such a file, or the file has no text.
    """
    try:
        file = file_of_chat(call, media_id)
    except NotFound:
        raise Failed(NO_FILE) from None
    text = call.service(MediaTexts).text(file)
    if text is None:
        raise Failed(NO_FILE)
    if start > len(text):
        raise Correctable(f"it has {len(text):,} characters")
    head = f"=== {named(media_id)} ({file.content_type}) ==="
    return part_of_text(head, text, characters=SHOWN_CHARACTERS, offset=start)


@tool(effect="save")
def write_document(
    call: ToolContext,
    name: DocumentName,
    text: Annotated[
        DocumentText,
        Field(description="Without bars."),
        MAY_BE_EMPTY,
    ],
    media_type: Annotated[MediaType | None, Field(description="Default: text/markdown.")] = None,
    in_chat: Annotated[
        JsonBool | None,
        Field(description="true: it belongs to the active chat."),
    ] = None,
    pinned: Annotated[
        JsonBool | None,
        Field(description="true: every prompt shows it."),
    ] = None,
    version: AsRead = None,
) -> str:
    """Create a document, or replace its whole text."""
    reach = changing_reach(call)
    new_in = _home(call, in_chat=bool(in_chat))
    if in_chat:
        reach = reach.model_copy(update={"folders": (new_in,)})
    with refusals_as_tool_errors():
        if pinned and new_in.is_open:
            check_effect(call.activation.run, None)  # the prompts of all chats show it
        done = call.service(Documents).write(
            reach,
            name,
            text,
            new_in=new_in,
            media_type=media_type,
            pinned=pinned,
            version=version,
            author=author_of(call),
        )
    return _outcome(done)


@tool(effect="save")
def append_document(
    call: ToolContext,
    name: DocumentName,
    text: Annotated[
        DocumentPart,
        Field(description="Begin with a line break if needed."),
    ],
) -> str:
    """Add text to the end of a document."""
    return _revised(call, name, Revision(append=text))


@tool(effect="save")
def edit_document(
    call: ToolContext,
    name: DocumentName,
    find: Annotated[DocumentPart, Field(description="Must occur exactly once, without bars.")],
    replace: Annotated[
        DocumentText,
        Field(description="Empty removes the part."),
        MAY_BE_EMPTY,
    ],
    version: AsRead = None,
) -> str:
    """Replace one part of a document."""
    return _revised(call, name, Revision(find=find, replace=replace, version=version))


@tool(effect="save")
def delete_document(call: ToolContext, name: DocumentName, version: AsRead = None) -> str:
    """Delete a document permanently."""
    with refusals_as_tool_errors():
        done = call.service(Documents).delete(
            changing_reach(call), name, version=version, author=author_of(call)
        )
    return _outcome(done)


@tool(effect="read")
def read_skill(call: ToolContext, name: SkillName) -> str:
    """Read a skill: instructions for one kind of work."""
    tenant, readers = call.activation.run.tenant, call.reading.destination
    skills = call.service(Skills)
    try:
        return skill_text(skills.get(tenant, name, readers))
    except NotFound as error:
        known = ", ".join(each.head.name for each in skills.list(tenant, readers))
        raise Failed(f"{error}; there are: {known}") from None


def changing_reach(call: ToolContext) -> DocumentReach:
    """Return the readers, and the folders whose documents the agent may change.

    The result includes the active chat's documents only if the run was triggered in that chat or
    may post in it.
    """
    reach, chat = document_reach(call), call.reading.chat
    if chat is None:
        return reach
    try:
        _check_chat(call, chat)
    except Failed:
        own = tuple(folder for folder in reach.folders if folder.chat_id is None)
        return reach.model_copy(update={"folders": own})
    return reach


def _found(call: ToolContext, name: str) -> Document:
    """Return one of the documents within the agent's reach.

    Raises:
        Failed: There is no such document.
    """
    try:
        return call.service(Documents).get(document_reach(call), name)
    except NotFound as error:
        raise Failed(str(error)) from None


def _of_thread(call: ToolContext, thread_id: str, name: str) -> Document:
    """Return a document of a thread, which need not be active.

    Raises:
        Correctable: The thread has no such document.
        Failed: The thread does not exist or may not be accessed, or the document was deleted.
    """
    reach, threads = reach_at(call), call.service(Threads)
    with refusals_as_tool_errors():
        thread = threads.get(reach, thread_id)
    if name not in thread.documents:
        has = ", ".join(map(named, thread.documents)) or "no documents"
        raise Correctable(f"this thread has {has}")
    document = threads.documents(reach, thread, [name])[name]
    if document is None:
        raise Failed(f"there is no document {name!r} any more")
    return document


def _check_chat(call: ToolContext, chat: Chat) -> None:
    """Check that the run may disclose its content to the readers of a chat.

    Raises:
        Failed: The disclosure is not allowed, or the chat is gone.
    """
    if chat.id == call.activation.run.chat_id:
        return
    try:
        snapshot = call.service(OwnChats).snapshot(chat.tenant, chat.id)
    except NotFound as error:
        raise Failed(str(error)) from None
    try:
        check_post(call.activation.run, snapshot.chat)
    except (NotFound, Forbidden) as error:
        raise Failed(str(error)) from None


def _home(call: ToolContext, *, in_chat: bool) -> Folder:
    """Return the folder of a new document.

    Raises:
        Correctable: The document should belong to the active chat, and no chat is active.
        Failed: The document should belong to a chat that the prompt did not show, or whose readers
            must not read the content. Or there is no scope for the document; see `own_scope`.
    """
    reading, run = call.reading, call.activation.run
    if not in_chat:
        return Folder(tenant=run.tenant, agent_id=run.agent_id, scope=own_scope(call))
    active = call.target(None)
    if reading.chat is None or active != reading.chat.id:
        raise Failed("a chat document can be created only in the chat that triggered this run")
    _check_chat(call, reading.chat)
    return Folder(tenant=run.tenant, chat_id=reading.chat.id)


def _search(
    call: ToolContext, reach: DocumentReach, query: str, limit: int, after: str | None
) -> str:
    """Render the documents that match a query, best first.

    Raises:
        Correctable: A cursor is given, but a search has only one page.
    """
    if after is not None:
        raise Correctable("after: a search has only one page")
    found = call.service(DocumentSearch).search(reach, query, limit=limit)
    call.activation.add_items(document for _, document, _ in found.items)
    lines = []
    for folder, document, offset in found.items:
        where = f"; from character {offset:,} on" if offset else ""
        lines.append(f"- {_row(reach, document)}, {_kept(reach.folders[folder])}{where}")
    if not found.complete:
        lines.append("[there are more documents than one search reads]")
    return "\n".join(lines) or "no documents found"


def _position(reach: DocumentReach, after: str | None) -> tuple[int, str] | None:
    """Parse the cursor of a list.

    Raises:
        Correctable: The cursor has an unknown folder or an invalid document id.
    """
    if after is None:
        return None
    folder, _, document_id = after.partition(":")
    known = {str(number): number for number in range(len(reach.folders))}
    if folder not in known or not ID_PATTERN.fullmatch(document_id):
        raise Correctable("after: copy the value exactly as the list shows it")
    return known[folder], document_id


def _kept(folder: Folder) -> str:
    """Return the owner of a folder's documents, in words for the agent."""
    if folder.chat_id is not None:
        return "of the active chat"
    if not folder.is_open:
        return "yours, for the people here"
    return "yours, open"


def _row(reach: DocumentReach, document: Document) -> str:
    """Render a document as one line of a list."""
    known = [document.media_type, f"v{document.version}", f"{len(document.text):,} characters"]
    known.append(f"changed {rfc3339(document.updated_at)}")
    if document.pinned:
        known.append("always on show")
    if not reach.changes(document):
        known.append("only to be read here")
    return f"{named(document.name)} ({', '.join(known)})"


def _revised(call: ToolContext, name: str, revision: Revision) -> str:
    with refusals_as_tool_errors():
        done = call.service(Documents).revise(
            changing_reach(call), name, revision, author=author_of(call)
        )
    return _outcome(done)


def _outcome(done: DocumentEffect) -> str:
    if done.change == "deleted":
        return f"document {named(done.name)} deleted"
    size = f"{done.characters:,} characters"
    return f"document {named(done.name)} {done.change}, v{done.version}, {size}"
