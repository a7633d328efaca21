"""A document that is kept for one person moves to whom that person has turned out to be."""

from skein.models.document import Document, Folder, Shelf, listed_with
from skein.models.memory import touched
from skein.models.storage import Condition, Delete, Is, Item, Missing, Put, Write, all_of
from skein.ports import Table

MOST_NAMES = 100  # that are tried for one document


def document_moved(table: Table, item: Item, folder: Folder, old: str, new: str) -> list[Write]:
    """The writes that move a document, under another name where its own is taken.

    Both may hold what is nowhere else, so none gives way to the other.

    Args:
        table: Where it is.
        item: The document as it was read.
        folder: Where it is to be kept; an agent's, for one person.
        old: Who the person was taken for.
        new: Who they are.

    Raises:
        LookupError: No name is free.
    """
    document = Document.from_item(item)
    as_read = all_of(Is("version", document.version), Is("generation", document.generation))
    moved = _free(table, document, folder)
    audience = moved.audience.renamed(old, new)
    moved = moved.model_copy(update={"audience": audience})
    writes: list[Write] = [
        Put(moved.key, moved.to_item(), Missing()),
        Delete(document.key, as_read),
        touched(folder.tenant, folder.agent_id or "", folder.scope),
    ]
    if moved.on_show:
        writes.append(_shelved(table, moved, folder))
    return writes


def _free(table: Table, document: Document, folder: Folder) -> Document:
    for number in range(1, MOST_NAMES + 1):
        ending = f" ({number})" if number > 1 else ""
        name = f"{document.name[: 200 - len(ending)]}{ending}"
        moved = document.model_copy(update={"scope": folder.scope, "name": name})
        if table.get(moved.key) is None:
            return moved
    raise LookupError(f"{MOST_NAMES} documents of one name")


def _shelved(table: Table, document: Document, folder: Folder) -> Write:
    """What puts it on show there, beside what is on show already, however many these are."""
    shelf = Shelf.found_in(table.get(folder.shelf_key))
    ids = listed_with(shelf.documents, document.id, listed=True)
    as_read: Condition = Is("version", shelf.version) if shelf.version else Missing()
    after = Shelf(documents=ids, version=shelf.version + 1)
    return Put(folder.shelf_key, after.attributes(), as_read)
