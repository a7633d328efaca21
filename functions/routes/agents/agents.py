"""Routes of agents, for operators."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import AgentId, ApiRouter, Limit, PageCursor, documented, no_content
from routes.audited import changes, creates, deletes, reads
from skein.bootstrap.api import services
from skein.models.api.base import AgentChatPage, AgentChatResource, EntityId
from skein.models.api.directory import (
    AgentChange,
    AgentDetail,
    AgentPage,
    AgentResource,
    AgentVersionPage,
    AgentVersionResource,
    AgentWarning,
    NewAgent,
)
from skein.models.directory.agent import LAST_VERSION, Agent
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()

VersionNumber = Annotated[int, Path(ge=1, le=LAST_VERSION, description="A version's number.")]
WithUser = Annotated[
    EntityId | None,
    Query(description="The chats with this user, open and private, instead of all open chats."),
]


@router.post(
    "/v1/agents",
    summary="Create an agent",
    tags=["agents"],
    status_code=201,
    responses=documented(201, AgentDetail, 400, 413),
    middlewares=creates("agent"),
)
def create_agent(new: NewAgent) -> AgentDetail:
    """Omitted fields have their defaults. A model that the provider does not list is a warning."""
    return _detail(services().agents.create(router.caller.tenant, new))


@router.get(
    "/v1/agents",
    summary="List agents, oldest first",
    tags=["agents"],
    responses=documented(200, AgentPage, 400),
    middlewares=reads("agent"),
)
def list_agents(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> AgentPage:
    """Deleted agents are omitted."""
    page = services().agents.list(router.caller.tenant, limit=limit, cursor=cursor)
    return AgentPage(items=tuple(map(AgentResource.of, page.items)), next_cursor=page.next_cursor)


@router.get(
    "/v1/agents/<agent_id>",
    summary="Get an agent",
    tags=["agents"],
    responses=documented(200, AgentDetail, 404),
    middlewares=reads("agent"),
)
def get_agent(agent_id: AgentId) -> AgentDetail:
    """A deleted agent is not found."""
    agent = services().agents.get(router.caller.tenant, agent_id)
    detail, unheard = _detail(agent), services().tool_warnings.of(agent)
    if unheard is None:
        return detail
    warning = AgentWarning(code="no_tool_called", message=unheard)
    return detail.model_copy(update={"warnings": (*detail.warnings, warning)})


@router.patch(
    "/v1/agents/<agent_id>",
    summary="Update an agent",
    tags=["agents"],
    responses=documented(200, AgentDetail, 400, 404, 413),
    middlewares=changes("agent"),
)
def change_agent(agent_id: AgentId, change: AgentChange) -> AgentDetail:
    """The agent's next activation uses the new values."""
    caller = router.caller
    changed = services().agents.change(caller.tenant, agent_id, change, by=caller.user_id)
    return _detail(changed)


@router.get(
    "/v1/agents/<agent_id>/versions",
    summary="List an agent's versions, newest first",
    tags=["agents"],
    responses=documented(200, AgentVersionPage, 400, 404),
    middlewares=reads("agent"),
)
def list_versions(
    agent_id: AgentId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> AgentVersionPage:
    """The newest 50 versions are kept, each with all that operators set, and by whom and when."""
    page = services().agents.versions(router.caller.tenant, agent_id, limit=limit, cursor=cursor)
    items = tuple(map(AgentVersionResource.of, page.items))
    return AgentVersionPage(items=items, next_cursor=page.next_cursor)


@router.post(
    "/v1/agents/<agent_id>/versions/<version>/restore",
    summary="Restore a version of an agent",
    tags=["agents"],
    responses=documented(200, AgentDetail, 400, 404, 413),
    middlewares=changes("agent"),
)
def restore_version(agent_id: AgentId, version: VersionNumber) -> AgentDetail:
    """The restored values become a new version. Repeating the call changes nothing."""
    caller = router.caller
    agents = services().agents
    return _detail(agents.restore(caller.tenant, agent_id, version, by=caller.user_id))


@router.get(
    "/v1/agents/<agent_id>/chats",
    summary="List an agent's chats, newest first",
    tags=["agents"],
    responses=documented(200, AgentChatPage, 400, 404),
    middlewares=reads("chat"),
)
def list_agent_chats(
    agent_id: AgentId,
    user_id: WithUser = None,
    *,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> AgentChatPage:
    """The list has no titles or texts: `GET /v1/transcripts/{chat_id}` returns them for a reason.

    Private chats are listed only with `user_id`. Discarded chats are omitted, so a page may be
    short.
    """
    tenant = router.caller.tenant
    agent = services().agents.get(tenant, agent_id)
    if user_id is not None:
        user_id = services().users.get(tenant, user_id).id
    page = services().views.agent_chats(
        tenant, agent.id, user_id=user_id, limit=limit, cursor=cursor
    )
    items = tuple(map(AgentChatResource.of, page.items))
    return AgentChatPage(items=items, next_cursor=page.next_cursor)


@router.delete(
    "/v1/agents/<agent_id>",
    summary="Delete an agent",
    tags=["agents"],
    status_code=204,
    responses=documented(204, None, 404, 503),
    middlewares=deletes("agent"),
)
def delete_agent(agent_id: AgentId) -> Response[None]:
    """The agent stays in the rosters of its chats, but no longer responds."""
    services().agents.delete(router.caller.tenant, agent_id)
    return no_content()


def _detail(agent: Agent) -> AgentDetail:
    return AgentDetail.with_warnings(agent, services().model_warnings.of(agent))
