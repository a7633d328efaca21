"""The scope of an agent's items in operators' requests, and the right to private content."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.app import AgentId, ChatId, Principal
from routes.audited import note_seen
from skein.bootstrap import service
from skein.errors import Forbidden, Unprocessable
from skein.models.common.base import EntityId
from skein.models.runs.run import Run
from skein.models.visibility.ownership import Owner, Reach
from skein.privacy.models.audit import MAX_REASON, MIN_REASON
from skein.services.chats.views import ChatViews
from skein.services.directory.agents import Agents

PRIVATE = "private content needs the scope 'privacy' and a reason"

OfUser = Annotated[
    EntityId | None,
    Query(description="Items from the direct chats with this user; omitted: open items."),
]
OfChat = Annotated[
    EntityId | None,
    Query(description="Items from this private chat (a direct chat: its person's)."),
]
WhyPrivate = Annotated[
    str | None,
    Query(
        min_length=MIN_REASON,
        max_length=MAX_REASON,
        pattern=r"\S",
        description="Why the operator needs private content, which takes the role `privacy`. The "
        "audit log keeps the reason.",
    ),
]


def sees_private(caller: Principal, reason: str | None) -> bool:
    """Return whether an operator may see private content, which requires a role and a reason."""
    return reason is not None and "privacy" in caller.roles


def check_private(caller: Principal, reason: str | None) -> None:
    """Check that an operator may read and change private content.

    Raises:
        Forbidden: The caller lacks the role `privacy` or does not give a reason.
    """
    if not sees_private(caller, reason):
        raise Forbidden(PRIVATE)


def check_chat(caller: Principal, chat_id: ChatId, reason: str | None) -> None:
    """Check that an operator may read and change content of a chat; see `check_private`.

    Raises:
        NotFound: The chat does not exist.
        Forbidden: The chat is private, and the caller may not see private content.
    """
    people = service(ChatViews).people_of_private(caller.tenant, chat_id)
    if people is not None:
        check_private(caller, reason)
        note_seen(people)


def note_run(run: Run) -> None:
    """Record the people whose private content is shown with a run."""
    if run.private:
        held = run.held.audience.people if run.held is not None else ()
        note_seen({*run.audience.people, *held})


def in_scope(
    caller: Principal,
    agent_id: AgentId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> Reach:
    """Return which of an agent's items a request may reach.

    Raises:
        Forbidden: The scope is private, and the caller may not see private content.
        NotFound: The agent, the person or the chat does not exist.
        Unprocessable: The request names both a person and a chat.
    """
    if user_id is not None and chat_id is not None:
        raise Unprocessable("give user_id or chat_id, not both")
    if user_id is not None or chat_id is not None:
        check_private(caller, reason)
        people = service(ChatViews).people_of_private(caller.tenant, chat_id) if chat_id else None
        note_seen(people or ([user_id] if user_id is not None else []))
    return service(Agents).reach(caller.tenant, agent_id, user_id=user_id, chat_id=chat_id)


def in_open_scope(caller: Principal, agent_id: AgentId) -> Owner:
    """Return the owner of the open items that operators create for an agent.

    Raises:
        NotFound: The agent does not exist.
    """
    agent = service(Agents).get(caller.tenant, agent_id)
    return Owner(tenant=agent.tenant, agent_id=agent.id, by_operator=True)
