"""Depths of the queues: how many messages wait, are being handled, or were dead-lettered."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from local.polling.inbox import Held, PolledQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepth:
    """The number of messages in a queue.

    Attributes:
        queue: The logical id of the queue.
        function: The logical id of its function; None for a queue of dead letters.
        waiting: How many messages are due but not taken by a batch.
        delayed: How many messages become due later: they were sent with a delay, or wait for a
            retry.
        running: How many batches are being handled.
    """

    queue: str
    function: str | None
    waiting: int
    delayed: int
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepths:
    """Reader of the depths of the queues.

    Args:
        sources: The queues and their functions.
        messages: Returns the messages that no batch has taken.
        running: Returns the number of running batches by queue.
        dead_letters: Returns the number of messages in a dead-letter queue.
        now: Returns the local time.
    """

    sources: Sequence[PolledQueue]
    messages: Callable[[], Sequence[Held]]
    running: Callable[[], dict[str, int]]
    dead_letters: Callable[[str], int]
    now: Callable[[], datetime]

    def read(self) -> list[QueueDepth]:
        """Return the depth of each queue and then of each queue of dead letters, in order."""
        now, running = self.now(), self.running()
        waiting: Counter[str] = Counter()
        delayed: Counter[str] = Counter()
        for held in self.messages():
            (waiting if held.due_at <= now else delayed)[held.source.queue.logical_id] += 1
        queues = [
            QueueDepth(
                queue=source.queue.logical_id,
                function=source.function.logical_id,
                waiting=waiting[source.queue.logical_id],
                delayed=delayed[source.queue.logical_id],
                running=running.get(source.queue.logical_id, 0),
            )
            for source in self.sources
        ]
        given_up = dict.fromkeys(source.queue.dead_letters for source in self.sources)
        return queues + [
            QueueDepth(
                queue=name, function=None, waiting=self.dead_letters(name), delayed=0, running=0
            )
            for name in given_up
            if name is not None
        ]
