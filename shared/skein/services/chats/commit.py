"""What becomes of one message in one transaction, and what is sent after it."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from skein.models.chat import Message
from skein.models.jobs import Job
from skein.models.storage import Write
from skein.services.delivery.enqueue import Outgoing

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Commit:
    """The writes of one transaction, and the jobs that follow it.

    Attributes:
        replies: Jobs that wait a moment, in case more is said.
        others: Jobs that need not.
        run_ids: The runs that the message starts, joins or lets go on.
        delivery_ids: The deliveries that it causes.
    """

    writes: list[Write] = field(default_factory=list)
    replies: list[Job] = field(default_factory=list)
    others: list[Job] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    delivery_ids: list[str] = field(default_factory=list)

    def deliver(self, texts: Iterable[Outgoing]) -> None:
        """Let the message reach phones, too."""
        for text in texts:
            self.delivery_ids.append(text.delivery_id)
            self.writes.extend(text.writes)
            self.others.append(text.job)

    def log(self, message: Message) -> None:
        """Say what follows from a message, for those who follow it through the logs."""
        logger.info(
            "a message was posted",
            extra={
                "chat_id": message.chat_id,
                "seq": message.seq,
                "run_ids": self.run_ids,
                "delivery_ids": self.delivery_ids,
            },
        )
