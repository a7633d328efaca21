"""Route that tells why a message has no answer, for operators."""

from routes.app import ApiRouter, ChatId, Seq, documented
from routes.audited import reads
from skein.bootstrap.api import services
from skein.models.api.reasons import MessageReasonsResource

router = ApiRouter()


@router.get(
    "/v1/chats/<chat_id>/messages/<seq>/reasons",
    summary="Get the reasons why a message has no answer",
    tags=["messages"],
    responses=documented(200, MessageReasonsResource, 404),
    middlewares=reads("message"),
)
def get_reasons(chat_id: ChatId, seq: Seq) -> MessageReasonsResource:
    """The response has ids, statuses and reasons, but no text of a message."""
    found = services().reason_views.of_message(router.caller.tenant, chat_id, seq)
    return MessageReasonsResource.of(found)
