"""Thread lists: pages of an agent's threads, open ones first, then ended ones."""

from skein.errors import Invalid
from skein.models.common.ownership import Reach
from skein.models.common.storage import Item
from skein.models.workspace.thread import ENDED_THREAD, Thread, ThreadStatus
from skein.ports import Table
from skein.services.common.pagination import DEFAULT_PAGE, Listing, RowCursor, list_owned
from skein.services.workspace.thread_storage import ThreadSnapshot


def list_threads(
    table: Table,
    reach: Reach,
    status: ThreadStatus | None = None,
    *,
    limit: int = DEFAULT_PAGE,
    cursor: str | None = None,
) -> Listing[Thread]:
    """List a page of one partition's threads: open ones by id, then ended ones.

    Args:
        table: The table that stores the threads.
        reach: The agent, and the partition as its first scope.
        status: List only threads of this status.
        limit: Maximum number of threads to read.
        cursor: The cursor from the previous page.

    Raises:
        Invalid: The cursor belongs to another list.
    """
    after = _open_position(cursor, only_open=status == "open")
    opened: list[Thread] = []
    if status in {None, "open"} and (cursor is None or after is not None):
        index = ThreadSnapshot.read(table, reach, None).index_of(reach.scopes[0])
        shown = [thread for thread in index.threads if reach.shows(thread)]
        # By id, so that the cursor stays valid after its thread has ended.
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


def _open_position(cursor: str | None, *, only_open: bool) -> str | None:
    """Return the id of the last open thread of the previous page; None without one.

    Raises:
        Invalid: The cursor belongs to another list, and `only_open` is set.
    """
    try:
        return RowCursor.key_in(cursor, "bench")
    except Invalid:
        if only_open:
            raise
        return None
