"""Document names: resolve name collisions by adding a number to one name."""

from skein.errors import Conflict
from skein.models.common.storage import Query, Write
from skein.ports import Table
from skein.services.items.store import replaced
from skein.workspace.models.document import Document, DocumentReach, Folder
from skein.workspace.models.thread import Thread

MAX_NAMES = 100  # names to try for one document
NAMES_PER_READ = 5  # names per read, because a document can be 256 KiB


def under_free_name(table: Table, document: Document, folder: Folder, *, first: int) -> Document:
    """Return the document under a name that is free in `folder`, numbered if needed.

    Args:
        table: The table in which taken names are looked up.
        document: The document as stored now.
        folder: The destination folder.
        first: 1 tries the document's own name first; 2 skips that name, because it is taken.

    Raises:
        Conflict: All names up to number 100 are taken.
    """
    for start in range(first, MAX_NAMES + 1, NAMES_PER_READ):
        numbers = range(start, min(start + NAMES_PER_READ, MAX_NAMES + 1))
        names = [numbered(document.name, number) for number in numbers]
        found = table.get_many([folder.key(name) for name in names])
        for name in names:
            if folder.key(name) not in found:
                return document.model_copy(update={"scope": folder.scope, "name": name})
    raise Conflict("this document name and its numbered variants are taken; choose another name")


def numbered(name: str, number: int) -> str:
    """Append a number above 1 to a name, within 200 characters."""
    ending = f" ({number})" if number > 1 else ""
    return f"{name[: 200 - len(ending)]}{ending}"


def threads_renamed(
    table: Table, before: Document, after: Document, reach: DocumentReach
) -> list[Write]:
    """Return the writes that rename a document in the threads that list it.

    Args:
        before: The document, which may not be shown to the readers of `reach`.
        after: The document under its new name.
        reach: The readers and folders of the change that gives the name to another document. A
            thread that these readers may see stays the same, because such a thread cannot list a
            document that is hidden from the readers.
    """
    folder = before.folder
    if folder.agent_id is None or reach.readers is None:
        return []
    partition, names = folder.partition, {before.name: after.name}
    threads = Thread.each_of(table.query(Query.under(partition, Thread.PREFIX)).items)
    hidden = (thread for thread in threads if not reach.shows(thread))
    renamed = ((thread, thread.with_renamed_documents(names)) for thread in hidden)
    return [write for old, new in renamed if new != old for write in replaced(old, new)]
