"""Threads as the HTTP API shows them (DESIGN section 7)."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from skein.models.api.base import EntityId, Request, Resource
from skein.models.chats.chat import Membership
from skein.models.common.base import Instant
from skein.models.workspace.skill import SkillLabel, SkillLabels
from skein.models.workspace.thread import (
    Aim,
    Blocking,
    BoundSkills,
    Concern,
    Finding,
    Thread,
    ThreadDocuments,
    ThreadKind,
    ThreadNote,
    ThreadPriority,
    ThreadStatus,
)

Priority = Annotated[ThreadPriority, Field(description="1 comes first.")]
Documents = Annotated[ThreadDocuments, Field(description="Names of the agent's documents.")]
Mode = Annotated[SkillLabel, Field(description="Skills of this mode come with it.")]
Tags = Annotated[SkillLabels, Field(description="Skills with these tags come with it.")]
Bound = Annotated[BoundSkills, Field(description="Names of skills that it has in any case.")]


class NewThread(Request):
    """A unit of work for an agent."""

    concern: Annotated[Concern, Field(description="What it is about.")]
    goal: Aim | None = None
    deliverable: Aim | None = None
    kind: ThreadKind = "exploratory"
    documents: Documents = ()
    mode: Annotated[Mode | None, Field(description="Null: follows from the documents.")] = None
    skill_tags: Tags = ()
    bound_skills: Bound = ()
    priority: Priority = 2
    approach: ThreadNote | None = None


class ThreadChange(Request):
    """What of a thread is to change; left out, a field stays, and null takes a text away."""

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
    active: Annotated[bool | None, Field(description="Make it the active one, or no longer.")] = (
        None
    )
    status: Annotated[
        Literal["completed", "archived"] | None, Field(description="End it, for good.")
    ] = None
    evidence: Annotated[
        Finding | None, Field(description="How it can be told that it is done; with `status`.")
    ] = None
    learned: Annotated[
        Finding | None, Field(description="What came of it besides; with `status`.")
    ] = None


class ThreadResource(Resource):
    """A unit of work of an agent."""

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
    active: Annotated[bool, Field(description="Runs begin with it, unless a chat pins another.")]
    evidence: str | None
    learned: str | None
    chat_ids: Annotated[tuple[str, ...], Field(description="The chats it belongs to.")]
    source_chat_id: Annotated[str | None, Field(description="The chat it comes from.")]
    started_at: Instant
    completed_at: Instant | None
    archived_at: Instant | None

    @classmethod
    def of(cls, thread: Thread, active_id: str | None) -> Self:
        """The resource of a thread, where this one is active."""
        stored = set(cls.model_fields) - {"active"}
        values = {name: getattr(thread, name) for name in stored}
        return cls(**values, active=thread.status == "open" and thread.id == active_id)


class ThreadPage(Resource):
    """A page of threads, open ones first."""

    items: tuple[ThreadResource, ...]
    next_cursor: str | None


class TrainingUnit(Resource):
    """A completed thread on one line, as APIs for fine-tuning take it."""

    messages: Annotated[
        tuple[dict[str, Any], ...],
        Field(description="With `role`, `content`, `tool_calls` and `tool_call_id`."),
    ]
    tools: Annotated[
        tuple[dict[str, Any], ...], Field(description="Those that are called; left out if none.")
    ] = ()


class Pinning(Request):
    """What an agent begins with in one chat."""

    pinned_thread_id: Annotated[
        EntityId | None, Field(description="An open thread of the agent's; null unpins.")
    ]


class NoteResource(Resource):
    """An agent's own note on where a chat stands."""

    text: str
    from_seq: Annotated[int, Field(description="The first message that it rests on.")]
    seq: Annotated[int, Field(description="The newest message that it covers.")]
    at: Instant


class AgentInChatResource(Resource):
    """An agent's place in one chat."""

    chat_id: str
    agent_id: str
    pinned_thread_id: str | None
    joined_seq: Annotated[int, Field(description="The chat's `last_seq` when it joined.")]
    seen_seq: Annotated[int, Field(description="The newest message that it was shown.")]
    summary: Annotated[NoteResource | None, Field(description="Null until it has made one.")]

    @classmethod
    def of(cls, place: Membership) -> Self:
        """The resource of an agent's membership."""
        note = place.summary
        return cls(
            chat_id=place.chat_id,
            agent_id=place.member.id,
            pinned_thread_id=place.pinned_thread_id,
            joined_seq=place.joined_seq,
            seen_seq=place.seen_seq,
            summary=note and NoteResource(**note.model_dump(exclude={"audience"})),
        )
