"""Lambda's SQS pollers: gives the queues' messages to their functions when they are due.

Every message is received as soon as it is there and held until it is due by the local clock; a
failed one is held for its queue's visibility time-out, again by the local clock, and goes to the
dead-letter queue when it has failed often enough.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from local.events import failed_messages, sqs_event
from local.functions import MAX_AT_ONCE, Invoker, concurrency
from local.inbox import Held, Inbox, Source
from local.intrinsics import queue_arn
from skein.ports import Clock

POLL_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Poller:
    """Runs each function on its queue's messages, a few at a time.

    Args:
        inbox: Where the messages come from.
        functions: Where the functions run.
        clock: The local clock.
        most_at_once: How many batches of a queue are handled at once, at most.
    """

    def __init__(
        self,
        inbox: Inbox,
        *,
        functions: Invoker,
        clock: Clock,
        most_at_once: int = MAX_AT_ONCE,
    ) -> None:
        self._inbox = inbox
        self._functions = functions
        self._clock = clock
        self._most_at_once = most_at_once
        self._running: Counter[str] = Counter()
        self._batches = 0
        self._changed = threading.Condition()
        self._woken = False
        self._stopping = False
        # Sweeps through the queues: how many were asked for, and which of those are done.
        self._asked = 0
        self._swept = 0
        self._quiet = False
        self._readable = True
        self._thread = threading.Thread(target=self._loop, name="poller", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self, *, seconds: float) -> None:
        """Stop; wait a while for what is running, and leave everything else to the next start."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._running.total(), seconds)
        if self._thread.is_alive():
            self._thread.join()
        self._inbox.release()

    def wake(self) -> None:
        """Look at the queues and the clock now."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def next_due(self) -> datetime | None:
        """When the earliest message that waits is due; None when none waits."""
        return self._inbox.next_due()

    @property
    def batches(self) -> int:
        """How many batches were handed out so far."""
        return self._batches

    def settle(self, *, until: float) -> bool:
        """Wait until nothing is running or due and no queue has anything to receive.

        Args:
            until: Moment of `time.monotonic` at which to give up.

        Returns:
            Whether that came to be.
        """
        with self._changed:
            while (left := until - time.monotonic()) > 0 and not self._stopping:
                self._asked += 1
                mine = self._asked
                self._woken = True
                self._changed.notify_all()
                self._changed.wait_for(lambda n=mine: self._swept >= n or self._stopping, left)  # type: ignore[misc]
                if self._swept >= mine and self._quiet:
                    return True
                if self._running.total():
                    self._changed.wait(min(left, POLL_SECONDS))
        return False

    def _loop(self) -> None:
        while not self._stopping:
            with self._changed:
                asked = self._asked
                # What runs may send to a queue that this sweep has already passed.
                busy = bool(self._running.total())
                self._woken = False
            received = self._receive()
            with self._changed:
                started = self._start_due()
                nothing = received == 0 and not (busy or started)
                self._quiet = nothing and not self._running.total()
                self._swept = asked
                self._changed.notify_all()
                if not (received or started):
                    self._changed.wait_for(lambda: self._woken or self._stopping, self._pause())

    def _receive(self) -> int | None:
        """How many messages have come; None where nobody knows, which is told once."""
        try:
            self._inbox.renew()
            received = self._inbox.receive()
        except Exception as error:
            if not self._stopping:
                if self._readable:
                    logger.warning("the queues cannot be read: %s", error)
                time.sleep(POLL_SECONDS)
            self._readable = False
            return None
        self._readable = True
        return received

    def _pause(self) -> float:
        """Seconds until something may be due; whatever ends or arrives before wakes the loop."""
        due = self._inbox.next_due()
        now = self._clock.now()
        if due is None or due <= now:
            return POLL_SECONDS
        return min(POLL_SECONDS, (due - now).total_seconds())

    def _start_due(self) -> int:
        """Hand out what is due, as far as functions are free; returns the number of batches."""
        started = 0
        for source in self._inbox.sources:
            most = concurrency(source.function, self._most_at_once)
            while not self._stopping and self._running[source.url] < most:
                batch = self._inbox.take(source)
                if not batch:
                    break
                self._running[source.url] += 1
                self._batches += 1
                started += 1
                name = source.function.logical_id
                threading.Thread(
                    target=self._run, args=(source, batch), name=name, daemon=True
                ).start()
        return started

    def _run(self, source: Source, batch: Sequence[Held]) -> None:
        try:
            failed = self._failed(source, batch)
            for held in batch:
                if held.message.message_id in failed:
                    self._inbox.fail(held)
                else:
                    self._inbox.succeed(held)
        except Exception as error:
            if not self._stopping:
                logger.warning("the outcome of a message was lost: %s", error)
        finally:
            with self._changed:
                self._running[source.url] -= 1
                self._woken = True
                self._changed.notify_all()

    def _failed(self, source: Source, batch: Sequence[Held]) -> set[str]:
        """Run the function on a batch; returns the ids of the messages that failed."""
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
                "%s failed for %d of %d messages; they come again in %d s",
                source.function.logical_id,
                len(failed),
                len(batch),
                source.queue.visibility,
            )
        return failed
