"""Route of agents' reflections, for operators (function `admin_api`)."""

from routes.app import AgentId, Limit, PageCursor
from routes.router import ApiRouter
from routes.scope import OfChat, OfUser, WhyPrivate, in_scope
from skein.bootstrap import service
from skein.memory.api.reflections import ReflectionPage
from skein.memory.history import BackgroundRecords
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("memories", "agent", role="support")


@router.get("/v1/agents/<agent_id>/reflections", "List an agent's reflections, oldest first")
def list_reflections(
    agent_id: AgentId,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> ReflectionPage:
    """The list includes failures. Records are kept for 90 days."""
    reach = in_scope(router.caller, agent_id, user_id, chat_id, reason)
    page = service(BackgroundRecords).of_agent(reach, limit=limit, cursor=cursor)
    return ReflectionPage.of(page)
