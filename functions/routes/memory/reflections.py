"""Route of agents' reflections, for operators (function `admin_api`)."""

from routes.app import AgentId, ApiRouter, Limit, PageCursor, documented
from routes.audited import reads
from routes.scope import OfChat, OfUser, reach_of
from skein.bootstrap.api import services
from skein.models.api.reflections import ReflectionPage, ReflectionResource
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()


@router.get(
    "/v1/agents/<agent_id>/reflections",
    summary="List an agent's reflections, oldest first",
    tags=["memories"],
    responses=documented(200, ReflectionPage, 400, 404),
    middlewares=reads("agent"),
)
def list_reflections(
    agent_id: AgentId,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> ReflectionPage:
    """The list includes failures. Records are kept for 90 days."""
    reach = reach_of(router.caller.tenant, agent_id, user_id, chat_id)
    page = services().reflection_views.list(reach, limit=limit, cursor=cursor)
    items = tuple(map(ReflectionResource.of, page.items))
    return ReflectionPage(items=items, next_cursor=page.next_cursor)
