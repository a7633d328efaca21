"""Lists of the documents within reach of an agent, as far as they may be shown where it is."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from skein.models.document import Document, DocumentReach
from skein.ports import Table
from skein.services.common.pagination import items_under

ROWS = 10  # read at once: a document may be large


class Place(NamedTuple):
    """Where a document stands in such a list.

    Attributes:
        folder: Of `DocumentReach.folders`, counted from 0.
        id: The document's.
    """

    folder: int
    id: str


class Shown(NamedTuple):
    """One page: documents by where they stand, and whether others follow."""

    documents: dict[Place, Document]
    more: bool


def list_shown(
    table: Table, reach: DocumentReach, *, limit: int, after: Place | None = None
) -> Shown:
    """The documents within reach that may be shown, folder after folder; others leave no gap.

    Args:
        table: Where they live.
        reach: What is looked through.
        limit: How many to show at most.
        after: Where an earlier page ended.
    """
    found = list(islice(_shown(table, reach, after), limit + 1))
    return Shown(dict(found[:limit]), len(found) > limit)


def _shown(
    table: Table, reach: DocumentReach, after: Place | None
) -> Iterator[tuple[Place, Document]]:
    for number, folder in enumerate(reach.folders):
        behind = folder.key(after.id).sk if after and number == after.folder else None
        if after is not None and number < after.folder:
            continue
        for item in items_under(table, folder.partition, Document.PREFIX, after=behind, rows=ROWS):
            document = Document.from_item(item)
            if reach.shows(document):
                yield Place(number, document.id), document
