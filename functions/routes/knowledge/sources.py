"""Routes of sources of knowledge, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import Limit, PageCursor
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.knowledge.api import (
    NewSource,
    NewSourceUpload,
    SourceChange,
    SourcePage,
    SourceResource,
    SourceSearch,
    SourceSearchResult,
    SourceVersionPage,
    WholeSourceText,
)
from skein.knowledge.models.source import LAST_VERSION, Source
from skein.knowledge.records import Sources
from skein.knowledge.search import KnowledgeSearch
from skein.media.api import UploadResource
from skein.models.common.base import EntityId
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.directory.agents import Agents

# The audit log calls a source a document: release 0.3.0 reads entries of the kinds that it knows.
router = ApiRouter("sources", "document", role="support", writes="owner")

SourceId = Annotated[EntityId, Path(description="The id of a source.")]
VersionNumber = Annotated[
    int, Path(ge=0, le=LAST_VERSION, description="A version's number; 0 for the text held back.")
]


@router.post("/v1/sources", "Create a source of knowledge", 409)
def create_source(new: NewSource) -> SourceResource:
    """The source is read in the background, as its `state` shows.

    After that, agents can answer from it.
    """
    caller, sources = router.caller, service(Sources)
    made = router.once(
        Source,
        lambda: sources.create(caller.tenant, new, by=caller.user_id),
        lambda source_id: sources.get(caller.tenant, source_id),
    )
    return SourceResource.of(made)


@router.post("/v1/sources/uploads", "Create an upload for a source", status=200)
def begin_source_upload(new: NewSourceUpload) -> UploadResource:
    """Send the file to the URL by PUT. Within a day, create a source with the upload's id."""
    return UploadResource.to(*service(Sources).begin_upload(router.caller.tenant, new.upload))


@router.post("/v1/sources/search", "Search the sources", 404, role="support", status=200)
def search_sources(query: SourceSearch) -> SourceSearchResult:
    """The passages that the agent's prompt would show for this query if all readers had `roles`."""
    tenant = router.caller.tenant
    agent = service(Agents).get(tenant, query.agent_id)
    found = service(KnowledgeSearch).tried(tenant, agent.id, query.roles, query.query)
    return SourceSearchResult.of_passages(found)


@router.get("/v1/sources", "List sources, oldest first")
def list_sources(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> SourcePage:
    """Each source has its state, and the reason if its newest text is not used."""
    return SourcePage.of(service(Sources).list(router.caller.tenant, limit=limit, cursor=cursor))


@router.get("/v1/sources/<source_id>", "Get a source")
def get_source(source_id: SourceId) -> SourceResource:
    """The response has no text; get the text of one of the source's versions."""
    return SourceResource.of(service(Sources).get(router.caller.tenant, source_id))


@router.patch("/v1/sources/<source_id>", "Update a source")
def change_source(source_id: SourceId, change: SourceChange) -> SourceResource:
    """The change makes a new version. A changed text is read in the background."""
    caller, sources = router.caller, service(Sources)
    return SourceResource.of(sources.change(caller.tenant, source_id, change, by=caller.user_id))


@router.delete("/v1/sources/<source_id>", "Delete a source")
def delete_source(source_id: SourceId) -> Response[None]:
    """Prompts that are built after the response contain nothing of the source."""
    service(Sources).delete(router.caller.tenant, source_id)
    return no_content()


@router.post("/v1/sources/<source_id>/refresh", "Read a source again", status=202)
def refresh_source(source_id: SourceId) -> SourceResource:
    """The URL is read in the background.

    A doubtful text is held back: agents use it only after an operator has restored version 0.
    """
    return SourceResource.of(service(Sources).refresh(router.caller.tenant, source_id))


@router.get("/v1/sources/<source_id>/versions", "List a source's versions, newest first")
def list_source_versions(
    source_id: SourceId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> SourceVersionPage:
    """The newest 10 versions are kept, each with all its fields and its text."""
    page = service(Sources).versions(router.caller.tenant, source_id, limit=limit, cursor=cursor)
    return SourceVersionPage.of(page)


@router.get("/v1/sources/<source_id>/versions/<version>/text", "Get the text of a version")
def get_source_text(source_id: SourceId, version: VersionNumber) -> WholeSourceText:
    """The text is split into passages, as agents see them."""
    found = service(Sources).passages(router.caller.tenant, source_id, version)
    return WholeSourceText.of_passages(found)


@router.post(
    "/v1/sources/<source_id>/versions/<version>/restore",
    "Restore a version of a source",
    status=200,
)
def restore_source_version(source_id: SourceId, version: VersionNumber) -> SourceResource:
    """The restored text and fields become a new version. Repeating the call changes nothing.

    To accept a text that is held back, restore version 0.
    """
    caller, sources = router.caller, service(Sources)
    return SourceResource.of(sources.restore(caller.tenant, source_id, version, by=caller.user_id))
