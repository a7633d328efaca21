"""Routes of documents of agents and chats, for operators (function `admin_api`).

Documents that operators create for an agent are open. To reach documents that agents wrote in
private chats, a request names the person or the chat.
"""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import StringConstraints

from routes.app import AgentId, ApiRouter, ChatId, Limit, PageCursor, documented, no_content
from routes.audited import changes, creates, deletes, reads
from routes.scope import OfChat, OfUser, reach_of
from skein.bootstrap.api import services
from skein.errors import Invalid
from skein.models.api.documents import (
    DocumentChange,
    DocumentHead,
    DocumentPage,
    DocumentResource,
    DocumentText,
    NewDocument,
)
from skein.models.workspace.document import DocumentReach, Folder
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.workspace.document_edits import Revision

router = ApiRouter()

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


def _of_agent(agent_id: str, user_id: str | None = None, chat_id: str | None = None) -> Folder:
    reach = reach_of(router.caller.tenant, agent_id, user_id, chat_id)
    return Folder(tenant=reach.tenant, agent_id=reach.agent_id, scope=reach.scopes[0])


def _of_chat(chat_id: str) -> Folder:
    return services().documents.of_chat(router.caller.tenant, chat_id)


def _create(folder: Folder, new: NewDocument) -> DocumentResource:
    services().documents.write(
        DocumentReach(folders=(folder,)),
        new.name,
        new.text,
        new_in=folder,
        only_new=True,
        media_type=new.media_type,
        pinned=new.pinned,
    )
    return _shown(folder, new.name)


def _list(folder: Folder, q: str | None, limit: int, cursor: str | None) -> DocumentPage:
    if q is not None:
        if cursor is not None:
            raise Invalid("a search has only one page")
        reach = DocumentReach(folders=(folder,))
        found = services().document_search.search(reach, q, limit=limit)
        heads = (DocumentHead.of(each.document) for each in found.items)
        return DocumentPage(items=tuple(heads), next_cursor=None)
    page = services().documents.list(folder, limit=limit, cursor=cursor)
    items = tuple(map(DocumentHead.of, page.items))
    return DocumentPage(items=items, next_cursor=page.next_cursor)


def _shown(folder: Folder, document_id: str) -> DocumentResource:
    document = services().documents.get(DocumentReach(folders=(folder,)), document_id)
    return DocumentResource.of(document)


def _replace(folder: Folder, document_id: str, new: DocumentText) -> DocumentResource:
    services().documents.write(
        DocumentReach(folders=(folder,)),
        document_id,
        new.text,
        media_type=new.media_type,
        pinned=new.pinned,
        version=new.version,
    )
    return _shown(folder, document_id)


def _change(folder: Folder, document_id: str, change: DocumentChange) -> DocumentResource:
    revision = Revision(**change.model_dump())
    services().documents.revise(DocumentReach(folders=(folder,)), document_id, revision)
    return _shown(folder, document_id)


def _delete(folder: Folder, document_id: str) -> Response[None]:
    services().documents.delete(DocumentReach(folders=(folder,)), document_id)
    return no_content()


@router.post(
    "/v1/agents/<agent_id>/documents",
    summary="Create an agent's document",
    tags=["documents"],
    status_code=201,
    responses=documented(201, DocumentResource, 400, 404, 409, 413),
    middlewares=creates("document"),
)
def create_document_of_agent(agent_id: AgentId, new: NewDocument) -> DocumentResource:
    """An agent has at most 5 global documents."""
    return _create(_of_agent(agent_id), new)


@router.get(
    "/v1/agents/<agent_id>/documents",
    summary="List or search an agent's documents, without their texts",
    tags=["documents"],
    responses=documented(200, DocumentPage, 400, 404),
    middlewares=reads("document"),
)
def list_documents_of_agent(
    agent_id: AgentId,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    q: SearchText = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> DocumentPage:
    """Without `q`, the order is stable. With `q`, the best matches come first, in one page."""
    return _list(_of_agent(agent_id, user_id, chat_id), q, limit, cursor)


@router.get(
    "/v1/agents/<agent_id>/documents/<document_id>",
    summary="Get an agent's document",
    tags=["documents"],
    responses=documented(200, DocumentResource, 404),
    middlewares=reads("document"),
)
def get_document_of_agent(
    agent_id: AgentId,
    document_id: DocumentId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
) -> DocumentResource:
    """The response contains the whole text."""
    return _shown(_of_agent(agent_id, user_id, chat_id), document_id)


@router.put(
    "/v1/agents/<agent_id>/documents/<document_id>",
    summary="Replace the text of an agent's document",
    tags=["documents"],
    responses=documented(200, DocumentResource, 400, 404, 409, 413),
    middlewares=changes("document"),
)
def replace_document_of_agent(
    agent_id: AgentId,
    document_id: DocumentId,
    new: DocumentText,
    user_id: OfUser = None,
    chat_id: OfChat = None,
) -> DocumentResource:
    """The document must exist. With `version`, it must have this version."""
    return _replace(_of_agent(agent_id, user_id, chat_id), document_id, new)


@router.patch(
    "/v1/agents/<agent_id>/documents/<document_id>",
    summary="Edit an agent's document",
    tags=["documents"],
    responses=documented(200, DocumentResource, 400, 404, 409, 413),
    middlewares=changes("document"),
)
def change_document_of_agent(
    agent_id: AgentId,
    document_id: DocumentId,
    change: DocumentChange,
    user_id: OfUser = None,
    chat_id: OfChat = None,
) -> DocumentResource:
    """Skein first replaces `find` by `replace`, and then appends `append`."""
    return _change(_of_agent(agent_id, user_id, chat_id), document_id, change)


@router.delete(
    "/v1/agents/<agent_id>/documents/<document_id>",
    summary="Delete an agent's document",
    tags=["documents"],
    status_code=204,
    responses=documented(204, None, 404, 409),
    middlewares=deletes("document"),
)
def delete_document_of_agent(
    agent_id: AgentId,
    document_id: DocumentId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
) -> Response[None]:
    """Deletes the document permanently."""
    return _delete(_of_agent(agent_id, user_id, chat_id), document_id)


@router.post(
    "/v1/chats/<chat_id>/documents",
    summary="Create a chat's document",
    tags=["documents"],
    status_code=201,
    responses=documented(201, DocumentResource, 400, 404, 409, 413),
    middlewares=creates("document"),
)
def create_document_of_chat(chat_id: ChatId, new: NewDocument) -> DocumentResource:
    """A chat has at most 10 documents. Each agent in the chat is shown all of them."""
    return _create(_of_chat(chat_id), new)


@router.get(
    "/v1/chats/<chat_id>/documents",
    summary="List or search a chat's documents, without their texts",
    tags=["documents"],
    responses=documented(200, DocumentPage, 400, 404),
    middlewares=reads("document"),
)
def list_documents_of_chat(
    chat_id: ChatId,
    *,
    q: SearchText = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> DocumentPage:
    """Without `q`, the order is stable. With `q`, the best matches come first, in one page."""
    return _list(_of_chat(chat_id), q, limit, cursor)


@router.get(
    "/v1/chats/<chat_id>/documents/<document_id>",
    summary="Get a chat's document",
    tags=["documents"],
    responses=documented(200, DocumentResource, 404),
    middlewares=reads("document"),
)
def get_document_of_chat(
    chat_id: ChatId,
    document_id: DocumentId,
) -> DocumentResource:
    """The response contains the whole text."""
    return _shown(_of_chat(chat_id), document_id)


@router.put(
    "/v1/chats/<chat_id>/documents/<document_id>",
    summary="Replace the text of a chat's document",
    tags=["documents"],
    responses=documented(200, DocumentResource, 400, 404, 409, 413),
    middlewares=changes("document"),
)
def replace_document_of_chat(
    chat_id: ChatId,
    document_id: DocumentId,
    new: DocumentText,
) -> DocumentResource:
    """The document must exist. With `version`, it must have this version."""
    return _replace(_of_chat(chat_id), document_id, new)


@router.patch(
    "/v1/chats/<chat_id>/documents/<document_id>",
    summary="Edit a chat's document",
    tags=["documents"],
    responses=documented(200, DocumentResource, 400, 404, 409, 413),
    middlewares=changes("document"),
)
def change_document_of_chat(
    chat_id: ChatId,
    document_id: DocumentId,
    change: DocumentChange,
) -> DocumentResource:
    """Skein first replaces `find` by `replace`, and then appends `append`."""
    return _change(_of_chat(chat_id), document_id, change)


@router.delete(
    "/v1/chats/<chat_id>/documents/<document_id>",
    summary="Delete a chat's document",
    tags=["documents"],
    status_code=204,
    responses=documented(204, None, 404, 409),
    middlewares=deletes("document"),
)
def delete_document_of_chat(
    chat_id: ChatId,
    document_id: DocumentId,
) -> Response[None]:
    """Deletes the document permanently."""
    return _delete(_of_chat(chat_id), document_id)
