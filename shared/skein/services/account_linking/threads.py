"""Merge of users: move open threads to the known user's scope, and rename their audiences."""

from collections.abc import Mapping, Sequence

from skein.models.common.storage import Delete, Is, Item, Key, Missing, Put, Write, at_version
from skein.models.workspace.thread import MAX_OPEN_THREADS, Thread, ThreadIndex
from skein.ports import Table


def index_moved(
    table: Table,
    item: Item,
    partition: str,
    scope: str,
    old: str,
    new: str,
    names: Mapping[str, str],
) -> Sequence[Write]:
    """Return the writes that move all threads of one thread index to another thread index.

    Threads over the limit of 10 open threads are archived.

    Args:
        table: The table, to read the destination.
        item: The thread index to move, as read.
        partition: The partition of the destination.
        scope: The scope of the destination.
        old: The id of the former user.
        new: The id of the known user.
        names: The new names of renamed documents, by former name.
    """
    key, moving = Key(item["pk"], item["sk"]), ThreadIndex.from_item(item)
    there = Key(partition, item["sk"])
    index = ThreadIndex.found_in(table.get(there))
    threads = [_renamed(thread, old, new, scope).listing(names) for thread in moving.threads]
    free = MAX_OPEN_THREADS - len(index.threads)
    merged = index.model_copy(
        update={
            "threads": (*index.threads, *threads[:free]),
            "active_thread_id": index.active_thread_id or moving.active_thread_id,
            "version": index.version + 1,
        }
    )
    writes: list[Write] = [
        Delete(key, Is("version", moving.version)),
        Put(there, merged.attributes(), at_version(index.version)),
    ]
    for thread in threads[free:]:
        archived = thread.model_copy(
            update={"status": "archived", "archived_at": thread.updated_at}
        )
        writes.append(Put(archived.ended_key, archived.attributes(), Missing()))
    return writes


def index_renamed(item: Item, old: str, new: str) -> Sequence[Write]:
    """Return the writes that replace `old` by `new` in the audiences of indexed threads."""
    index = ThreadIndex.from_item(item)
    threads = tuple(_renamed(thread, old, new, thread.scope) for thread in index.threads)
    if threads == index.threads:
        return ()
    renamed = index.model_copy(update={"threads": threads, "version": index.version + 1})
    key = Key(item["pk"], item["sk"])
    return (Put(key, renamed.attributes(), Is("version", index.version)),)


def _renamed(thread: Thread, old: str, new: str, scope: str | None) -> Thread:
    audience = thread.audience.renamed(old, new)
    return thread.model_copy(update={"audience": audience, "scope": scope})
