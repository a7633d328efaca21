"""Threads: units of work that own documents and skills, and the index of open threads."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints

from skein.models.common.audience import Audience
from skein.models.common.base import Identifier, Instant, Stored, key_part, rfc3339
from skein.models.common.ownership import OwnedItem, owned_partition
from skein.models.common.provenance import made_keys
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.workspace.document import LISTS, DocumentName, Folder
from skein.models.workspace.skill import SkillLabel, SkillLabels, SkillName

ThreadKind = Literal["exploratory", "deliverable"]
ThreadStatus = Literal["open", "completed", "archived"]
EndedThreadStatus = Literal["completed", "archived"]

OPEN_THREADS = f"{LISTS}THREADS"
RUN_LINK = SortKeyPrefix("RUNLINK#")
ENDED_THREAD = SortKeyPrefix("THREAD#").ended
MAX_OPEN_THREADS = 10  # open threads per partition that may be shown to the same readers
MAX_KEPT_OPEN_THREADS = 20  # including hidden ones
MAX_THREAD_DOCUMENTS = 10
MAX_THREAD_SKILLS = 10
MAX_THREAD_CHATS = 100

Concern = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
Aim = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)]
ThreadNote = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]
Blocking = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]
Finding = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]
ThreadPriority = Annotated[int, Field(ge=1, le=5)]
DEFAULT_PRIORITY = 2
ThreadDocuments = Annotated[tuple[DocumentName, ...], Field(max_length=MAX_THREAD_DOCUMENTS)]
BoundSkills = Annotated[tuple[SkillName, ...], Field(max_length=MAX_THREAD_SKILLS)]


class Thread(OwnedItem):
    """A unit of work of an agent, with its documents, skills and progress.

    Attributes:
        id: `thr_<ulid>`, or an id that follows from the effect of the run that made the thread.
        concern: The subject of the work.
        goal: The goal of the work.
        deliverable: The expected result.
        kind: `exploratory` threads find something out, `deliverable` threads make something.
        documents: The names of the agent's documents that belong to the thread.
        mode: How the work is done; the thread gets the skills of this mode.
        skill_tags: Tags of the subject; the thread gets the skills with these tags.
        bound_skills: Skills that were bound explicitly.
        priority: 1 (first) to 5.
        approach: How the agent approaches the work.
        progress: The progress so far.
        blocking: The obstacle that blocks the work.
        evidence: The evidence that the work is done.
        learned: Findings beyond the work itself.
        chat_ids: The chats in which the thread was made, changed, switched to or pinned.
        source_run_id: The run that last changed the thread.
        version: A number that every change raises.
    """

    TEXTS: ClassVar = (
        *("concern", "goal", "deliverable", "approach", "progress"),
        *("blocking", "evidence", "learned"),
    )

    id: Identifier
    concern: Concern
    goal: Aim | None = None
    deliverable: Aim | None = None
    kind: ThreadKind = "exploratory"
    documents: ThreadDocuments = ()
    mode: SkillLabel | None = None
    skill_tags: SkillLabels = ()
    bound_skills: BoundSkills = ()
    priority: ThreadPriority = DEFAULT_PRIORITY
    approach: ThreadNote | None = None
    progress: ThreadNote | None = None
    blocking: Blocking | None = None
    status: ThreadStatus = "open"
    evidence: Finding | None = None
    learned: Finding | None = None
    chat_ids: Annotated[tuple[Identifier, ...], Field(max_length=MAX_THREAD_CHATS)] = ()
    version: int = 1
    started_at: Instant
    updated_at: Instant
    completed_at: Instant | None = None
    archived_at: Instant | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The free texts of the thread, and the names of its documents."""
        return (*super().texts, *self.documents)

    @staticmethod
    def ended_key_of(tenant: str, agent_id: str, scope: str | None, thread_id: str) -> Key:
        """Return the key of a completed or archived thread; the thread index holds open threads."""
        return Key(owned_partition(tenant, agent_id, scope), f"{ENDED_THREAD}{key_part(thread_id)}")

    @property
    def ended_key(self) -> Key:
        """The key of this thread once it is completed or archived."""
        return self.ended_key_of(self.tenant, self.agent_id, self.scope, self.id)

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
        return self.priority, self.started_at.isoformat(), self.id

    def with_renamed_documents(self, names: Mapping[str, str]) -> Self:
        """Return the thread with documents renamed; `names` maps old names to new names."""
        return self.model_copy(
            update={"documents": tuple(names.get(each, each) for each in self.documents)}
        )

    def in_chat(self, chat_id: str | None) -> Self:
        """Return the thread with this chat added to its chats; keeps the newest 100."""
        if chat_id is None or chat_id in self.chat_ids:
            return self
        return self.model_copy(update={"chat_ids": (*self.chat_ids, chat_id)[-MAX_THREAD_CHATS:]})


class ThreadIndex(Stored):
    """The open threads of one partition and the active thread, in one item.

    One item means that a prompt reads all open threads in one call, and that one optimistic lock
    covers them.

    Attributes:
        threads: The open threads, oldest first.
        active_thread_id: The active thread. In a private scope, it may be a thread of the open
            thread index.
        version: The optimistic lock: every change raises it.
    """

    threads: Annotated[tuple[Thread, ...], Field(max_length=MAX_KEPT_OPEN_THREADS)] = ()
    active_thread_id: Identifier | None = None
    version: int = 0

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None) -> Key:
        """Return the key of a thread index, in the partition of goals and plans."""
        return Key(owned_partition(tenant, agent_id, scope), OPEN_THREADS)

    @classmethod
    def from_optional(cls, item: Item | None) -> Self:
        """Return the thread index of an item, or an empty one."""
        return cls() if item is None else cls.from_item(item)

    def to_item(self) -> Item:
        """Return the thread index as table attributes, in the index of all its source chats."""
        chats = [chat_id for thread in self.threads for chat_id in thread.made_from.chats]
        one = next(iter(self.threads), None)
        if one is None:
            return self.attributes()
        at = rfc3339(one.created_at)
        return self.attributes() | made_keys(one.tenant, one.agent_id, chats, at)

    def find(self, thread_id: str | None) -> Thread | None:
        """Return the open thread with this id; None if there is none."""
        return next((thread for thread in self.threads if thread.id == thread_id), None)

    def with_thread(self, thread: Thread) -> Self:
        """Return the thread index with a thread replaced by id, or added at the end."""
        if self.find(thread.id) is None:
            return self._with(threads=(*self.threads, thread))
        return self._with(
            threads=tuple(thread if each.id == thread.id else each for each in self.threads)
        )

    def without(self, thread_id: str) -> Self:
        """Return the thread index without a thread; no thread is active if this one was."""
        active = None if self.active_thread_id == thread_id else self.active_thread_id
        threads = tuple(each for each in self.threads if each.id != thread_id)
        return self._with(threads=threads, active_thread_id=active)

    def switched_to(self, thread_id: str | None) -> Self:
        """Return the thread index with another active thread, or none."""
        return self._with(active_thread_id=thread_id)

    def _with(self, **changes: Any) -> Self:
        return self.model_copy(update=changes)


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
    ) -> Key:
        """Return the key of a thread's link to an activation; keys sort by run."""
        sk = f"{ThreadRunLink.prefix_of(thread_id)}{key_part(run_id)}#{activation:03d}"
        return Key(owned_partition(tenant, agent_id, scope), sk)


class ThreadEffect(Stored):
    """The result of a run's change to a thread, which also makes the change idempotent."""

    thread_id: Identifier
