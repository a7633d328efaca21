"""Query parameters that choose the scope of an agent's items in operators' requests."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.app import AgentId, Principal
from skein.bootstrap import service
from skein.errors import Unprocessable
from skein.models.common.base import EntityId
from skein.models.common.ownership import Owner, Reach
from skein.services.directory.agents import Agents

OfUser = Annotated[
    EntityId | None,
    Query(description="Items from the direct chats with this user; omitted: open items."),
]
OfChat = Annotated[
    EntityId | None,
    Query(description="Items from this private chat (a direct chat: its person's)."),
]


def in_scope(
    caller: Principal, agent_id: AgentId, user_id: OfUser = None, chat_id: OfChat = None
) -> Reach:
    """Return the reach of a request, after checking that the agent, person or chat exists.

    Raises:
        NotFound: The agent, the person or the chat does not exist.
        Unprocessable: The request names both a person and a chat.
    """
    if user_id is not None and chat_id is not None:
        raise Unprocessable("give user_id or chat_id, not both")
    return service(Agents).reach(caller.tenant, agent_id, user_id=user_id, chat_id=chat_id)


def in_open_scope(caller: Principal, agent_id: AgentId) -> Owner:
    """Return the owner of the open items that operators create for an agent.

    Raises:
        NotFound: The agent does not exist.
    """
    agent = service(Agents).get(caller.tenant, agent_id)
    return Owner(tenant=agent.tenant, agent_id=agent.id, by_operator=True)
