"""Emulation of Lambda's SQS pollers, which call functions with due messages.

The local clock decides which messages are due. A message whose function failed becomes due again
after its queue's visibility timeout. After the queue's maximum number of receives, it goes to the
dead-letter queue instead.
"""

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from local.events import failed_messages, sqs_event
from local.functions import MAX_CONCURRENCY, Invoker, concurrency
from local.intrinsics import queue_arn
from local.polling.inbox import Held, Inbox, PolledQueue
from local.polling.sweeping import Sweeper
from skein.ports import Clock

logger = logging.getLogger(__name__)


class Poller(Sweeper):
    """Poller that calls functions with the due messages of their queues, in batches.

    Args:
        inbox: Provides the messages.
        max_concurrency: The maximum number of batches of a queue that are handled at once.
    """

    def __init__(
        self,
        inbox: Inbox,
        *,
        functions: Invoker,
        clock: Clock,
        max_concurrency: int = MAX_CONCURRENCY,
    ) -> None:
        super().__init__(name="poller", sources="the queues")
        self._inbox = inbox
        self._functions = functions
        self._clock = clock
        self._max_concurrency = max_concurrency
        self._running: Counter[str] = Counter()

    def stop(self, *, seconds: float) -> None:
        """Stop polling and return unfinished messages to their queues for the next start.

        Args:
            seconds: The maximum real time to wait for running batches.
        """
        self._end()
        with self._changed:
            self._changed.wait_for(lambda: not self._running.total(), seconds)
        if self._thread.is_alive():
            self._thread.join()
        self._inbox.release()

    def next_due(self) -> datetime | None:
        """Return when the earliest waiting message is due; None if no message waits."""
        with self._changed:
            return self._inbox.next_due()

    @property
    def sources(self) -> Sequence[PolledQueue]:
        return self._inbox.sources

    @property
    def stopping(self) -> bool:
        """Whether the poller is stopping or has stopped."""
        return self._stopping

    def sleep(self, seconds: float) -> None:
        """Wait in real time; return early if the poller stops."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, seconds)

    def waiting(self) -> list[Held]:
        """Return the messages that no batch has taken, whether they are due or not.

        All other messages are in batches that `batches` already counts.
        """
        with self._changed:
            return self._inbox.waiting()

    def shift(self, by: timedelta) -> int:
        """Move the due times of all waiting messages; return the number of messages."""
        with self._changed:
            return self._inbox.shift(by)

    def running(self) -> dict[str, int]:
        """Return the number of running batches by queue."""
        with self._changed:
            return {queue: count for queue, count in self._running.items() if count}

    def _busy(self) -> bool:
        return bool(self._running.total())

    def _sweep(self) -> int:
        """Start due batches within the concurrency limits; return their number."""
        with self._changed:
            return self._start_due()

    def _pause(self) -> float:
        """Return the seconds until the next message is due, but at most one second.

        Finished batches and sent messages wake the polling loop earlier.
        """
        longest = super()._pause()
        due = self._inbox.next_due() if self._usable else None
        now = self._clock.now()
        if due is None or due <= now:
            return longest
        return min(longest, (due - now).total_seconds())

    def _start_due(self) -> int:
        """Start batches of due messages within the concurrency limits; return their number."""
        started = 0
        if self._paused:
            return started
        for source in self._inbox.sources:
            most = concurrency(source.function, self._max_concurrency)
            while not self._stopping and self._running[source.queue.logical_id] < most:
                batch = self._inbox.take(source)
                if not batch:
                    break
                self._running[source.queue.logical_id] += 1
                name = source.function.logical_id
                self._count(name, len(batch))
                started += 1
                threading.Thread(
                    target=self._run, args=(source, batch), name=name, daemon=True
                ).start()
        return started

    def _run(self, source: PolledQueue, batch: Sequence[Held]) -> None:
        try:
            failed = self._failed(source, batch)
            for held in batch:
                if held.message.message_id in failed:
                    self._inbox.fail(held)
                else:
                    self._inbox.succeed(held)
        except Exception:  # the messages come again after their visibility timeout
            if not self._stopping:
                logger.exception("failed to record the outcome of messages")
        finally:
            with self._changed:
                self._running[source.queue.logical_id] -= 1
                self._woken = True
                self._changed.notify_all()

    def _failed(self, source: PolledQueue, batch: Sequence[Held]) -> set[str]:
        """Call the function with a batch; return the ids of the messages that failed."""
        ids = [held.message.message_id for held in batch]
        event = sqs_event(queue_arn(source.queue.logical_id), [held.message for held in batch])
        try:
            result = self._functions.invoke(source.function, event)
        except Exception:
            if not self._stopping:
                logger.exception("%s failed", source.function.logical_id)
            return set(ids)
        failed = failed_messages(result, ids) if source.settings.partial_failures else set()
        if failed and not self._stopping:
            logger.warning(
                "%s failed for %d of %d messages; retry in %d s",
                source.function.logical_id,
                len(failed),
                len(batch),
                source.queue.visibility,
            )
        return failed
