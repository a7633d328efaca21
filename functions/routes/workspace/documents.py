"""Routes of documents of agents and chats, for operators (function `admin_api`).

Documents that operators create for an agent are open. To reach documents that agents wrote in
private chats, a request names the person or the chat.
"""

from dataclasses import dataclass
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import StringConstraints

from routes.app import AgentId, ChatId, Limit, PageCursor, Principal
from routes.crud import Crud
from routes.scope import OfChat, OfUser, WhyPrivate, check_chat, in_scope
from skein.bootstrap import service
from skein.errors import Invalid
from skein.services.common.pagination import DEFAULT_PAGE
from skein.workspace.api.documents import (
    DocumentChange,
    DocumentHead,
    DocumentPage,
    DocumentResource,
    DocumentText,
    NewDocument,
)
from skein.workspace.document_edits import Revision
from skein.workspace.document_search import DocumentSearch
from skein.workspace.documents import Documents
from skein.workspace.models.document import Document, DocumentReach, Folder

DocumentId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    Path(description="The id of a document, or its name if the name is valid in a path."),
]
SearchText = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=1_000,
        description="The text to find documents by. One page of the best matches, best first.",
    ),
]


@dataclass(frozen=True, slots=True)
class FolderDocuments:
    """Creates, returns and changes the documents of one folder for operators."""

    documents: Documents

    def create(self, folder: Folder, new: NewDocument) -> Document:
        """Create a document; see `Documents.write`."""
        self.documents.write(
            DocumentReach(folders=(folder,)),
            new.name,
            new.text,
            new_in=folder,
            only_new=True,
            media_type=new.media_type,
            pinned=new.pinned,
            public=new.public,
        )
        return self.get(folder, new.name)

    def get(self, folder: Folder, document_id: str) -> Document:
        """Return a document by id or name."""
        return self.documents.get(DocumentReach(folders=(folder,)), document_id)

    def change(self, folder: Folder, document_id: str, change: DocumentChange) -> Document:
        """Edit a document; see `Documents.revise`."""
        revision = Revision(**change.model_dump())
        self.documents.revise(DocumentReach(folders=(folder,)), document_id, revision)
        return self.get(folder, document_id)

    def delete(self, folder: Folder, document_id: str) -> None:
        self.documents.delete(DocumentReach(folders=(folder,)), document_id)


def _of_agent(
    caller: Principal,
    agent_id: AgentId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> Folder:
    reach = in_scope(caller, agent_id, user_id, chat_id, reason)
    return Folder(tenant=reach.tenant, agent_id=reach.agent_id, scope=reach.scopes[0])


def _open_of_agent(caller: Principal, agent_id: AgentId) -> Folder:
    return _of_agent(caller, agent_id)


def _of_chat(caller: Principal, chat_id: ChatId, reason: WhyPrivate = None) -> Folder:
    check_chat(caller, chat_id, reason)
    return service(Documents).of_chat(caller.tenant, chat_id)


of_agent = Crud(
    "documents",
    "document",
    "/v1/agents/<agent_id>/documents/<document_id>",
    DocumentId,
    parent=_of_agent,
    service=FolderDocuments,
    shown=DocumentResource,
    suffix="_of_agent",
)
of_chat = Crud(
    "documents",
    "document",
    "/v1/chats/<chat_id>/documents/<document_id>",
    DocumentId,
    parent=_of_chat,
    service=FolderDocuments,
    shown=DocumentResource,
    suffix="_of_chat",
)

of_agent.creates(
    NewDocument,
    "Create an agent's document",
    409,
    item=Document,
    about="An agent has at most 5 global documents.",
    parent=_open_of_agent,
)
of_chat.creates(
    NewDocument,
    "Create a chat's document",
    409,
    item=Document,
    about="A chat has at most 10 documents. Each agent in the chat is shown all of them.",
)
for documents, whose in ((of_agent, "an agent's"), (of_chat, "a chat's")):
    documents.gets(f"Get {whose} document", about="The response contains the whole text.")
    documents.changes(
        DocumentChange,
        f"Edit {whose} document",
        409,
        about="Skein first replaces `find` by `replace`, and then appends `append`.",
    )
    documents.deletes(f"Delete {whose} document", 409, about="Deletes the document permanently.")


@of_agent.get(
    "/v1/agents/<agent_id>/documents", "List or search an agent's documents, without their texts"
)
def list_documents_of_agent(
    agent_id: AgentId,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
    q: SearchText = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> DocumentPage:
    """Without `q`, the order is stable. With `q`, the best matches come first, in one page."""
    return _list(_of_agent(of_agent.caller, agent_id, user_id, chat_id, reason), q, limit, cursor)


@of_chat.get(
    "/v1/chats/<chat_id>/documents", "List or search a chat's documents, without their texts"
)
def list_documents_of_chat(
    chat_id: ChatId,
    *,
    reason: WhyPrivate = None,
    q: SearchText = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> DocumentPage:
    """Without `q`, the order is stable. With `q`, the best matches come first, in one page."""
    return _list(_of_chat(of_chat.caller, chat_id, reason), q, limit, cursor)


@of_agent.put(
    "/v1/agents/<agent_id>/documents/<document_id>", "Replace the text of an agent's document", 409
)
def replace_document_of_agent(
    agent_id: AgentId,
    document_id: DocumentId,
    new: DocumentText,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> DocumentResource:
    """The document must exist. If `version` is given, it must be the document's current version."""
    folder = _of_agent(of_agent.caller, agent_id, user_id, chat_id, reason)
    return _replace(folder, document_id, new)


@of_chat.put(
    "/v1/chats/<chat_id>/documents/<document_id>", "Replace the text of a chat's document", 409
)
def replace_document_of_chat(
    chat_id: ChatId, document_id: DocumentId, new: DocumentText, reason: WhyPrivate = None
) -> DocumentResource:
    """The document must exist. If `version` is given, it must be the document's current version."""
    return _replace(_of_chat(of_chat.caller, chat_id, reason), document_id, new)


def _list(folder: Folder, q: str | None, limit: int, cursor: str | None) -> DocumentPage:
    if q is None:
        return DocumentPage.of(service(Documents).list(folder, limit=limit, cursor=cursor))
    if cursor is not None:
        raise Invalid("a search has only one page")
    found = service(DocumentSearch).search(DocumentReach(folders=(folder,)), q, limit=limit)
    heads = (DocumentHead.of(each.document) for each in found.items)
    return DocumentPage(items=tuple(heads), next_cursor=None)


def _replace(folder: Folder, document_id: str, new: DocumentText) -> DocumentResource:
    service(Documents).write(
        DocumentReach(folders=(folder,)),
        document_id,
        new.text,
        media_type=new.media_type,
        pinned=new.pinned,
        public=new.public,
        version=new.version,
    )
    return DocumentResource.of(service(FolderDocuments).get(folder, document_id))
