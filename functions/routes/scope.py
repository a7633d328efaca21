"""Query parameters that choose the scope of an agent's items in operators' requests."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from skein.bootstrap.api import services
from skein.errors import Unprocessable
from skein.models.common.base import EntityId
from skein.models.common.ownership import Reach

OfUser = Annotated[
    EntityId | None,
    Query(description="Items from the direct chats with this user; omitted: open items."),
]
OfChat = Annotated[
    EntityId | None,
    Query(description="Items from this private chat (a direct chat: its person's)."),
]


def reach_of(tenant: str, agent_id: str, user_id: str | None, chat_id: str | None) -> Reach:
    """Return the reach of a request, after checking that the agent, person or chat exists.

    Raises:
        NotFound: The agent, the person or the chat does not exist.
        Unprocessable: The request names both a person and a chat.
    """
    if user_id is not None and chat_id is not None:
        raise Unprocessable("give user_id or chat_id, not both")
    return services().agents.reach(tenant, agent_id, user_id=user_id, chat_id=chat_id)
