"""Threads: units of work that own documents and skills, and the bench on which open ones lie."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from skein.models.audience import Audience
from skein.models.base import Identifier, Instant, Stored, key_part
from skein.models.document import ALWAYS, DocumentName, Folder
from skein.models.ownership import Owned, owned_partition
from skein.models.skill import Mark, Marks, SkillName
from skein.models.storage import Item, Key, SortKeyPrefix

ThreadKind = Literal["exploratory", "deliverable"]
ThreadStatus = Literal["open", "completed", "archived"]

BENCH = f"{ALWAYS}WORKBENCH"
STINT = SortKeyPrefix("STINT#")
ENDED_THREAD = SortKeyPrefix("THREAD#").ended
MAX_ON_BENCH = 10  # open threads of one partition that may be shown in one place
MAX_KEPT_ON_BENCH = 20  # with those that are hidden there
MAX_THREAD_DOCUMENTS = 10
MAX_THREAD_SKILLS = 10
MAX_THREAD_CHATS = 100

Concern = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
Aim = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)]
ThreadNote = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]
Blocking = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]
Finding = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]
ThreadPriority = Annotated[int, Field(ge=1, le=5)]
ThreadDocuments = Annotated[tuple[DocumentName, ...], Field(max_length=MAX_THREAD_DOCUMENTS)]
BoundSkills = Annotated[tuple[SkillName, ...], Field(max_length=MAX_THREAD_SKILLS)]


class Thread(Owned):
    """A unit of work of an agent: what it is about, what belongs to it and how far it is.

    Attributes:
        id: `thr_<ulid>`, or what follows from the effect of a run that made it.
        concern: What it is about.
        goal: What is to be reached.
        deliverable: What is to be there in the end.
        kind: `exploratory` finds something out, `deliverable` makes something.
        documents: The names of the agent's documents that belong to it.
        mode: How the work is done; skills of the mode come with it.
        skill_tags: What the work is about; skills with these tags come with it.
        bound_skills: Skills that were chosen by hand.
        priority: 1 comes first.
        approach: How it is gone about.
        progress: How far it is.
        blocking: What holds it up.
        evidence: How it can be told that it is done.
        learned: What came of it beyond the work itself.
        chat_ids: The chats it belongs to: where it was made, changed, taken up or pinned.
        source_run_id: The run that changed it last.
        version: Raised by every change.
    """

    id: Identifier
    concern: Concern
    goal: Aim | None = None
    deliverable: Aim | None = None
    kind: ThreadKind = "exploratory"
    documents: ThreadDocuments = ()
    mode: Mark | None = None
    skill_tags: Marks = ()
    bound_skills: BoundSkills = ()
    priority: ThreadPriority = 2
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

    @staticmethod
    def ended_key_of(tenant: str, agent_id: str, scope: str | None, thread_id: str) -> Key:
        """Return the key of a thread that is completed or archived; open ones lie on the bench."""
        return Key(owned_partition(tenant, agent_id, scope), f"{ENDED_THREAD}{key_part(thread_id)}")

    @property
    def ended_key(self) -> Key:
        """Where this thread stands once it is no longer open."""
        return self.ended_key_of(self.tenant, self.agent_id, self.scope, self.id)

    @property
    def folders(self) -> tuple[Folder, ...]:
        """Where its documents are kept: among those for its audience, else among the open ones."""
        scopes = dict.fromkeys((self.scope, None))
        return tuple(
            Folder(tenant=self.tenant, agent_id=self.agent_id, scope=scope) for scope in scopes
        )

    @property
    def order(self) -> tuple[int, str, str]:
        """What to sort by: the most important first, then the oldest."""
        return self.priority, self.started_at.isoformat(), self.id

    def listing(self, names: Mapping[str, str]) -> Self:
        """The thread, whose documents go by other names: the new ones by the former ones."""
        return self.model_copy(
            update={"documents": tuple(names.get(each, each) for each in self.documents)}
        )

    def in_chat(self, chat_id: str | None) -> Self:
        """The thread, which belongs to this chat, too; the newest 100 are kept."""
        if chat_id is None or chat_id in self.chat_ids:
            return self
        return self.model_copy(update={"chat_ids": (*self.chat_ids, chat_id)[-MAX_THREAD_CHATS:]})


class Workbench(Stored):
    """The open threads of one partition and which of them is active, in one item.

    So a prompt reads them all in one call, and of two that change something at once one reads anew.

    Attributes:
        threads: The open ones, the oldest first.
        active_thread_id: The active one; that of a private audience may lie on the open bench.
        version: Raised by every change, which holds only for the version that it read.
    """

    threads: Annotated[tuple[Thread, ...], Field(max_length=MAX_KEPT_ON_BENCH)] = ()
    active_thread_id: Identifier | None = None
    version: int = 0

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None) -> Key:
        """The key of a partition's bench; it comes with the query that reads goals and plans."""
        return Key(owned_partition(tenant, agent_id, scope), BENCH)

    @classmethod
    def found_in(cls, item: Item | None) -> Self:
        """The bench of an item; an empty one where there is none."""
        return cls() if item is None else cls.from_item(item)

    def find(self, thread_id: str | None) -> Thread | None:
        """The open thread of this id."""
        return next((thread for thread in self.threads if thread.id == thread_id), None)

    def with_thread(self, thread: Thread) -> Self:
        """The bench with this thread in the place of the one of its id, or at the end."""
        if self.find(thread.id) is None:
            return self._with(threads=(*self.threads, thread))
        return self._with(
            threads=tuple(thread if each.id == thread.id else each for each in self.threads)
        )

    def without(self, thread_id: str) -> Self:
        """The bench without this thread, which is then active no more."""
        active = None if self.active_thread_id == thread_id else self.active_thread_id
        threads = tuple(each for each in self.threads if each.id != thread_id)
        return self._with(threads=threads, active_thread_id=active)

    def switched_to(self, thread_id: str | None) -> Self:
        """The bench with another thread active, or none."""
        return self._with(active_thread_id=thread_id)

    def _with(self, **changes: Any) -> Self:
        return self.model_copy(update=changes)


class ThreadRunLink(Stored):
    """That an activation worked with a thread active: what the thread's export is made from.

    Attributes:
        activation: Which one of the run; None for all of a run's that was stored without it.
        audience: Who was there for everything that the activation was shown; None if unknown.
    """

    thread_id: Identifier
    run_id: Identifier
    activation: int | None = None
    audience: Audience | None = None
    shown_at: Instant

    @staticmethod
    def prefix_of(thread_id: str) -> str:
        """What the sort keys of a thread's stints start with."""
        return f"{STINT}{key_part(thread_id)}#"

    @staticmethod
    def key_of(
        tenant: str,
        agent_id: str,
        scope: str | None,
        thread_id: str,
        run_id: str,
        activation: int | None = None,
    ) -> Key:
        """Return the key of an activation's stint at a thread, in the order of the runs."""
        partition = owned_partition(tenant, agent_id, scope)
        which = "" if activation is None else f"#{activation:03d}"
        return Key(partition, f"{ThreadRunLink.prefix_of(thread_id)}{key_part(run_id)}{which}")


class ThreadDone(Stored):
    """What came of a change that a run made to a thread; also the mark that it was made."""

    thread_id: Identifier
