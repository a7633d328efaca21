"""Merge of users: move documents from the former user's scope to the known user's."""

from collections.abc import Iterable

from skein.models.common.storage import (
    Delete,
    Is,
    Item,
    Missing,
    Put,
    Write,
    all_of,
    at_version,
)
from skein.models.memory.memory import touched
from skein.models.workspace.document import (
    RENAMED,
    Document,
    Folder,
    PinnedDocuments,
    Renamed,
    listed_with,
)
from skein.ports import Table
from skein.services.workspace.document_names import under_free_name


def move_documents(
    table: Table, items: Iterable[Item], folder: Folder, old: str, new: str
) -> dict[str, str]:
    """Move the documents among `items` to `folder` (safe to repeat after a crash).

    Args:
        table: The table.
        items: All items in the former user's scope, as read.
        folder: The destination: the folder of an agent for the known user.
        old: The id of the former user.
        new: The id of the known user.

    Returns:
        The new names by former name, for documents whose name changed. Documents that an earlier,
        crashed attempt moved are included.

    Raises:
        ConditionFailed: An item has changed since it was read; read again.
        Conflict: No name is free for one of the documents.
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
    """Move a document, under another name if its own name is taken.

    Two documents of the same name may have different content, so both are kept. The same
    transaction stores a new name in the former scope, because the threads that list the document
    move later.

    Returns:
        The new name by former name; empty if the name did not change.
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
        writes.append(_pin_write(table, moved, folder))
    table.transact(writes)
    return renamed.by_old


def _pin_write(table: Table, document: Document, folder: Folder) -> Write:
    """Return the write that pins the document in `folder`, without a limit on their number."""
    pins = PinnedDocuments.found_in(table.get(folder.pins_key))
    ids = listed_with(pins.documents, document.id, listed=True)
    after = PinnedDocuments(documents=ids, version=pins.version + 1)
    return Put(folder.pins_key, after.attributes(), at_version(pins.version))
