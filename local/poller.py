"""Lambda's SQS pollers: gives the queues' messages to their functions when they are due.

Every message is received as soon as it is there and held until it is due by the local clock; a
failed one is held for its queue's visibility time-out, again by the local clock, and goes to the
dead-letter queue when it has failed often enough.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from local.delays import DUE_AT, SENT_AT, moment
from local.events import QueueMessage, failed_messages, sqs_event
from local.functions import Functions, concurrency
from local.intrinsics import queue_arn
from local.template import Function, Queue, QueueSource
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

RECEIVE_BATCH = 10
POLL_SECONDS = 1.0
# How long the queue keeps a held message from others; renewed well before it is over, so that
# after a crash nothing stays out of sight for longer.
HOLD_SECONDS = 120
RENEW_SECONDS = 40.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """A queue and the function that takes its messages."""

    queue: Queue
    url: str
    function: Function
    settings: QueueSource


@dataclass
class Held:
    """A message that was received and is not done."""

    source: Source
    message: QueueMessage
    due_at: datetime
    running: bool = False


class Poller:
    """Receives, holds and hands out the messages of all queues that have a function.

    Args:
        sqs: A client that nothing else marks or delays.
        functions: Where the functions run.
        sources: The queues and their functions.
        dead_letters: URLs of the dead-letter queues by logical id.
        clock: The local clock.
    """

    def __init__(
        self,
        sqs: "SQSClient",
        *,
        functions: Functions,
        sources: Sequence[Source],
        dead_letters: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self._sqs = sqs
        self._functions = functions
        self._sources = sources
        self._dead_letters = dead_letters
        self._clock = clock
        self._held: dict[str, Held] = {}
        self._running: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._woken = False
        self._stopping = False
        self._asked = 0
        self._swept = 0
        self._quiet = False
        self._renewed = time.monotonic()
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
        for held in list(self._held.values()):
            self._sqs.change_message_visibility(
                QueueUrl=held.source.url,
                ReceiptHandle=held.message.receipt_handle,
                VisibilityTimeout=0,
            )

    def wake(self) -> None:
        """Look at the queues and the clock now."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def next_due(self) -> datetime | None:
        """When the earliest message that is held is due; None when none is."""
        with self._changed:
            return min((h.due_at for h in self._held.values() if not h.running), default=None)

    def settle(self, *, until: float) -> bool:
        """Wait until nothing is running or due and no queue has anything to receive.

        Args:
            until: Moment of `time.monotonic` at which to give up.

        Returns:
            Whether that came to be.
        """
        while (left := until - time.monotonic()) > 0:
            with self._changed:
                self._asked += 1
                mine = self._asked
                self._woken = True
                self._changed.notify_all()
                self._changed.wait_for(lambda n=mine: self._swept >= n or self._stopping, left)  # type: ignore[misc]
                if self._stopping:
                    return False
                if self._swept >= mine and self._quiet:
                    return True
                if self._running.total():
                    self._changed.wait(min(left, POLL_SECONDS))
        return False

    def _loop(self) -> None:
        while not self._stopping:
            with self._changed:
                asked = self._asked
                self._woken = False
            try:
                received = self._receive()
                self._renew()
            except Exception as error:
                # The emulator is local: this is the end of it, or of the stack.
                if not self._stopping:
                    logger.warning("the queues cannot be read: %s", error)
                received = 0
                time.sleep(POLL_SECONDS)
            with self._changed:
                started = 0 if self._stopping else self._start_ready()
                self._quiet = not (received or started or self._running.total())
                self._swept = asked
                self._changed.notify_all()
                if not (received or started):
                    self._changed.wait_for(lambda: self._woken or self._stopping, self._pause())

    def _pause(self) -> float:
        """Seconds until something may be due."""
        waiting = [h.due_at for h in self._held.values() if not h.running and self._free(h.source)]
        if not waiting:
            return POLL_SECONDS
        return min(POLL_SECONDS, max(0.0, (min(waiting) - self._clock.now()).total_seconds()))

    def _receive(self) -> int:
        """Hold whatever the queues have; returns how many messages those were."""
        count = 0
        for source in self._sources:
            while True:
                answer = self._sqs.receive_message(
                    QueueUrl=source.url,
                    MaxNumberOfMessages=RECEIVE_BATCH,
                    VisibilityTimeout=HOLD_SECONDS,
                    WaitTimeSeconds=0,
                    AttributeNames=["All"],
                    MessageAttributeNames=["All"],
                )
                messages = answer.get("Messages", ())
                for message in messages:
                    self._hold(source, message)
                count += len(messages)
                if len(messages) < RECEIVE_BATCH:
                    break
        return count

    def _hold(self, source: Source, raw: "MessageTypeDef") -> None:
        now = self._clock.now()
        attributes = {
            name: value.get("StringValue", "")
            for name, value in raw.get("MessageAttributes", {}).items()
        }
        message = QueueMessage(
            message_id=raw["MessageId"],
            receipt_handle=raw["ReceiptHandle"],
            body=raw["Body"],
            md5=raw["MD5OfBody"],
            attributes=attributes,
            receive_count=int(raw["Attributes"].get("ApproximateReceiveCount", 1)),
            sent_at=moment(attributes, SENT_AT, now),
            first_received_at=now,
        )
        with self._changed:
            known = self._held.get(message.message_id)
            if known is None:
                due = moment(attributes, DUE_AT, now)
                self._held[message.message_id] = Held(source, message, due)
            else:
                known.message = replace(known.message, receipt_handle=message.receipt_handle)

    def _renew(self) -> None:
        if time.monotonic() - self._renewed < RENEW_SECONDS:
            return
        self._renewed = time.monotonic()
        with self._changed:
            held = list(self._held.values())
        for one in held:
            self._sqs.change_message_visibility(
                QueueUrl=one.source.url,
                ReceiptHandle=one.message.receipt_handle,
                VisibilityTimeout=HOLD_SECONDS,
            )

    def _free(self, source: Source) -> bool:
        return self._running[source.url] < concurrency(source.function)

    def _start_ready(self) -> int:
        """Hand out what is due, as far as functions are free; returns the number of batches."""
        started = 0
        now = self._clock.now()
        for source in self._sources:
            ready = sorted(
                (
                    held
                    for held in self._held.values()
                    if held.source is source and not held.running and held.due_at <= now
                ),
                key=lambda held: held.due_at,
            )
            while ready and self._free(source):
                batch, ready = (
                    ready[: source.settings.batch_size],
                    ready[source.settings.batch_size :],
                )
                for held in batch:
                    held.running = True
                self._running[source.url] += 1
                started += 1
                threading.Thread(
                    target=self._run,
                    args=(source, batch),
                    name=source.function.logical_id,
                    daemon=True,
                ).start()
        return started

    def _run(self, source: Source, batch: Sequence[Held]) -> None:
        ids = [held.message.message_id for held in batch]
        event = sqs_event(queue_arn(source.queue.logical_id), [held.message for held in batch])
        try:
            result = self._functions.invoke(source.function, event)
            failed = failed_messages(result, ids) if source.settings.partial_failures else set()
        except Exception:
            if not self._stopping:
                logger.exception("%s failed", source.function.logical_id)
            failed = set(ids)
        try:
            for held in batch:
                self._finish(held, failed=held.message.message_id in failed)
        except Exception as error:
            if not self._stopping:
                logger.warning("a finished message could not be deleted: %s", error)
        finally:
            with self._changed:
                for held in batch:
                    held.running = False
                self._running[source.url] -= 1
                self._woken = True
                self._changed.notify_all()

    def _finish(self, held: Held, *, failed: bool) -> None:
        queue = held.source.queue
        if failed:
            if queue.max_receives is None or held.message.receive_count < queue.max_receives:
                held.due_at = self._clock.now() + timedelta(seconds=queue.visibility)
                count = held.message.receive_count + 1
                held.message = replace(held.message, receive_count=count)
                return
            if queue.dead_letters:
                self._sqs.send_message(
                    QueueUrl=self._dead_letters[queue.dead_letters], MessageBody=held.message.body
                )
                logger.warning("a message of %s went to %s", queue.logical_id, queue.dead_letters)
        self._sqs.delete_message(
            QueueUrl=held.source.url, ReceiptHandle=held.message.receipt_handle
        )
        with self._changed:
            del self._held[held.message.message_id]
