"""The feed of a table in memory, with the filters of the template."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any

from local.events import Event, failed_messages, sequence_number
from local.polling.event_filters import filters_of
from local.polling.feed import FeedSource, feed_sources
from local.sqlite.changes import numbered, records_of, size_of
from skein.adapters.dynamodb.attributes import StoredItem
from skein.adapters.sqlite_table.items import as_text
from skein.models.common.storage import Key
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

    They are what `local.sqlite.changes` keeps in a database. Writing them there and reading them
    again would take longer than all other work of a write.

    Args:
        table: The table.
        clock: The clock of the changes.
    """

    def __init__(self, table: MemoryTable, clock: Clock) -> None:
        self._clock = clock
        self._number = 0
        self._unread: deque[Event] = deque()
        table.changed = self._note

    def _note(
        self,
        before: Mapping[Key, StoredItem | None],
        after: Mapping[Key, StoredItem | None],
        expired: bool,
    ) -> None:
        """Keep the changes of a transaction that the filters accept."""
        accepted = filters_of(tuple(source().settings.patterns))
        for change in records_of(before, after, at=self._at, expired=expired):
            if not accepted.accept(change):
                continue
            self._number += 1
            stream = numbered(change, self._number)["dynamodb"]
            stream["SizeBytes"] = size_of(stream)
            for name in stream.keys() & {"OldImage", "NewImage"}:
                stream[name] = _as_sent(stream[name])
            self._unread.append(change)

    def _at(self) -> float:
        return self._clock.now().timestamp()

    def unread(self) -> list[Event]:
        """The next batch of changes, oldest first; empty if all were handled."""
        return [*islice(self._unread, source().settings.batch_size)]

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
                self._done(batch[handled - 1])
            if failed:
                return count
        return count

    def lose(self) -> int:
        """Forget all unread changes; return their number."""
        lost = 0
        while batch := self.unread():
            self._done(batch[-1])
            lost += len(batch)
        return lost

    def _done(self, last: Event) -> None:
        """Forget the changes up to one; a second worker may have handled them meanwhile."""
        end = sequence_number(last)
        while self._unread and sequence_number(self._unread[0]) <= end:
            self._unread.popleft()


def _as_sent(image: StoredItem) -> StoredItem:
    """An image as an event holds it, with bytes in base64."""
    if not any("B" in value for value in image.values()):
        return image
    return {n: {"B": as_text(v["B"])} if "B" in v else v for n, v in image.items()}
