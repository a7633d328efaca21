"""Route that explains why a message has no answer, for operators."""

from routes.app import ChatId, Seq
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.models.api.reasons import MessageReasonsResource
from skein.services.chats.message_reasons import ReasonViews

router = ApiRouter("messages", "message", role="support")


@router.get(
    "/v1/chats/<chat_id>/messages/<seq>/reasons", "Get the reasons why a message has no answer"
)
def get_reasons(chat_id: ChatId, seq: Seq) -> MessageReasonsResource:
    """The response has ids, statuses and reasons, but no text of a message."""
    found = service(ReasonViews).of_message(router.caller.tenant, chat_id, seq)
    return MessageReasonsResource.of(found)
