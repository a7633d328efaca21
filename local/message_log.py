"""Lines in the terminal about each SMS and each message of the app, in both directions."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from local.log_file import MESSAGES_LOGGER
from local.twilio.sms_log import Sms
from skein.models.chats.chat import Message
from skein.models.common.storage import Item, Key, Page, Put, Query, Write
from skein.ports import Table

logger = logging.getLogger(MESSAGES_LOGGER)


def show_sms_received(sender: str, recipient: str, body: str) -> None:
    """Show an SMS from a person to a line."""
    logger.info("sms   %s -> %s  %s", sender, recipient, body)


def show_sms_sent(sms: Sms) -> None:
    """Show an SMS from a line to a person."""
    logger.info("sms   %s -> %s  %s", sms.sender, sms.recipient, sms.body)


@dataclass(frozen=True, slots=True)
class MessageLog:
    """Table (see `skein.ports.Table`) that shows each new message of the app.

    Every message is stored by a transaction, so this table sees all messages. It doesn't show those
    that are received or sent as SMS, because the Twilio sandbox shows them.

    Args:
        table: The wrapped table.
        twilio_account: The id of the Twilio account. The client id of each received SMS begins with
            this id.
    """

    table: Table
    twilio_account: str

    def get(self, key: Key) -> Item | None:
        return self.table.get(key)

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        return self.table.get_many(keys, consistent=consistent)

    def query(self, query: Query) -> Page:
        return self.table.query(query)

    def write(self, write: Write) -> None:
        self.table.write(write)

    def transact(self, writes: Sequence[Write]) -> None:
        """Carry out a transaction (see `skein.ports.Table`); show the messages it has written."""
        self.table.transact(writes)
        for write in writes:
            if isinstance(write, Put) and write.key.sk.startswith(Message.PREFIX):
                self._show(Message.from_item(dict(write.item)))

    def _show(self, message: Message) -> None:
        by_sms = message.client_id.startswith(self.twilio_account) or bool(message.deliveries)
        if not by_sms:
            sender = message.sender.name or message.sender.id
            logger.info("app   %s -> %s  %s", sender, message.chat_id, message.text)
