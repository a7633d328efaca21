"""Documents that are kept for one person move to whom that person has turned out to be."""

from collections.abc import Iterable

from skein.models.document import RENAMED, Document, Folder, Renamed, Shelf, listed_with
from skein.models.memory import touched
from skein.models.storage import (
    Delete,
    Is,
    Item,
    Missing,
    Put,
    Write,
    all_of,
    at_version,
)
from skein.ports import Table
from skein.services.workspace.document_names import under_free_name


def move_documents(
    table: Table, items: Iterable[Item], folder: Folder, old: str, new: str
) -> dict[str, str]:
    """Move those of `items` that are documents.

    Args:
        table: Where they are.
        items: All that was read of what is kept there.
        folder: Where they are to be kept; an agent's, for one person.
        old: Who the person was taken for.
        new: Who they are.

    Returns:
        Their new names by their former ones, where they differ; also of those that were moved by a
        worker that died before it was done.

    Raises:
        ConditionFailed: Something was changed meanwhile; look again.
        Conflict: No name is free for one.
    """
    names: dict[str, str] = {}
    documents: list[Item] = []
    for item in items:
        if Document.PREFIX.holds(item):
            documents.append(item)
        elif RENAMED.holds(item):
            names |= Renamed.from_item(item).by_old
    for item in documents:
        names |= _move(table, item, folder, old, new)
    return names


def _move(table: Table, item: Item, folder: Folder, old: str, new: str) -> dict[str, str]:
    """Move a document, under another name where its own is taken.

    Both may hold what is nowhere else, so none gives way to the other. The new name is written down
    where the document was, in the same transaction: threads that list it move later.

    Returns:
        Its new name by its former one, where they differ.
    """
    document = Document.from_item(item)
    as_read = all_of(Is("version", document.version), Is("generation", document.generation))
    moved = under_free_name(table, document, folder, first=1)
    audience = moved.audience.renamed(old, new)
    moved = moved.model_copy(update={"audience": audience})
    writes: list[Write] = [
        Put(moved.key, moved.to_item(), Missing()),
        Delete(document.key, as_read),
        touched(folder.tenant, folder.agent_id or "", folder.scope),
    ]
    renamed = Renamed(old=document.name, new=moved.name)
    if renamed.old != renamed.new:
        writes.append(Put(document.folder.renamed_key(renamed.old), renamed.attributes()))
    if moved.on_show:
        writes.append(_shelved(table, moved, folder))
    table.transact(writes)
    return renamed.by_old


def _shelved(table: Table, document: Document, folder: Folder) -> Write:
    """What puts it on show there, beside what is on show already, however many these are."""
    shelf = Shelf.found_in(table.get(folder.shelf_key))
    ids = listed_with(shelf.documents, document.id, listed=True)
    after = Shelf(documents=ids, version=shelf.version + 1)
    return Put(folder.shelf_key, after.attributes(), at_version(shelf.version))
