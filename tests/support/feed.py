"""The feed of a table in memory, with the filters of the template."""

from collections.abc import Callable
from functools import cache
from typing import Any

from local.events import Event, failed_messages, sequence_number
from local.polling.feed import FeedSource, feed_sources
from local.sqlite.changes import SqliteChanges
from skein.ports import Clock
from tests.fakes.table import MemoryTable
from tests.support.template import deployed_template


@cache
def source() -> FeedSource:
    """The event source of the function `Feed`."""
    [found] = feed_sources(deployed_template())
    return found


class TableFeed:
    """The changes of a table since the feed was attached.

    Args:
        table: The table.
        clock: The clock of the changes.
    """

    def __init__(self, table: MemoryTable, clock: Clock) -> None:
        self._changes = SqliteChanges(table._database, clock)
        self._changes.attach([source()])

    def unread(self) -> list[Event]:
        """The next batch of changes, oldest first; empty if all were handled."""
        return self._changes.read(source())

    def pump(self, handle: Callable[[Event], Any]) -> int:
        """Hand over batches until none is left or one fails; return the number of batches.

        Args:
            handle: The function's handler. None stands for a death, which leaves the batch unread.
        """
        count = 0
        while batch := self.unread():
            answer = handle({"Records": batch})
            if answer is None:
                return count
            count += 1
            numbers = [sequence_number(record) for record in batch]
            failed = failed_messages(answer, numbers)
            handled = min(map(numbers.index, failed), default=len(batch))
            if handled:
                self._changes.done(source(), batch[handled - 1])
            if failed:
                return count
        return count

    def lose(self) -> int:
        """Forget all unread changes; return their number."""
        lost = 0
        while batch := self.unread():
            self._changes.done(source(), batch[-1])
            lost += len(batch)
        return lost
