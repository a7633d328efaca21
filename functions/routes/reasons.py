"""Route that tells why a message has no answer, for operators."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import ApiRouter, ChatId, documented
from routes.audited import reads
from skein.bootstrap.api import services
from skein.models.api.base import MAX_SEQ
from skein.models.api.reasons import MessageReasonsResource

router = ApiRouter()

Seq = Annotated[int, Path(ge=1, le=MAX_SEQ, description="A message's `seq`.")]


@router.get(
    "/v1/chats/<chat_id>/messages/<seq>/reasons",
    summary="Get the reasons why a message has no answer",
    tags=["messages"],
    responses=documented(200, MessageReasonsResource, 404),
    middlewares=reads("message"),
)
def get_reasons(chat_id: ChatId, seq: Seq) -> MessageReasonsResource:
    """Ids, statuses and reasons only, without the message's text."""
    found = services().reason_views.of_message(router.caller.tenant, chat_id, seq)
    return MessageReasonsResource.of(found)
