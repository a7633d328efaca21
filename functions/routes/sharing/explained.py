"""Routes that explain who may see what (function `admin_api`)."""

from typing import Annotated, Protocol

from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.router import ApiRouter
from routes.scope import OfChat, OfUser, WhyPrivate, check_chat, in_scope
from skein.bootstrap import service
from skein.errors import NotFound, Unprocessable
from skein.memory.memories import Memories
from skein.models.api.base import MAX_SEQ
from skein.models.common.base import EntityId
from skein.models.visibility.ownership import DerivedItem, Reach
from skein.planning.goals import Goals
from skein.planning.plans import Plans
from skein.services.directory.agents import Agents
from skein.sharing.explained import MAX_EXPLAINED, Explanations
from skein.sharing.explained_api import (
    ExplainedMessageResource,
    ExplainedMessages,
    ExplanationResource,
    ItemKind,
)
from skein.workspace.documents import Documents
from skein.workspace.models.document import Document, DocumentReach, Folder
from skein.workspace.threads import Threads

router = ApiRouter("sharing", "sharing", role="support")

Kind = Annotated[
    ItemKind,
    Path(
        description="The kind of item. `chat_document`: of the chat `chat_id`; `own_words`: a "
        "memory of what the person of the chat `chat_id` wrote alone; `chat_summary` and "
        "`agent_summary`: of a chat."
    ),
]
ItemId = Annotated[
    EntityId, Path(description="The id of the item; of a summary, that of its chat.")
]
InWhichChat = Annotated[EntityId, Query(description="The chat of the messages.")]
Reader = Annotated[EntityId, Query(description="The person who would see it.")]
InChat = Annotated[
    EntityId | None,
    Query(description="The chat in which the person would see it; omitted: wherever they can."),
]
OfAgent = Annotated[EntityId, Query(description="The agent that has the item, or is shown it.")]
FirstSeq = Annotated[int, Query(ge=1, le=MAX_SEQ, description="The first message.")]
LastSeq = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_SEQ,
        description=f"The last one, at most {MAX_EXPLAINED} in all; omitted: only the first.",
    ),
]


class Gets(Protocol):
    """A service that returns an agent's item by its id."""

    def get(self, reach: Reach, item_id: str, /) -> DerivedItem: ...


OF_AGENTS: dict[ItemKind, type[Gets]] = {
    "memory": Memories,
    "goal": Goals,
    "plan": Plans,
    "thread": Threads,
}


@router.get("/v1/sharing/why", "Explain whether a person can see messages", 404)
def explain_messages(
    chat_id: InWhichChat,
    reader_id: Reader,
    from_seq: FirstSeq,
    *,
    to_seq: LastSeq = None,
    in_chat_id: InChat = None,
    reason: WhyPrivate = None,
) -> ExplainedMessages:
    """Explains each message: what allows the reader to see it now, or why they may not.

    What allows it is presence, a consent or a sharing rule. The response has no text of the
    messages.
    """
    last = from_seq if to_seq is None else to_seq
    if not from_seq <= last < from_seq + MAX_EXPLAINED:
        raise Unprocessable(f"to_seq must be from_seq or up to {MAX_EXPLAINED - 1} more")
    tenant = router.caller.tenant
    check_chat(router.caller, chat_id, reason)
    if in_chat_id is not None:
        check_chat(router.caller, in_chat_id, reason)
    explanations = service(Explanations)
    readers = explanations.readers(tenant, reader_id, in_chat_id)
    found = explanations.of_messages(tenant, chat_id, range(from_seq, last + 1), readers)
    return ExplainedMessages(items=tuple(map(ExplainedMessageResource.made, found)))


@router.get("/v1/sharing/why/<kind>/<item_id>", "Explain whether a person can see an item")
def explain_item(
    kind: Kind,
    item_id: ItemId,
    agent_id: OfAgent,
    reader_id: Reader,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    in_chat_id: InChat = None,
    reason: WhyPrivate = None,
) -> ExplanationResource:
    """The item is found by its agent and scope, as in the routes of its kind."""
    caller, explanations = router.caller, service(Explanations)
    if in_chat_id is not None:
        check_chat(caller, in_chat_id, reason)
    readers = explanations.readers(caller.tenant, reader_id, in_chat_id)
    agent = service(Agents).get(caller.tenant, agent_id)
    if kind in {"chat_summary", "agent_summary"}:
        check_chat(caller, item_id, reason)
        found = explanations.of_summary(agent, item_id, readers, by_agent=kind == "agent_summary")
        return ExplanationResource.of(found)
    if kind == "own_words":
        check_chat(caller, _given(chat_id), reason)
        found = explanations.of_own_words(agent, _given(chat_id), item_id, readers)
        return ExplanationResource.of(found)
    reach = in_scope(caller, agent_id, user_id, chat_id, reason)
    thing = _item(kind, item_id, reach, chat_id)
    return ExplanationResource.of(explanations.of_item(agent, thing, readers))


def _item(kind: ItemKind, item_id: str, reach: Reach, chat_id: str | None) -> DerivedItem:
    """Return an item within the caller's reach."""
    if kind not in {"document", "chat_document"}:
        return service(OF_AGENTS[kind]).get(reach, item_id)
    if Document.id_of(item_id) != item_id:
        raise NotFound("document not found")
    folder = Folder(tenant=reach.tenant, agent_id=reach.agent_id, scope=reach.scopes[0])
    if kind == "chat_document":
        folder = Folder(tenant=reach.tenant, chat_id=_given(chat_id))
    return service(Documents).get(DocumentReach(folders=(folder,)), item_id)


def _given(chat_id: str | None) -> str:
    """Return the chat's id, which is required for an item that belongs to a chat.

    Raises:
        Unprocessable: The request has no `chat_id`.
    """
    if chat_id is None:
        raise Unprocessable("give the chat_id of the item's chat")
    return chat_id
