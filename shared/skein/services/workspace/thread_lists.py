"""Pages of an agent's threads: the open ones from the bench, then those that have ended."""

from skein.errors import Invalid
from skein.models.ownership import Reach
from skein.models.storage import Item
from skein.models.thread import ENDED_THREAD, Thread, ThreadStatus
from skein.ports import Table
from skein.services.common.pagination import DEFAULT_PAGE, Listing, RowCursor, list_owned
from skein.services.workspace.thread_storage import Found


def list_threads(
    table: Table,
    reach: Reach,
    status: ThreadStatus | None = None,
    *,
    limit: int = DEFAULT_PAGE,
    cursor: str | None = None,
) -> Listing[Thread]:
    """A page of the threads in one partition: the open ones by id, then the ended ones.

    Args:
        table: Where they live.
        reach: Whose; its first scope counts.
        status: Only these.
        limit: How many to read at most.
        cursor: Where an earlier page ended.

    Raises:
        Invalid: The cursor is not one of this list.
    """
    after = _bench_position(cursor, only_bench=status == "open")
    opened: list[Thread] = []
    if status in {None, "open"} and (cursor is None or after is not None):
        bench = Found.read(table, reach, None).bench(reach.scopes[0])
        shown = [thread for thread in bench.threads if reach.shows(thread)]
        # By id, so that one that has ended since still says where to go on.
        later = [thread for thread in shown if after is None or thread.id > after]
        opened = sorted(later, key=lambda thread: thread.id)
        if len(opened) > limit:
            page = tuple(opened[:limit])
            return Listing(page, RowCursor(of="bench", after=page[-1].id).encode())
    if status == "open":
        return Listing(tuple(opened), None)

    def read(item: Item) -> Thread | None:
        thread = Thread.from_item(item)
        return thread if reach.shows(thread) and status in {None, thread.status} else None

    rest = limit - len(opened)
    if rest == 0:
        return Listing(tuple(opened), RowCursor(of="bench", after=opened[-1].id).encode())
    further = None if after is not None else cursor
    ended = list_owned(table, reach, [ENDED_THREAD], read, limit=rest, cursor=further)
    return Listing((*opened, *ended.items), ended.next_cursor)


def _bench_position(cursor: str | None, *, only_bench: bool) -> str | None:
    """Behind which of the open threads to go on; None if behind none of them."""
    try:
        return RowCursor.key_in(cursor, "bench")
    except Invalid:
        if only_bench:
            raise
        return None
