"""Threads: units of work with documents and skills, and which thread of a scope is active."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, StringConstraints

from skein.models.common.base import Identifier, Instant, Stored, key_part
from skein.models.common.json_types import NUMBER
from skein.models.common.storage import Key, SortKeyPrefix
from skein.models.items.agent_item import AgentItem
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import owned_partition
from skein.workspace.models.document import DocumentName, Folder
from skein.workspace.models.skill import SkillLabel, SkillLabels, SkillName

ThreadKind = Literal["exploratory", "deliverable"]
ThreadStatus = Literal["open", "completed", "archived"]
EndedThreadStatus = Literal["completed", "archived"]

ACTIVE_THREAD = "OWNED#ACTIVE"
RUN_LINK = SortKeyPrefix("RUNLINK#")
MAX_KEPT_OPEN_THREADS = 20  # open threads per partition, including hidden ones
MAX_THREAD_DOCUMENTS = 10
MAX_THREAD_SKILLS = 10
MAX_THREAD_CHATS = 100

Concern = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=300),
    Field(description="What the thread is about."),
]
Aim = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)]
ThreadNote = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]
Blocking = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]
Finding = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]
ThreadPriority = Annotated[int, Field(ge=1, le=5)]
DEFAULT_PRIORITY = 2
ThreadDocuments = Annotated[tuple[DocumentName, ...], Field(max_length=MAX_THREAD_DOCUMENTS)]
BoundSkills = Annotated[tuple[SkillName, ...], Field(max_length=MAX_THREAD_SKILLS)]


class ThreadFields(BaseModel):
    """The fields of a thread that have defaults."""

    goal: Annotated[Aim | None, Field(description="What the thread is to achieve.")] = None
    deliverable: Annotated[Aim | None, Field(description="What the work produces.")] = None
    kind: Annotated[
        ThreadKind,
        Field(
            description="Whether the thread explores a subject or produces a deliverable.",
        ),
    ] = "exploratory"
    documents: Annotated[
        ThreadDocuments,
        Field(description="Names of the agent's documents that belong to the thread."),
    ] = ()
    mode: Annotated[
        SkillLabel | None,
        Field(
            description="The mode of work; prompts include the skills of this mode. Null in a new "
            "thread: derived from the documents."
        ),
    ] = None
    skill_tags: Annotated[
        SkillLabels, Field(description="Prompts include the skills with these tags.")
    ] = ()
    bound_skills: Annotated[
        BoundSkills, Field(description="Names of skills that prompts always include.")
    ] = ()
    priority: Annotated[ThreadPriority, Field(description="1 is the most important."), NUMBER] = (
        DEFAULT_PRIORITY
    )
    approach: Annotated[
        ThreadNote | None, Field(description="How the agent goes about the work.")
    ] = None


class ThreadProgressFields(BaseModel):
    """The fields of a thread that its agent sets while it works on the thread."""

    progress: Annotated[ThreadNote | None, Field(description="How far the work has come.")] = None
    blocking: Annotated[Blocking | None, Field(description="What the work waits for.")] = None


Evidence = Annotated[Finding | None, Field(description="How to tell that the work is done.")]
Learned = Annotated[Finding | None, Field(description="What the agent learned beyond the work.")]


class Thread(ThreadProgressFields, ThreadFields, AgentItem):
    """A unit of work of an agent, with its documents, skills and progress.

    Attributes:
        id: `thr_<ulid>`, or an id derived from the effect of the run that created the thread.
        chat_ids: The chats in which the thread was made, changed, switched to or pinned.
        source_run_id: The run that last changed the thread.
    """

    TEXTS: ClassVar = (
        *("concern", "goal", "deliverable", "approach", "progress"),
        *("blocking", "evidence", "learned"),
    )

    # Sorts between goals and plans, so that their query reads it.
    WORKED_ON: ClassVar = True
    PREFIX: ClassVar = SortKeyPrefix("OWNED#THREAD#")
    LIVE_STATUS: ClassVar = "open"
    COUNTER: ClassVar = "threads"

    concern: Concern
    status: ThreadStatus = "open"
    evidence: Evidence = None
    learned: Learned = None
    chat_ids: Annotated[tuple[Identifier, ...], Field(max_length=MAX_THREAD_CHATS)] = ()
    updated_at: Instant

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The free texts of the thread, and the names of its documents."""
        return (*super().texts, *self.documents)

    @property
    def folders(self) -> tuple[Folder, ...]:
        """The folders of the thread's documents: the thread's scope first, then the open scope."""
        scopes = dict.fromkeys((self.scope, None))
        return tuple(
            Folder(tenant=self.tenant, agent_id=self.agent_id, scope=scope) for scope in scopes
        )

    @property
    def order(self) -> tuple[int, str, str]:
        """The sort key for lists: the most important thread first, then the oldest."""
        return self.priority, self.created_at.isoformat(), self.id

    def with_renamed_documents(self, names: Mapping[str, str]) -> "Thread":
        """Return the thread with documents renamed; `names` maps old names to new names."""
        return self.model_copy(
            update={"documents": tuple(names.get(each, each) for each in self.documents)}
        )

    def in_chat(self, chat_id: str | None) -> "Thread":
        """Return the thread with this chat added to its chats; keeps the newest 100."""
        if chat_id is None or chat_id in self.chat_ids:
            return self
        return self.model_copy(update={"chat_ids": (*self.chat_ids, chat_id)[-MAX_THREAD_CHATS:]})


class ActiveThread(Stored):
    """The active thread of a scope; a thread that has ended is not active.

    Attributes:
        thread_id: The thread. In a private scope, it may be a thread of the open scope.
    """

    thread_id: Identifier

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None) -> "Key[ActiveThread]":
        """Return the key of this item, in the partition of goals and plans."""
        return Key(owned_partition(tenant, agent_id, scope), ACTIVE_THREAD)


class ThreadRunLink(Stored):
    """A link from a thread to an activation in which the thread was active.

    The thread's export follows these links.

    Attributes:
        activation: The number of the activation in the run.
        audience: The people who were present for all content of the activation.
    """

    thread_id: Identifier
    run_id: Identifier
    activation: int
    audience: Audience
    shown_at: Instant

    @staticmethod
    def prefix_of(thread_id: str) -> str:
        """Return the sort key prefix of a thread's links."""
        return f"{RUN_LINK}{key_part(thread_id)}#"

    @staticmethod
    def key_of(
        tenant: str,
        agent_id: str,
        scope: str | None,
        thread_id: str,
        run_id: str,
        activation: int,
    ) -> "Key[ThreadRunLink]":
        """Return the key of a thread's link to an activation; keys sort by run."""
        sk = f"{ThreadRunLink.prefix_of(thread_id)}{key_part(run_id)}#{activation:03d}"
        return Key(owned_partition(tenant, agent_id, scope), sk)
