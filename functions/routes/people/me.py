"""Routes of the caller's own user record."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter
from skein.bootstrap.api import services
from skein.models.api.directory import Myself, OwnChange
from skein.models.api.recall import FoundMessages, RecalledMessage

router = ApiRouter("me", "user")

DEFAULT_FOUND, MAX_FOUND = 20, 50

SearchText = Annotated[
    str, Query(min_length=1, max_length=500, description="The text to find messages by.")
]
MessageLimit = Annotated[int, Query(ge=1, le=MAX_FOUND, description="Maximum number of messages.")]


@router.get(
    "/v1/me", "Get the caller's profile", audit=Unaudited("the caller reads their own data")
)
def get_me() -> Myself:
    """A caller without a record gets the data of the token."""
    caller = router.caller
    user = services().users.me(caller.tenant, caller.person)
    return Myself.of(user, tenant=caller.tenant, scopes=caller.scopes)


@router.patch("/v1/me", "Update the caller's profile", 409)
def change_me(change: OwnChange) -> Myself:
    """A caller without a record gets one. A new name appears in the caller's chats."""
    caller = router.caller
    services().rate_limiter.admit_change(caller.tenant, caller.user_id)
    user = services().users.change_own(caller.tenant, caller.person, change)
    return Myself.of(user, tenant=caller.tenant, scopes=caller.scopes)


@router.get(
    "/v1/me/messages", "Search the messages of the caller's chats", audit=Unaudited(CONVERSATION)
)
def search_messages(q: SearchText, limit: MessageLimit = DEFAULT_FOUND) -> FoundMessages:
    """Finds messages by meaning, words, names and time, in the caller's 50 newest chats."""
    caller = router.caller
    found = services().message_search.find(caller.tenant, caller.user_id, q, limit=limit)
    items = (RecalledMessage.from_parts(one.message, one.text, one.score) for one in found)
    return FoundMessages(items=tuple(items))
