"""Requests and resources of the HTTP API: threads."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field

from skein.models.api.base import ChangeRequest, Id, IdOfAgent, IdOfChat, Page, Request, Resource
from skein.models.chats.membership import Membership
from skein.models.common.base import EntityId, Instant
from skein.models.common.json_types import JsonBool
from skein.workspace.models.thread import (
    Concern,
    Evidence,
    Learned,
    Thread,
    ThreadFields,
    ThreadProgressFields,
    ThreadStatus,
)


class NewThread(ThreadFields, Request):
    """A new thread of an agent."""

    concern: Concern


class ThreadChange(ThreadProgressFields, ThreadFields, ChangeRequest):
    """Changes to a thread. Omitted fields stay unchanged; null removes a text.

    `evidence` and `learned` are given with `status` only.
    """

    concern: Concern | None = None
    active: Annotated[
        JsonBool | None, Field(description="Whether the thread is the active one.")
    ] = None
    status: Annotated[
        ThreadStatus | None,
        Field(description="End the thread, or open an ended one again."),
    ] = None
    evidence: Evidence = None
    learned: Learned = None


class ThreadResource(ThreadProgressFields, ThreadFields, Resource):
    """A thread: a unit of work of an agent."""

    id: Id
    concern: Concern
    status: Annotated[ThreadStatus, Field(description="The current state.")]
    active: Annotated[
        bool,
        Field(description="Whether runs begin with this thread, unless the chat pins another."),
    ]
    evidence: Evidence
    learned: Learned
    chat_ids: Annotated[tuple[str, ...], Field(description="The chats that the thread belongs to.")]
    source_chat_id: Annotated[
        str | None, Field(description="The chat in which the thread was created.")
    ]
    started_at: Annotated[Instant, Field(description="When it started; null before.")]
    completed_at: Annotated[
        Instant | None, Field(description="When the thread was completed; null if it was not.")
    ]
    archived_at: Annotated[
        Instant | None, Field(description="When the thread was archived; null if it was not.")
    ]

    @classmethod
    def of(cls, thread: Thread, active_id: str | None = None) -> Self:
        """Build the resource of a thread.

        Args:
            active_id: The id of the thread that is active in the scope of `thread`, if any.
        """
        derived = {
            "active": thread.live and thread.id == active_id,
            "started_at": thread.created_at,
            "completed_at": thread.ended_at if thread.status == "completed" else None,
            "archived_at": thread.ended_at if thread.status == "archived" else None,
        }
        stored = set(cls.model_fields) - set(derived)
        return cls(**{name: getattr(thread, name) for name in stored}, **derived)


class ThreadPage(Page[ThreadResource]):
    """A page of threads, open ones first."""


class TrainingUnit(Resource):
    """A completed thread as one line of training data, in the format of fine-tuning APIs."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    messages: Annotated[
        tuple[dict[str, Any], ...],
        Field(description="Messages with `role`, `content`, `tool_calls` and `tool_call_id`."),
    ]
    tools: Annotated[
        tuple[dict[str, Any], ...],
        Field(description="The tools that the messages call; omitted if there are none."),
    ] = ()


class Pinning(Request):
    """The thread with which an agent begins its runs in one chat."""

    pinned_thread_id: Annotated[
        EntityId | None,
        Field(description="An open thread of the agent; null unpins the current one."),
    ]


class NoteResource(Resource):
    """An agent summary: the agent's own view of where a chat stands."""

    text: Annotated[str, Field(description="The text.")]
    from_seq: Annotated[int, Field(description="The first message that the summary covers.")]
    seq: Annotated[int, Field(description="The newest message that the summary covers.")]
    at: Annotated[Instant, Field(description="When the summary was made.")]


class AgentInChatResource(Resource):
    """An agent's membership of one chat."""

    chat_id: IdOfChat
    agent_id: IdOfAgent
    pinned_thread_id: Annotated[
        str | None,
        Field(description="The thread with which the agent's runs begin in this chat; null: none."),
    ]
    joined_seq: Annotated[int, Field(description="The chat's `last_seq` when the agent joined.")]
    seen_seq: Annotated[int, Field(description="The newest message that the agent was shown.")]
    summary: Annotated[
        NoteResource | None, Field(description="The agent summary; null if there is none.")
    ]

    @classmethod
    def of(cls, membership: Membership) -> Self:
        summary = membership.summary
        return cls(
            chat_id=membership.chat_id,
            agent_id=membership.member.id,
            pinned_thread_id=membership.pinned_thread_id,
            joined_seq=membership.joined_seq,
            seen_seq=membership.seen_seq,
            summary=summary and NoteResource(**summary.model_dump(exclude={"audience"})),
        )
