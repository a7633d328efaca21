"""What an agent has before it: documents on show, its open threads, and the skills of its work.

Their ids come with what is read first: an agent's shelves and workbenches stand beside its goals,
and a chat knows its own. So they are fetched together with all else that is read by its key
(`agent/reading/reader.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.models.audience import Audience, may_show
from skein.models.chat import Chat, Membership
from skein.models.document import SHELF, Document, DocumentReach, Folder, Shelf
from skein.models.ownership import owned_partition, scopes_at
from skein.models.run import Run
from skein.models.skill import CORE, SkillCatalog
from skein.models.storage import Item, Key
from skein.models.thread import BENCH, Thread, Workbench
from skein.services.workspace.skill_selection import (
    Selection,
    keys_of_skills,
    known_heads,
    selection,
    skills_for,
)
from skein.services.workspace.thread_changes import document_in, document_keys


class ShownDocument(NamedTuple):
    """A document in a prompt.

    Attributes:
        document: None where there is none of this name any more.
        of_chat: The active chat owns it.
    """

    name: str
    document: Document | None
    of_chat: bool = False


@dataclass(frozen=True, slots=True)
class OpenThreads:
    """The open threads that may be shown at one place.

    Attributes:
        active: The one that the agent is at.
        pending: The others, the most important first.
        of_chat: It is the one that the chat has pinned.
        here: It belongs to the audience of the place itself.
    """

    active: Thread | None = None
    pending: tuple[Thread, ...] = ()
    of_chat: bool = False
    here: bool = False

    @property
    def keys(self) -> list[Key]:
        """Where the documents of the active one stand."""
        return document_keys(self.active, self.active.documents) if self.active else []

    def documents(self, found: Mapping[Key, Item], place: Audience) -> tuple[ShownDocument, ...]:
        """The documents of the active one, from what was read; those that are gone by name."""
        if self.active is None:
            return ()
        thread = self.active
        return tuple(
            ShownDocument(name, document_in(thread, name, found, place))
            for name in thread.documents
        )


NO_THREADS = OpenThreads()


def open_threads(
    run: Run,
    chat: Chat | None,
    member: Membership | None,
    scope: str | None,
    owned: Sequence[Item],
    place: Audience,
) -> OpenThreads:
    """The threads that are open for a run that looks at `chat`.

    A run stays with the thread that it was shown or has switched to. At first that is the one
    pinned to the chat in which it was triggered, else the one that is active for the audience of
    the place. One that has ended, or may not be shown there, is passed over.

    Args:
        run: Whose.
        chat: None for no chat.
        member: The agent's place in it.
        scope: Which of the agent's partitions holds what it makes there.
        owned: What was read of the agent's partitions.
        place: Who will read what is said.
    """
    benches = {item["pk"]: Workbench.from_item(item) for item in owned if item["sk"] == BENCH}
    threads = {
        thread.id: thread
        for bench in benches.values()
        for thread in bench.threads
        if may_show(thread.audience, place)
    }
    here = benches.get(owned_partition(run.tenant, run.agent_id, scope))
    home = chat is not None and chat.id == run.chat_id
    pin = member.pinned_thread_id if member is not None and home else None
    wanted = (run.active_thread_id, pin, here.active_thread_id if here else None)
    active_id = next((each for each in wanted if each in threads), None)
    active = threads.pop(active_id) if active_id is not None else None
    return OpenThreads(
        active=active,
        pending=tuple(sorted(threads.values(), key=lambda thread: thread.order)),
        of_chat=active is not None and active.id == pin,
        here=active is not None and active.scope == scope,
    )


@dataclass(frozen=True, slots=True)
class Material:
    """What is to be fetched.

    Attributes:
        documents: Those on show: where each is kept, and its id.
        threads: Those that are open.
    """

    tenant: str
    documents: tuple[tuple[Folder, str], ...]
    threads: OpenThreads

    @property
    def keys(self) -> list[Key]:
        """The keys of all of it, each once.

        Which skills a thread has is known for sure only with the tenant's catalog of them; these
        are those that would come with ours.
        """
        documents = [folder.key(document_id) for folder, document_id in self.documents]
        skills = keys_of_skills(self.tenant, self._skills(SkillCatalog()))
        catalog = [SkillCatalog.key_of(self.tenant)] if self.threads.active else []
        return list(dict.fromkeys([*documents, *self.threads.keys, *skills, *catalog]))

    def more_keys(self, found: Mapping[Key, Item]) -> list[Key]:
        """The keys of skills of the tenant's own that come with the thread, too; mostly none."""
        catalog = SkillCatalog.found_in(found.get(SkillCatalog.key_of(self.tenant)))
        own = {head.name for head in catalog.heads}
        names = [name for name in self._skills(catalog) if name in own]
        return [key for key in keys_of_skills(self.tenant, names) if key not in found]

    def _skills(self, catalog: SkillCatalog) -> tuple[str, ...]:
        thread = self.threads.active
        return (CORE,) if thread is None else skills_of(thread, catalog)

    def found_documents(
        self, found: Mapping[Key, Item], place: Audience
    ) -> tuple[ShownDocument, ...]:
        """Those on show that are there and may be shown at `place`.

        What the active thread shows is not shown twice.
        """
        of_thread = self.threads.documents(found, place)
        twice = {each.document.key for each in of_thread if each.document is not None}
        shown = []
        for folder, document_id in self.documents:
            item = found.get(folder.key(document_id))
            if item is None or folder.key(document_id) in twice:  # deleted this very moment
                continue
            document = Document.from_item(item)
            if DocumentReach(folders=(folder,), place=place).shows(document):
                shown.append(
                    ShownDocument(document.name, document, of_chat=folder.chat_id is not None)
                )
        return tuple(shown)

    def found_skills(self, found: Mapping[Key, Item]) -> Selection:
        """The skills, from what was read of the tenant's own, and else ours."""
        catalog = SkillCatalog.found_in(found.get(SkillCatalog.key_of(self.tenant)))
        return selection(self.tenant, self._skills(catalog), found)


def skills_of(thread: Thread, catalog: SkillCatalog) -> tuple[str, ...]:
    """The names of a thread's skills: `core`, the bound ones, those of its mode, of its tags."""
    heads = known_heads(catalog).values()
    bound, mode, tags = thread.bound_skills, thread.mode, thread.skill_tags
    return skills_for(heads, bound=bound, mode=mode, tags=tags)


def material_of(
    tenant: str,
    agent_id: str,
    scope: str | None,
    chat: Chat | None,
    owned: Sequence[Item],
    threads: OpenThreads,
) -> Material:
    """What is on show for an agent that looks at `chat`: its open things, its others, the chat's.

    Args:
        tenant: Whose.
        agent_id: Whose.
        scope: Which of the agent's partitions holds what it makes there.
        chat: None for a run without one.
        owned: What was read of the agent's partitions.
        threads: Those that are open there.
    """
    shelves = {item["pk"]: Shelf.from_item(item) for item in owned if item["sk"] == SHELF}
    documents: list[tuple[Folder, str]] = []
    for each in scopes_at(scope):
        shelf = shelves.get(owned_partition(tenant, agent_id, each))
        if shelf is not None:
            folder = Folder(tenant=tenant, agent_id=agent_id, scope=each)
            documents += [(folder, document_id) for document_id in shelf.documents]
    if chat is not None:
        folder = Folder(tenant=tenant, chat_id=chat.id)
        documents += [(folder, document_id) for document_id in chat.documents]
    return Material(tenant, tuple(documents), threads)
