"""The inbox on SQS: messages are received at once and held until they are due."""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from local.aws.delays import DUE_AT, SENT_AT, moment
from local.events import QueueMessage
from local.polling.inbox import Held, PolledQueue
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

RECEIVE_BATCH = 10
# Visibility timeout of a held message, renewed every RENEW_SECONDS. After a crash, a message
# therefore stays invisible for at most HOLD_SECONDS.
HOLD_SECONDS = 120
RENEW_SECONDS = 40.0

logger = logging.getLogger(__name__)


class SqsInbox:
    """Inbox that receives all queues' messages immediately and returns them when they are due.

    See `local.polling.inbox.Inbox`.

    Args:
        sqs: A client without the hooks of `local.aws.delays`.
        sources: The queues and their functions.
        dead_letters: URLs of the dead-letter queues by logical id.
        clock: The local clock.
    """

    def __init__(
        self,
        sqs: "SQSClient",
        *,
        sources: Sequence[PolledQueue],
        dead_letters: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self.sources = sources
        self._sqs = sqs
        self._dead_letters = dead_letters
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, Held] = {}
        self._renewed = time.monotonic()

    def receive(self) -> int:
        """Receive and hold all visible messages of the queues; return their number."""
        self.renew()
        count = 0
        for source in self.sources:
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
                    self._keep(source, message)
                count += len(messages)
                if len(messages) < RECEIVE_BATCH:
                    break
        return count

    def _keep(self, source: PolledQueue, raw: "MessageTypeDef") -> None:
        now = self._clock.now()
        message = _message(raw, now)
        with self._lock:
            known = self._held.get(message.message_id)
            if known is None:
                due = moment(message.attributes, DUE_AT, now)
                self._held[message.message_id] = Held(source, message, due)
            else:
                known.message = replace(known.message, receipt_handle=message.receipt_handle)

    def renew(self) -> None:
        """Renew the visibility timeouts of held messages, at most every `RENEW_SECONDS`."""
        if time.monotonic() - self._renewed < RENEW_SECONDS:
            return
        self._renewed = time.monotonic()
        self._set_visibility(HOLD_SECONDS)

    def release(self) -> None:
        """Make all held messages visible in their queues again."""
        self._set_visibility(0)

    def _set_visibility(self, seconds: int) -> None:
        errors = self._sqs.exceptions
        for one in self._received():
            # A message that has just been finished must not stop the renewal of the others.
            with suppress(errors.ReceiptHandleIsInvalid, errors.MessageNotInflight):
                self._sqs.change_message_visibility(
                    QueueUrl=one.source.url,
                    ReceiptHandle=one.message.receipt_handle,
                    VisibilityTimeout=seconds,
                )

    def _received(self) -> list[Held]:
        """Return all held messages."""
        with self._lock:
            return list(self._held.values())

    def next_due(self) -> datetime | None:
        """Return when the earliest waiting message is due; None if no message waits."""
        with self._lock:
            return min((h.due_at for h in self._held.values() if not h.running), default=None)

    def waiting(self) -> list[Held]:
        """See `local.polling.inbox.Inbox`."""
        with self._lock:
            return [replace(held) for held in self._held.values() if not held.running]

    def shift(self, by: timedelta) -> int:
        """See `local.polling.inbox.Inbox`.

        A message keeps the due time in its attributes, so the change holds until the next start.
        """
        with self._lock:
            waiting = [held for held in self._held.values() if not held.running]
            for held in waiting:
                held.due_at += by
        return len(waiting)

    def take(self, source: PolledQueue) -> list[Held]:
        """Take a queue's next batch of due messages, earliest first; the batch may be empty."""
        now = self._clock.now()
        with self._lock:
            due = [
                held
                for held in self._held.values()
                if held.source is source and not held.running and held.due_at <= now
            ]
            batch = sorted(due, key=lambda held: held.due_at)[: source.settings.batch_size]
            for held in batch:
                held.running = True
        return batch

    def succeed(self, held: Held) -> None:
        """Delete a handled message from its queue."""
        self._sqs.delete_message(
            QueueUrl=held.source.url, ReceiptHandle=held.message.receipt_handle
        )
        with self._lock:
            del self._held[held.message.message_id]

    def fail(self, held: Held) -> None:
        """Hold a failed message for its visibility timeout, or move it to the dead-letter queue."""
        queue = held.source.queue
        if not held.is_last_attempt or queue.dead_letters is None:
            with self._lock:
                held.due_at = self._clock.now() + timedelta(seconds=queue.visibility)
                held.message = replace(held.message, receive_count=held.message.receive_count + 1)
                held.running = False
                held.failures += 1
            return
        self._sqs.send_message(
            QueueUrl=self._dead_letters[queue.dead_letters], MessageBody=held.message.body
        )
        logger.warning(
            "message of %s moved to the dead-letter queue %s", queue.logical_id, queue.dead_letters
        )
        self.succeed(held)


def _message(raw: "MessageTypeDef", now: datetime) -> QueueMessage:
    attributes = {
        name: value.get("StringValue", "")
        for name, value in raw.get("MessageAttributes", {}).items()
    }
    return QueueMessage(
        message_id=raw["MessageId"],
        receipt_handle=raw["ReceiptHandle"],
        body=raw["Body"],
        md5=raw["MD5OfBody"],
        attributes=attributes,
        receive_count=int(raw["Attributes"].get("ApproximateReceiveCount", 1)),
        sent_at=moment(attributes, SENT_AT, now),
        first_received_at=now,
    )
