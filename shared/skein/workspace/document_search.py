"""Search for documents by their words and their meaning, passage by passage."""

from dataclasses import dataclass
from typing import NamedTuple

from skein.ports import Table
from skein.recall.passages import Passage, passages_of
from skein.services.common.text_index import IndexCache
from skein.workspace.documents import shown_documents
from skein.workspace.models.document import Document, DocumentReach

PASSAGE = 900  # characters
MAX_DOCUMENTS = 500  # documents that one search reads
MAX_CHARACTERS = 500_000  # of all texts that one search reads; at most three seconds of CPU time


class FoundDocument(NamedTuple):
    """A document that matches a query.

    Attributes:
        folder: The position of the document's folder in `DocumentReach.folders`.
        offset: Where the best passage begins, in characters.
    """

    folder: int
    document: Document
    offset: int


class FoundDocuments(NamedTuple):
    """The documents that match a query, best first.

    Attributes:
        items: The documents.
        complete: Whether all texts within reach were searched.
    """

    items: tuple[FoundDocument, ...]
    complete: bool


class _Passage(NamedTuple):
    """A part of a document, and where it begins."""

    found: FoundDocument
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSearch:
    """The service that searches the documents of agents and chats."""

    table: Table
    indexes: IndexCache

    def search(self, reach: DocumentReach, query: str, *, limit: int) -> FoundDocuments:
        """Find the documents within reach that best match a query, best first.

        A document matches by its name or by a passage. One search reads at most 500 documents and
        500,000 characters.

        Args:
            reach: The folders to search, and the readers to whom the documents may be shown.
            query: What to search for; see `IndexCache.best`.
        """
        passages, complete = self._passages(reach)
        passages.sort(key=lambda each: each.found.document.updated_at, reverse=True)
        texts = [passage.text for passage in passages]
        best: dict[str, FoundDocument] = {}
        for position in self.indexes.best(texts, query):
            found = passages[position].found
            best.setdefault(f"{found.folder}:{found.document.id}", found)
        return FoundDocuments(tuple(best.values())[:limit], complete)

    def _passages(self, reach: DocumentReach) -> tuple[list[_Passage], bool]:
        """Read the passages of the documents, and return whether all were read."""
        passages: list[_Passage] = []
        left = MAX_CHARACTERS
        for count, (position, document) in enumerate(shown_documents(self.table, reach)):
            if count == MAX_DOCUMENTS or left <= 0:
                return passages, False
            for part in passages_of(document.text[:left], PASSAGE) or [Passage(0, "")]:
                found = FoundDocument(position.folder, document, part.start)
                passages.append(_Passage(found, f"{document.name}\n{part.text}"))
            left -= len(document.text)
        return passages, left >= 0
