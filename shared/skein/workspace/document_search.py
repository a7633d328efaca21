"""Search for documents by their words and their meaning, passage by passage."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from skein.ports import Table
from skein.services.common.text_search import EmbeddingCache, best_texts
from skein.workspace.documents import shown_documents
from skein.workspace.models.document import Document, DocumentReach

PASSAGE = 1_000  # characters; an embedding uses the same number
MAX_DOCUMENTS = 500  # documents that one search reads
MAX_CHARACTERS = 500_000  # of all texts that one search reads; at most three seconds of CPU time
PASSAGES = 5  # passages ranked for each document of the answer


class FoundDocument(NamedTuple):
    """A document that matches a query.

    Attributes:
        folder: The index of the document's folder in the reach.
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
    """Search over the documents of agents and chats."""

    table: Table
    meanings: EmbeddingCache

    def search(self, reach: DocumentReach, query: str, *, limit: int) -> FoundDocuments:
        """Find the documents within reach that best match a query, best first.

        A document matches by its name or by a passage. One search reads at most 500 documents and
        500,000 characters.

        Args:
            reach: The folders to search, and the readers to whom the documents may be shown.
            query: What to search for; see `best_texts`.
        """
        passages, complete = self._passages(reach)
        passages.sort(key=lambda each: each.found.document.updated_at, reverse=True)
        texts = [passage.text for passage in passages]
        best: dict[str, FoundDocument] = {}
        for position in best_texts(texts, query, limit * PASSAGES, self.meanings):
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
            for offset, text in _parts(document.text[:left]):
                found = FoundDocument(position.folder, document, offset)
                passages.append(_Passage(found, f"{document.name}\n{text}"))
            left -= len(document.text)
        return passages, left >= 0


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Cut a text into passages at line breaks or spaces; an empty text is one passage."""
    start = 0
    while True:
        end = start + PASSAGE
        if end < len(text):
            middle = start + PASSAGE // 2
            cut = max(text.rfind("\n", middle, end), text.rfind(" ", middle, end))
            end = cut + 1 if cut > start else end
        yield start, text[start:end]
        start = end
        if start >= len(text):
            return
