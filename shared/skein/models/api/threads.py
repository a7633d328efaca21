"""Requests and resources of the HTTP API: threads."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from skein.models.api.base import EntityId, Request, Resource
from skein.models.chats.chat import Membership
from skein.models.common.base import Instant
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.workspace.skill import SkillLabel, SkillLabels
from skein.models.workspace.thread import (
    Aim,
    Blocking,
    BoundSkills,
    Concern,
    EndedThreadStatus,
    Finding,
    Thread,
    ThreadDocuments,
    ThreadKind,
    ThreadNote,
    ThreadPriority,
    ThreadStatus,
)

Priority = Annotated[ThreadPriority, Field(description="1 is the most important."), NUMBER]
Documents = Annotated[ThreadDocuments, Field(description="Names of the agent's documents.")]
Mode = Annotated[
    SkillLabel, Field(description="The mode of work; prompts include the skills of this mode.")
]
Tags = Annotated[SkillLabels, Field(description="Prompts include the skills with these tags.")]
Bound = Annotated[BoundSkills, Field(description="Names of skills that prompts always include.")]


class NewThread(Request):
    """A new thread of an agent."""

    concern: Annotated[Concern, Field(description="What the thread is about.")]
    goal: Aim | None = None
    deliverable: Aim | None = None
    kind: ThreadKind = "exploratory"
    documents: Documents = ()
    mode: Annotated[Mode | None, Field(description="Null: derived from the documents.")] = None
    skill_tags: Tags = ()
    bound_skills: Bound = ()
    priority: Priority = 2
    approach: ThreadNote | None = None


class ThreadChange(Request):
    """Changes to a thread. Omitted fields stay unchanged; null removes a text."""

    clearable: ClassVar[frozenset[str]] = frozenset(
        {"goal", "deliverable", "mode", "approach", "progress", "blocking"}
    )

    concern: Concern | None = None
    goal: Aim | None = None
    deliverable: Aim | None = None
    kind: ThreadKind | None = None
    documents: Documents | None = None
    mode: Mode | None = None
    skill_tags: Tags | None = None
    bound_skills: Bound | None = None
    priority: Priority | None = None
    approach: ThreadNote | None = None
    progress: ThreadNote | None = None
    blocking: Blocking | None = None
    active: Annotated[
        JsonBool | None, Field(description="Whether the thread is the active one.")
    ] = None
    status: Annotated[
        EndedThreadStatus | None,
        Field(description="End the thread; this cannot be undone."),
    ] = None
    evidence: Annotated[
        Finding | None, Field(description="How to tell that the work is done; only with `status`.")
    ] = None
    learned: Annotated[
        Finding | None,
        Field(description="What the agent learned beyond the work; only with `status`."),
    ] = None


class ThreadResource(Resource):
    """A thread: a unit of work of an agent."""

    id: str
    concern: str
    goal: str | None
    deliverable: str | None
    kind: ThreadKind
    documents: tuple[str, ...]
    mode: str | None
    skill_tags: tuple[str, ...]
    bound_skills: tuple[str, ...]
    priority: int
    approach: str | None
    progress: str | None
    blocking: str | None
    status: ThreadStatus
    active: Annotated[
        bool,
        Field(description="Whether runs begin with this thread, unless the chat pins another."),
    ]
    evidence: str | None
    learned: str | None
    chat_ids: Annotated[tuple[str, ...], Field(description="The chats that the thread belongs to.")]
    source_chat_id: Annotated[
        str | None, Field(description="The chat in which the thread was created.")
    ]
    started_at: Instant
    completed_at: Instant | None
    archived_at: Instant | None

    @classmethod
    def of(cls, thread: Thread, active_id: str | None) -> Self:
        """Build the resource of a thread.

        Args:
            active_id: The id of the active thread of the same scope, if any.
        """
        stored = set(cls.model_fields) - {"active"}
        values = {name: getattr(thread, name) for name in stored}
        return cls(**values, active=thread.status == "open" and thread.id == active_id)


class ThreadPage(Resource):
    """A page of threads, open ones first."""

    items: tuple[ThreadResource, ...]
    next_cursor: str | None


class TrainingUnit(Resource):
    """A completed thread as one line of training data, in the format of fine-tuning APIs."""

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

    text: str
    from_seq: Annotated[int, Field(description="The first message that the summary covers.")]
    seq: Annotated[int, Field(description="The newest message that the summary covers.")]
    at: Instant


class AgentInChatResource(Resource):
    """An agent's membership of one chat."""

    chat_id: str
    agent_id: str
    pinned_thread_id: str | None
    joined_seq: Annotated[int, Field(description="The chat's `last_seq` when the agent joined.")]
    seen_seq: Annotated[int, Field(description="The newest message that the agent was shown.")]
    summary: Annotated[
        NoteResource | None, Field(description="The agent summary; null if there is none.")
    ]

    @classmethod
    def of(cls, membership: Membership) -> Self:
        """Build the resource of an agent's membership."""
        summary = membership.summary
        return cls(
            chat_id=membership.chat_id,
            agent_id=membership.member.id,
            pinned_thread_id=membership.pinned_thread_id,
            joined_seq=membership.joined_seq,
            seen_seq=membership.seen_seq,
            summary=summary and NoteResource(**summary.model_dump(exclude={"audience"})),
        )
