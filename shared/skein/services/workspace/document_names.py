"""Names of documents that give way to others: where two would be one, one gets a number."""

from skein.errors import Conflict
from skein.models.audience import may_show
from skein.models.document import Document, DocumentReach, Folder
from skein.models.storage import Is, Put, Write
from skein.models.thread import Workbench
from skein.ports import Table

MAX_NAMES = 100  # that are tried for one document
AT_ONCE = 5  # of them, since a document may be large


def under_free_name(table: Table, document: Document, folder: Folder, *, first: int) -> Document:
    """The document as it may be kept in a folder: under its own name, or one with a number.

    Args:
        table: Where it is looked whether a name is taken.
        document: As it is now.
        folder: Where it is to be kept.
        first: 1 to try its own name first, 2 if that is known to be taken.

    Raises:
        Conflict: No name is free.
    """
    for start in range(first, MAX_NAMES + 1, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, MAX_NAMES + 1))
        names = [numbered(document.name, number) for number in numbers]
        found = table.get_many([folder.key(name) for name in names])
        for name in names:
            if folder.key(name) not in found:
                return document.model_copy(update={"scope": folder.scope, "name": name})
    raise Conflict("no name is free for this document; choose another one")


def numbered(name: str, number: int) -> str:
    """A name with a number behind it, but for the first; 200 characters at most."""
    ending = f" ({number})" if number > 1 else ""
    return f"{name[: 200 - len(ending)]}{ending}"


def threads_renamed(
    table: Table, before: Document, after: Document, reach: DocumentReach
) -> list[Write]:
    """The writes by which open threads list a document by its new name.

    Args:
        table: Where they are.
        before: The document, which may not be shown within `reach`.
        after: The same under its new name.
        reach: Threads that are shown there cannot mean it.
    """
    folder, place = before.folder, reach.place
    if folder.agent_id is None or place is None:
        return []
    key = Workbench.key_of(folder.tenant, folder.agent_id, folder.scope)
    bench = Workbench.found_in(table.get(key))
    threads = tuple(
        each if may_show(each.audience, place) else each.listing({before.name: after.name})
        for each in bench.threads
    )
    if threads == bench.threads:
        return []
    changed = bench.model_copy(update={"threads": threads, "version": bench.version + 1})
    return [Put(key, changed.attributes(), Is("version", bench.version))]
