"""GLOBAL DOCUMENTS: the documents that are pinned for the agent or the active chat.

- What is read: the lists of pinned documents in the scopes of the chat, then, by key, the listed
  documents and the chat's own ones.
- What is kept: documents that exist and may be shown. Documents of the active thread are left out,
  because its own section shows them.
- Order: the agent's documents, scope by scope, then the chat's, each in the order of its list.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import Section, SectionInput
from skein.models.common.storage import Key
from skein.models.visibility.ownership import owned_partition, scopes_at
from skein.models.visibility.provenance import Authors
from skein.workspace.models.document import PINS, Document, Folder, PinnedDocuments
from skein.workspace.sections.document_text import (
    DOCUMENTS_SHARE,
    ShownDocument,
    documents_section,
    texts_of,
)
from skein.workspace.sections.threads import Threads


@dataclass(frozen=True, slots=True)
class Documents(SectionItems):
    """The pinned documents: the agent's, then the chat's."""

    documents: tuple[ShownDocument, ...] = ()
    owned = (PINS,)
    in_chat = ("documents",)
    optional = True

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        return [folder.key(document_id) for folder, document_id in _pinned(read)]

    @classmethod
    def found(cls, read: SectionReads) -> "Documents":
        """Keep the documents that exist, may be shown, and do not belong to the active thread."""
        of_thread = Threads.found(read).documents
        twice = {each.document.key for each in of_thread if each.document is not None}
        shown = []
        for folder, document_id in _pinned(read):
            key = folder.key(document_id)
            document = Document.read(read.found, key)
            if document is None or key in twice:  # None: deleted a moment ago
                continue
            if read.reach.shows(document):
                of_chat = folder.chat_id is not None
                shown.append(ShownDocument(document.name, document, of_chat=of_chat))
        return cls(tuple(shown))

    def authors(self) -> Iterable[Authors]:
        documents = (each.document for each in self.documents)
        return (document.authors for document in documents if document is not None)


def _pinned(read: SectionReads) -> Iterator[tuple[Folder, str]]:
    """Yield the folder and the id of each pinned document, in the order of the prompt."""
    tenant, agent_id, chat = read.run.tenant, read.run.agent_id, read.chat
    pins_by_scope = {
        item["pk"]: PinnedDocuments.from_item(item) for item in read.owned if item["sk"] == PINS
    }
    for scope in scopes_at(read.scope):
        pins = pins_by_scope.get(owned_partition(tenant, agent_id, scope))
        folder = Folder(tenant=tenant, agent_id=agent_id, scope=scope)
        yield from ((folder, document_id) for document_id in (pins.documents if pins else ()))
    if chat is not None:
        folder = Folder(tenant=tenant, chat_id=chat.id)
        yield from ((folder, document_id) for document_id in chat.documents)


def global_documents(given: SectionInput) -> Section | None:
    """Render the pinned documents, if there are any."""
    shown = given.reading.of(Documents).documents
    if not shown:
        return None
    own = [each for each in shown if not each.of_chat]
    of_chat = [each for each in shown if each.of_chat]

    def render(characters: int) -> str:
        parts = ["GLOBAL DOCUMENTS:", *texts_of(own, characters)]
        if of_chat:
            parts += ["  of the active chat:", *texts_of(of_chat, characters)]
        return "\n".join(parts)

    limit = given.tokens_left // DOCUMENTS_SHARE
    return documents_section("GLOBAL DOCUMENTS", render, shown, limit, given.counter)
