"""Inbox: the messages in the queues, as the poller takes and finishes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from local.events import QueueMessage
from local.template import Function, Queue, QueueSource


@dataclass(frozen=True)
class PolledQueue:
    """Queue and the function that handles its messages."""

    queue: Queue
    function: Function
    settings: QueueSource


@dataclass
class Held:
    """Received message that is not finished.

    Attributes:
        failures: How often the function has failed for this message.
    """

    source: PolledQueue
    message: QueueMessage
    due_at: datetime
    running: bool = False
    failures: int = 0

    @property
    def is_last_attempt(self) -> bool:
        """Whether the message goes to the dead-letter queue if its function fails now."""
        queue = self.source.queue
        if queue.max_receives is None or queue.dead_letters is None:
            return False
        return self.message.receive_count >= queue.max_receives


class Inbox(Protocol):
    """Messages of all queues that have a function.

    Every method may raise an exception if the queues cannot be read. The poller then tries again.
    """

    @property
    def sources(self) -> Sequence[PolledQueue]:
        """The queues and their functions."""
        ...

    def next_due(self) -> datetime | None:
        """Return when the earliest waiting message is due; None if no message waits."""
        ...

    def waiting(self) -> list[Held]:
        """Return all messages that no batch has taken, whether they are due or not."""
        ...

    def shift(self, by: timedelta) -> int:
        """Move the due times of all waiting messages; return the number of messages."""
        ...

    def take(self, source: PolledQueue) -> list[Held]:
        """Take the next batch of due messages from a queue.

        The batch may be empty. Tenants take turns in it.
        """
        ...

    def succeed(self, held: Held) -> None:
        """Delete a handled message from its queue."""
        ...

    def fail(self, held: Held) -> None:
        """Hide a failed message for its visibility timeout, or move it to the dead-letter queue."""
        ...

    def release(self) -> None:
        """Make all unfinished messages visible again, for the next start."""
        ...
