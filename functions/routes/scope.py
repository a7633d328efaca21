"""Which of the things that an agent owns an operator asks about: open ones, or some people's."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from skein.bootstrap import app
from skein.errors import Unprocessable
from skein.models.api.base import EntityId
from skein.models.ownership import Reach

OfUser = Annotated[
    EntityId | None, Query(description="From the direct chats with this person, instead of open.")
]
OfChat = Annotated[EntityId | None, Query(description="From this private chat, instead of open.")]


def reach_of(tenant: str, agent_id: str, user_id: str | None, chat_id: str | None) -> Reach:
    """Where to look, once it is clear that there are such an agent and such a person or chat.

    Raises:
        NotFound: There is none.
        Unprocessable: Both a person and a chat are named.
    """
    if user_id is not None and chat_id is not None:
        raise Unprocessable("give user_id or chat_id, not both")
    return app().agents.reach(tenant, agent_id, user_id=user_id, chat_id=chat_id)
