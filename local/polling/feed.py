"""Feed: calls functions with the table's changes, as Lambda does for a DynamoDB stream.

A batch contains the oldest changes that a feed has not handled, in order. A batch that fails is
retried, and blocks the changes after it. If the function failed for the whole batch, the batch is
split in two, if the template says so. After the last retry, a message about the batch is sent to
the queue that the template names, and the feed continues with the next changes.

Each feed handles one batch at a time, as Lambda does for each shard of a stream.
`ParallelizationFactor` and the batching window are not emulated.
"""

import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from local.events import Event, failed_messages, sequence_number
from local.functions import Invoker
from local.polling.sweeping import Sweeper
from local.template import Function, StreamSource, Template
from skein.ports import Clock

MAX_BACKOFF = timedelta(seconds=60)

logger = logging.getLogger(__name__)


class FeedSource(NamedTuple):
    """A function that is called with changes, and the settings of its event source."""

    function: Function
    settings: StreamSource

    @property
    def name(self) -> str:
        return self.function.logical_id


class Changes(Protocol):
    """The changes of the table that are not handled yet, separately for each feed.

    Every method may raise an exception if the changes cannot be read. The poller then tries again.
    """

    def read(self, source: FeedSource) -> list[Event]:
        """Return the next batch of changes that the feed's filters accept, oldest first.

        The changes stay stored until `done`, so that they are read again after the process was
        killed.
        """
        ...

    def done(self, source: FeedSource, last: Event) -> None:
        """Delete the changes of a feed up to and including `last`, because they were handled."""
        ...

    def give_up(
        self, source: FeedSource, changes: Sequence[Event], *, condition: str, calls: int
    ) -> None:
        """Send a message about changes to the feed's queue for failures, and delete the changes.

        Args:
            source: The feed.
            changes: The oldest changes of the feed.
            condition: Why the changes are given up; see `local.events.given_up`.
            calls: How often the function was called for the changes.
        """
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes for one call of a feed's function.

    Attributes:
        changes: The changes, oldest first.
        due_at: When to call the function.
        read_at: When the changes were first read. The age of the changes is counted from this time.
        calls: How often the function was called for the changes.
        retries: How often the batch was retried. Splitting a batch does not count as a retry.
    """

    source: FeedSource
    changes: tuple[Event, ...]
    due_at: datetime
    read_at: datetime
    calls: int = 0
    retries: int = 0

    @property
    def failed(self) -> bool:
        """Whether the function has already failed for the batch."""
        return self.calls > 0


@dataclass
class _Feed:
    """A feed with its unfinished batches."""

    source: FeedSource
    batches: deque[Batch] = field(default_factory=deque)


class FeedPoller(Sweeper):
    """Poller that calls functions with the table's changes, in batches.

    Args:
        changes: Provides the changes.
        sources: The feeds.
    """

    def __init__(
        self,
        changes: Changes,
        sources: Iterable[FeedSource],
        *,
        functions: Invoker,
        clock: Clock,
    ) -> None:
        super().__init__(name="feed", sources="the changes of the table")
        self._changes = changes
        self._feeds = [_Feed(source) for source in sources]
        self._functions = functions
        self._clock = clock
        self._sweeping = threading.Lock()  # held while batches are read and changed

    def stop(self, *, seconds: float) -> None:
        """Stop polling. Changes that were not handled are read again at the next start.

        Args:
            seconds: The maximum real time to wait for a running batch.
        """
        self._end()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def next_due(self) -> datetime | None:
        """Return when the earliest retry is due; None if no batch waits for a retry."""
        return min((batch.due_at for batch in self.waiting()), default=None)

    def waiting(self) -> list[Batch]:
        """Return, for each feed, its next batch if this batch waits for a retry."""
        with self._sweeping:
            return [feed.batches[0] for feed in self._feeds if _waits(feed)]

    def shift(self, by: timedelta) -> int:
        """Move the due times of all batches that wait for a retry; return the number of batches."""
        with self._sweeping:
            count = sum(_waits(feed) for feed in self._feeds)
            for feed in self._feeds:
                feed.batches = deque(
                    replace(batch, due_at=batch.due_at + by) for batch in feed.batches
                )
        return count

    def _sweep(self) -> int:
        """Handle each feed's next batch that is due; return the number of batches."""
        with self._sweeping:
            return sum(self._handle_next(feed) for feed in self._feeds)

    def _handle_next(self, feed: _Feed) -> bool:
        """Handle a feed's next batch if one is due; return whether there was one."""
        if self._stopping or self._paused:
            return False
        now = self._clock.now()
        if not feed.batches:
            read = tuple(self._changes.read(feed.source))
            if not read:
                return False
            feed.batches.append(Batch(feed.source, read, now, now))
        batch = feed.batches[0]
        if batch.due_at > now:
            return False
        self._count(feed.source.name, len(batch.changes))
        left = self._left(batch)
        if self._stopping and left:
            feed.batches.clear()  # the changes stay unread
            return True
        # The changes are forgotten first. If that fails, the whole batch comes again.
        handled = len(batch.changes) - sum(len(each.changes) for each in left)
        if handled:
            self._changes.done(feed.source, batch.changes[handled - 1])
        feed.batches.popleft()
        feed.batches.extendleft(reversed(left))
        while feed.batches and (condition := self._condition(feed.batches[0])):
            self._give_up(feed, condition)
        return True

    def _left(self, batch: Batch) -> list[Batch]:
        """Call the function with a batch; return the batches that have to be retried."""
        source, changes = batch.source, batch.changes
        numbers = [sequence_number(change) for change in changes]
        try:
            result = self._functions.invoke(source.function, {"Records": list(changes)})
        except Exception:
            if not self._stopping:
                logger.exception("%s failed", source.name)
            first, whole = 0, True
        else:
            failed = failed_messages(result, numbers) if source.settings.partial_failures else set()
            if not failed:
                return []
            first = min(numbers.index(number) for number in failed)
            whole = len(failed) == len(numbers) > 1
            logger.warning("%s failed from record %d of %d", source.name, first + 1, len(numbers))
        rest = changes[first:]
        calls = batch.calls + 1
        due_at = self._clock.now() + min(timedelta(seconds=2**batch.retries), MAX_BACKOFF)
        if whole and source.settings.bisects and len(rest) > 1:
            half = len(rest) // 2
            parts = [rest[:half], rest[half:]]
            return [replace(batch, changes=part, due_at=due_at, calls=calls) for part in parts]
        retries = batch.retries + 1
        return [replace(batch, changes=rest, due_at=due_at, calls=calls, retries=retries)]

    def _condition(self, batch: Batch) -> str | None:
        """Return why a batch is given up; None if its function may be called."""
        settings = batch.source.settings
        if not batch.failed:
            return None
        if settings.max_retries is not None and batch.retries > settings.max_retries:
            return "RetryAttemptsExhausted"
        age = (self._clock.now() - batch.read_at).total_seconds()
        if settings.max_age is not None and age > settings.max_age:
            return "RecordAgeExceeded"
        return None

    def _give_up(self, feed: _Feed, condition: str) -> None:
        batch = feed.batches[0]
        self._changes.give_up(feed.source, batch.changes, condition=condition, calls=batch.calls)
        feed.batches.popleft()
        logger.warning(
            "%s failed for %d changes (%s); %s has a message about them",
            feed.source.name,
            len(batch.changes),
            condition,
            feed.source.settings.failures,
        )


def feed_sources(template: Template) -> list[FeedSource]:
    return [
        FeedSource(function, settings)
        for function in template.functions
        for settings in function.streams
    ]


def _waits(feed: _Feed) -> bool:
    return bool(feed.batches) and feed.batches[0].failed
