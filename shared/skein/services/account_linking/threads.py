"""What becomes of open threads when a person they are kept for turns out to be somebody known."""

from collections.abc import Mapping, Sequence

from skein.models.storage import Delete, Is, Item, Key, Missing, Put, Write, at_version
from skein.models.thread import MAX_ON_BENCH, Thread, Workbench
from skein.ports import Table


def bench_moved(
    table: Table,
    item: Item,
    partition: str,
    scope: str,
    old: str,
    new: str,
    names: Mapping[str, str],
) -> Sequence[Write]:
    """The writes that lay all threads of one bench on another one.

    Those for which there is no place are archived.

    Args:
        table: Where the other one may be.
        item: The bench, as it was read.
        partition: Of the other one.
        scope: The same, as things there say it.
        old: The id of the person that it was kept for.
        new: Whom they have turned out to be.
        names: What documents are called now that have moved under other names.
    """
    key, moving = Key(item["pk"], item["sk"]), Workbench.from_item(item)
    there = Key(partition, item["sk"])
    bench = Workbench.found_in(table.get(there))
    threads = [_renamed(thread, old, new, scope).listing(names) for thread in moving.threads]
    snapshot = MAX_ON_BENCH - len(bench.threads)
    merged = bench.model_copy(
        update={
            "threads": (*bench.threads, *threads[:snapshot]),
            "active_thread_id": bench.active_thread_id or moving.active_thread_id,
            "version": bench.version + 1,
        }
    )
    writes: list[Write] = [
        Delete(key, Is("version", moving.version)),
        Put(there, merged.attributes(), at_version(bench.version)),
    ]
    for thread in threads[snapshot:]:
        archived = thread.model_copy(
            update={"status": "archived", "archived_at": thread.updated_at}
        )
        writes.append(Put(archived.ended_key, archived.attributes(), Missing()))
    return writes


def bench_renamed(item: Item, old: str, new: str) -> Sequence[Write]:
    """The writes that let all threads of a bench say `new` where they say `old`."""
    bench = Workbench.from_item(item)
    threads = tuple(_renamed(thread, old, new, thread.scope) for thread in bench.threads)
    if threads == bench.threads:
        return ()
    renamed = bench.model_copy(update={"threads": threads, "version": bench.version + 1})
    key = Key(item["pk"], item["sk"])
    return (Put(key, renamed.attributes(), Is("version", bench.version)),)


def _renamed(thread: Thread, old: str, new: str, scope: str | None) -> Thread:
    audience = thread.audience.renamed(old, new)
    return thread.model_copy(update={"audience": audience, "scope": scope})
