"""Routes of agents' threads and of chats' pinned threads, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import AgentId, ChatId, Limit, PageCursor
from routes.router import ApiRouter, no_content
from routes.scope import OfChat, OfUser, WhyPrivate, check_chat, in_open_scope, in_scope
from skein.agent.training_export import TrainingExport
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.services.common.pagination import DEFAULT_PAGE
from skein.workspace.api.threads import (
    AgentInChatResource,
    NewThread,
    Pinning,
    ThreadChange,
    ThreadPage,
    ThreadResource,
    TrainingUnit,
)
from skein.workspace.models.thread import Thread, ThreadStatus
from skein.workspace.pinning import Pins
from skein.workspace.threads import Threads

router = ApiRouter("threads", "thread", role="support")

JSON_LINES = "application/jsonl"

ThreadId = Annotated[EntityId, Path(description="The id of a thread.")]
ThreadsOf = Annotated[ThreadStatus | None, Query(description="Only threads with this status.")]


@router.post("/v1/agents/<agent_id>/threads", "Create a thread", 409)
def create_thread(agent_id: AgentId, new: NewThread) -> ThreadResource:
    """The thread does not become active.

    An agent may have at most `SKEIN_MAX_OPEN_THREADS` open threads.
    """
    owner = in_open_scope(router.caller, agent_id)
    threads = service(Threads)
    thread = router.once(
        Thread,
        lambda: threads.create(owner, new.model_dump()),
        lambda thread_id: threads.get(owner.reach, thread_id),
    )
    return ThreadResource.of(thread, None)


@router.get("/v1/agents/<agent_id>/threads", "List an agent's threads, open ones first")
def list_threads(
    agent_id: AgentId,
    *,
    status: ThreadsOf = None,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> ThreadPage:
    """Without `user_id` or `chat_id`, the threads of the open scope are listed."""
    reach = in_scope(router.caller, agent_id, user_id, chat_id, reason)
    page = service(Threads).list(reach, status=status, limit=limit, cursor=cursor)
    active = service(Threads).active_id(reach)
    items = tuple(ThreadResource.of(thread, active) for thread in page.items)
    return ThreadPage(items=items, next_cursor=page.next_cursor)


@router.get("/v1/agents/<agent_id>/threads/<thread_id>", "Get a thread")
def get_thread(
    agent_id: AgentId,
    thread_id: ThreadId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> ThreadResource:
    """Ended threads can still be read."""
    reach = in_scope(router.caller, agent_id, user_id, chat_id, reason)
    return ThreadResource.of(
        service(Threads).get(reach, thread_id), service(Threads).active_id(reach)
    )


@router.patch("/v1/agents/<agent_id>/threads/<thread_id>", "Update, resume or end a thread", 409)
def change_thread(
    agent_id: AgentId,
    thread_id: ThreadId,
    change: ThreadChange,
    *,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> ThreadResource:
    """An ended thread cannot be changed unless `status` opens it again."""
    reach = in_scope(router.caller, agent_id, user_id, chat_id, reason)
    thread = service(Threads).revise(reach, thread_id, change.given)
    return ThreadResource.of(thread, service(Threads).active_id(reach))


@router.delete("/v1/agents/<agent_id>/threads/<thread_id>", "Delete a thread")
def delete_thread(
    agent_id: AgentId,
    thread_id: ThreadId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> Response[None]:
    """Deletes the thread permanently. Its documents stay."""
    service(Threads).delete(in_scope(router.caller, agent_id, user_id, chat_id, reason), thread_id)
    return no_content()


@router.get(
    "/v1/agents/<agent_id>/threads/<thread_id>/export",
    "Export a completed thread as training data",
    409,
    media_type=JSON_LINES,
    model=TrainingUnit,
    audit="export",
)
def export_thread(
    agent_id: AgentId,
    thread_id: ThreadId,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    reason: WhyPrivate = None,
) -> Response[str]:
    """One line of JSON with `messages` and `tools`, in the format of fine-tuning APIs."""
    thread = service(Threads).get(
        in_scope(router.caller, agent_id, user_id, chat_id, reason), thread_id
    )
    return Response(200, JSON_LINES, f"{service(TrainingExport).unit(thread)}\n")


@router.put("/v1/chats/<chat_id>/agents/<agent_id>", "Set an agent's active thread in a chat", 409)
def pin_thread(
    chat_id: ChatId, agent_id: AgentId, pinning: Pinning, reason: WhyPrivate = None
) -> AgentInChatResource:
    """Runs that are triggered in the chat begin with this thread."""
    check_chat(router.caller, chat_id, reason)
    wanted = pinning.pinned_thread_id
    membership = service(Pins).pin(router.caller.tenant, chat_id, agent_id, wanted)
    return AgentInChatResource.of(membership)


@router.get(
    "/v1/chats/<chat_id>/agents/<agent_id>", "Get an agent's membership of a chat", audit="member"
)
def get_agent_in_chat(
    chat_id: ChatId, agent_id: AgentId, reason: WhyPrivate = None
) -> AgentInChatResource:
    """Shows the agent's state in the chat.

    It includes the newest message that the agent was shown (SEEN), the agent summary and the pinned
    thread.
    """
    check_chat(router.caller, chat_id, reason)
    return AgentInChatResource.of(service(Pins).membership(router.caller.tenant, chat_id, agent_id))
