"""Routes of recall and its index, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.app import AgentId, ChatId
from routes.audited import note_seen
from routes.router import ApiRouter
from routes.scope import WhyPrivate, check_chat
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.recall.api import RebuildResource, RecalledMessage, RecallList
from skein.recall.preview import RecallPreview
from skein.recall.rebuild import RecallRebuilds
from skein.services.config.tenant_settings import TenantSettingsService

router = ApiRouter("recall", "recall", role="support")

MAX_TOKENS = 8_000

InChat = Annotated[
    EntityId | None,
    Query(description="The chat whose members read the messages; omitted: open messages only."),
]
SearchText = Annotated[
    str, Query(min_length=1, max_length=2_000, description="The text to find messages by.")
]
Tokens = Annotated[
    int, Query(ge=1, le=MAX_TOKENS, description="Maximum tokens of the messages, with headings.")
]


@router.get("/v1/agents/<agent_id>/recall", "Search an agent's older messages")
def recall_messages(
    agent_id: AgentId,
    q: SearchText,
    *,
    chat_id: InChat = None,
    tokens: Tokens = 1_000,
    reason: WhyPrivate = None,
) -> RecallList:
    """Searches as the agent would in the chat: only messages that the chat's members may see.

    The result may include messages that the agent's prompt shows without a search.
    """
    service(TenantSettingsService).check_reading(router.caller.tenant)
    if chat_id is not None:
        check_chat(router.caller, chat_id, reason)
    found = service(RecallPreview).find(
        router.caller.tenant, agent_id, q, chat_id=chat_id, tokens=tokens
    )
    note_seen(found.people_of_rules)
    items = (RecalledMessage.from_parts(one.message, one.text, one.score) for one in found.entries)
    return RecallList(items=tuple(items), tokens=found.tokens)


@router.post("/v1/recall/rebuild", "Rebuild the recall index of all chats", status=202)
def rebuild_recall() -> RebuildResource:
    """Needed after the model for embeddings was changed.

    Until messages are indexed again, recall finds them by their words only.
    """
    return RebuildResource.of(service(RecallRebuilds).request(router.caller.tenant))


@router.post(
    "/v1/agents/<agent_id>/recall/rebuild", "Rebuild the recall index of an agent", status=202
)
def rebuild_agent_recall(agent_id: AgentId) -> RebuildResource:
    """A job updates the index of the agent's chats. Meanwhile, recall keeps working."""
    rebuilds = service(RecallRebuilds)
    return RebuildResource.of(rebuilds.request(router.caller.tenant, agent_id=agent_id))


@router.post(
    "/v1/chats/<chat_id>/recall/rebuild", "Rebuild the recall index of a chat", 409, status=202
)
def rebuild_chat_recall(chat_id: ChatId) -> RebuildResource:
    """A job updates the indexes of all agents of the chat. Meanwhile, recall keeps working."""
    rebuilds = service(RecallRebuilds)
    return RebuildResource.of(rebuilds.request(router.caller.tenant, chat_id=chat_id))
