"""Route that tells why a message has no answer, for operators."""

from routes.app import ChatId, Seq
from routes.router import ApiRouter
from skein.bootstrap.api import services
from skein.models.api.reasons import MessageReasonsResource

router = ApiRouter("messages", "message")


@router.get(
    "/v1/chats/<chat_id>/messages/<seq>/reasons", "Get the reasons why a message has no answer"
)
def get_reasons(chat_id: ChatId, seq: Seq) -> MessageReasonsResource:
    """The response has ids, statuses and reasons, but no text of a message."""
    found = services().reason_views.of_message(router.caller.tenant, chat_id, seq)
    return MessageReasonsResource.of(found)
