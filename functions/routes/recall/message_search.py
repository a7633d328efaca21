"""Route with which people search the messages of their chats."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.recall.api import FoundMessages, RecalledMessage
from skein.recall.message_search import MessageSearch

router = ApiRouter("me", "user")

DEFAULT_FOUND, MAX_FOUND = 20, 50

SearchText = Annotated[
    str, Query(min_length=1, max_length=500, description="The text to find messages by.")
]
MessageLimit = Annotated[int, Query(ge=1, le=MAX_FOUND, description="Maximum number of messages.")]


@router.get(
    "/v1/me/messages", "Search the messages of the caller's chats", audit=Unaudited(CONVERSATION)
)
def search_messages(q: SearchText, limit: MessageLimit = DEFAULT_FOUND) -> FoundMessages:
    """Finds messages by meaning, words, names and time, in the caller's 50 newest chats."""
    caller = router.caller
    found = service(MessageSearch).find(caller.tenant, caller.user_id, q, limit=limit)
    items = (RecalledMessage.from_parts(one.message, one.text, one.score) for one in found)
    return FoundMessages(items=tuple(items))
