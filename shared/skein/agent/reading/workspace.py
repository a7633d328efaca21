"""The workspace of a reading: pinned documents, open threads, and skills.

Round one of the reader yields the ids: lists of pinned documents and open threads are stored
beside the agent's goals, and a chat stores its own documents' ids. Round two then gets the items
together with all others that are read by key (`agent/reading/reader.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.models.chats.chat import Chat, Membership
from skein.models.common.audience import Audience, may_show
from skein.models.common.ownership import owned_partition, scopes_at
from skein.models.common.storage import Item, Key
from skein.models.runs.run import Run
from skein.models.workspace.document import PINS, Document, DocumentReach, Folder, PinnedDocuments
from skein.models.workspace.skill import CORE, SkillCatalog
from skein.models.workspace.thread import ActiveThread, Thread
from skein.services.workspace.skill_selection import (
    NOTHING_CHOSEN,
    Selection,
    all_heads,
    keys_of_skills,
    selection,
    skills_for,
)
from skein.services.workspace.thread_changes import document_in, document_keys


class ShownDocument(NamedTuple):
    """A document in a prompt.

    Attributes:
        document: The document; None if no document has this name any more.
        of_chat: Whether the active chat owns the document.
    """

    name: str
    document: Document | None
    of_chat: bool = False


@dataclass(frozen=True, slots=True)
class OpenThreads:
    """The open threads that may be shown to the readers of a chat.

    Attributes:
        pending: The other threads, most important first.
        of_chat: Whether the active thread is the one pinned to the chat.
        here: Whether the active thread is in the scope of the chat itself.
    """

    active: Thread | None = None
    pending: tuple[Thread, ...] = ()
    of_chat: bool = False
    here: bool = False

    @property
    def keys(self) -> list[Key]:
        """The keys of the active thread's documents."""
        return document_keys(self.active, self.active.documents) if self.active else []

    def documents(self, found: Mapping[Key, Item], readers: Audience) -> tuple[ShownDocument, ...]:
        """Return the active thread's documents; deleted ones by name alone."""
        if self.active is None:
            return ()
        thread = self.active
        return tuple(
            ShownDocument(name, document_in(thread, name, found, readers))
            for name in thread.documents
        )


NO_THREADS = OpenThreads()


def open_threads(
    run: Run,
    chat: Chat | None,
    member: Membership | None,
    scope: str | None,
    owned: Sequence[Item],
    readers: Audience,
) -> OpenThreads:
    """Return the open threads of a run in its active chat.

    The active thread is the first of these that is open and may be shown: the run's own active
    thread, the thread pinned to the chat if the run belongs there, and the active thread of
    the scope.

    Args:
        chat: The active chat; None for none.
        member: The agent's membership in the active chat.
        scope: The scope of the agent's items that are made in the chat.
        owned: The agent's items that were read.
        readers: The readers of the chat.
    """
    found = [Thread.from_item(item) for item in owned if Thread.PREFIX.holds(item)]
    threads = {thread.id: thread for thread in found if may_show(thread.audience, readers)}
    key = ActiveThread.key_of(run.tenant, run.agent_id, scope)
    here = next((item["thread_id"] for item in owned if (item["pk"], item["sk"]) == key), None)
    home = chat is not None and chat.id == run.own_chat_id
    pin = member.pinned_thread_id if member is not None and home else None
    wanted = (run.active_thread_id, pin, here)
    active_id = next((each for each in wanted if each in threads), None)
    active = threads.pop(active_id) if active_id is not None else None
    return OpenThreads(
        active=active,
        pending=tuple(sorted(threads.values(), key=lambda thread: thread.order)),
        of_chat=active is not None and active.id == pin,
        here=active is not None and active.scope == scope,
    )


@dataclass(frozen=True, slots=True)
class Workspace:
    """The documents, threads and skills that may be shown.

    Attributes:
        documents: The pinned documents: the agent's, then the chat's.
        thread_documents: The documents of the active thread; deleted ones by name alone.
        skills: The skills of the active thread, or `core` alone without one.
    """

    documents: tuple[ShownDocument, ...] = ()
    threads: OpenThreads = NO_THREADS
    thread_documents: tuple[ShownDocument, ...] = ()
    skills: Selection = NOTHING_CHOSEN


@dataclass(frozen=True, slots=True)
class WorkspaceKeys:
    """The pinned documents, threads and skills that a reading gets by key.

    Attributes:
        documents: The folder and the id of each pinned document.
    """

    tenant: str
    documents: tuple[tuple[Folder, str], ...]
    threads: OpenThreads

    @property
    def keys(self) -> list[Key]:
        """The keys of the documents and skills, each once.

        A thread's skills depend on the tenant's skill catalog, which is not read yet. The keys are
        those of the skills with an empty catalog; `more_keys` returns the others.
        """
        documents = [folder.key(document_id) for folder, document_id in self.documents]
        skills = keys_of_skills(self.tenant, self._skills(SkillCatalog()))
        catalog = [SkillCatalog.key_of(self.tenant)] if self.threads.active else []
        return list(dict.fromkeys([*documents, *self.threads.keys, *skills, *catalog]))

    def more_keys(self, found: Mapping[Key, Item]) -> list[Key]:
        """Return the keys of the thread's further skills from the tenant's catalog; often none."""
        catalog = SkillCatalog.from_optional(found.get(SkillCatalog.key_of(self.tenant)))
        own = {head.name for head in catalog.heads}
        names = [name for name in self._skills(catalog) if name in own]
        return [key for key in keys_of_skills(self.tenant, names) if key not in found]

    def _skills(self, catalog: SkillCatalog) -> tuple[str, ...]:
        thread = self.threads.active
        return (CORE,) if thread is None else skills_of(thread, catalog)

    def found(self, found: Mapping[Key, Item], readers: Audience) -> Workspace:
        """Return the workspace, from all that was read, for the readers of a chat."""
        return Workspace(
            documents=self._found_documents(found, readers),
            threads=self.threads,
            thread_documents=self.threads.documents(found, readers),
            skills=self._found_skills(found),
        )

    def _found_documents(
        self, found: Mapping[Key, Item], readers: Audience
    ) -> tuple[ShownDocument, ...]:
        """Return the pinned documents that exist and may be shown to the readers.

        Documents of the active thread are left out, so that a prompt shows no document twice.
        """
        of_thread = self.threads.documents(found, readers)
        twice = {each.document.key for each in of_thread if each.document is not None}
        shown = []
        for folder, document_id in self.documents:
            item = found.get(folder.key(document_id))
            if item is None or folder.key(document_id) in twice:  # None: deleted a moment ago
                continue
            document = Document.from_item(item)
            if DocumentReach(folders=(folder,), readers=readers).shows(document):
                shown.append(
                    ShownDocument(document.name, document, of_chat=folder.chat_id is not None)
                )
        return tuple(shown)

    def _found_skills(self, found: Mapping[Key, Item]) -> Selection:
        """Return the selected skills: the tenant's own version, or else the built-in one."""
        catalog = SkillCatalog.from_optional(found.get(SkillCatalog.key_of(self.tenant)))
        return selection(self.tenant, self._skills(catalog), found)


def skills_of(thread: Thread, catalog: SkillCatalog) -> tuple[str, ...]:
    """Return the names of a thread's skills: `core`, bound, by mode and by tags."""
    heads = all_heads(catalog).values()
    bound, mode, tags = thread.bound_skills, thread.mode, thread.skill_tags
    return skills_for(heads, bound=bound, mode=mode, tags=tags)


def workspace_keys(
    tenant: str,
    agent_id: str,
    scope: str | None,
    chat: Chat | None,
    owned: Sequence[Item],
    threads: OpenThreads,
) -> WorkspaceKeys:
    """Return the material for an agent in a chat: pinned documents, threads and skills.

    The documents are the agent's, scope by scope, then the chat's.

    Args:
        scope: The scope of the agent's items that are made in the chat.
        chat: The active chat; None for a run without a chat.
        owned: The agent's items that were read.
    """
    pins_by_scope = {
        item["pk"]: PinnedDocuments.from_item(item) for item in owned if item["sk"] == PINS
    }
    documents: list[tuple[Folder, str]] = []
    for each in scopes_at(scope):
        pins = pins_by_scope.get(owned_partition(tenant, agent_id, each))
        if pins is not None:
            folder = Folder(tenant=tenant, agent_id=agent_id, scope=each)
            documents += [(folder, document_id) for document_id in pins.documents]
    if chat is not None:
        folder = Folder(tenant=tenant, chat_id=chat.id)
        documents += [(folder, document_id) for document_id in chat.documents]
    return WorkspaceKeys(tenant, tuple(documents), threads)
