"""Routes that rebuild the index of recall, for operators (function `admin_api`)."""

from routes.app import AgentId, ApiRouter, ChatId, documented
from routes.audited import changes
from skein.bootstrap.api import services
from skein.models.api.recall_rebuilds import RebuildResource

router = ApiRouter()


@router.post(
    "/v1/recall/rebuild",
    summary="Rebuild the recall index of all chats",
    tags=["recall"],
    status_code=202,
    responses=documented(202, RebuildResource, 400, 413),
    middlewares=changes("recall"),
)
def rebuild_all() -> RebuildResource:
    """Needed once for messages that an older version of Skein stored. Recall answers meanwhile."""
    return RebuildResource.of(services().recall_rebuilds.request(router.caller.tenant))


@router.post(
    "/v1/agents/<agent_id>/recall/rebuild",
    summary="Rebuild the recall index of an agent",
    tags=["recall"],
    status_code=202,
    responses=documented(202, RebuildResource, 400, 404, 413),
    middlewares=changes("recall"),
)
def rebuild_agent(agent_id: AgentId) -> RebuildResource:
    """The index of the agent's chats is brought up to date. Recall answers meanwhile."""
    rebuilds = services().recall_rebuilds
    return RebuildResource.of(rebuilds.request(router.caller.tenant, agent_id=agent_id))


@router.post(
    "/v1/chats/<chat_id>/recall/rebuild",
    summary="Rebuild the recall index of a chat",
    tags=["recall"],
    status_code=202,
    responses=documented(202, RebuildResource, 400, 404, 409, 413),
    middlewares=changes("recall"),
)
def rebuild_chat(chat_id: ChatId) -> RebuildResource:
    """The index of all agents of the chat is brought up to date. Recall answers meanwhile."""
    rebuilds = services().recall_rebuilds
    return RebuildResource.of(rebuilds.request(router.caller.tenant, chat_id=chat_id))
