"""For the console: the message that belongs to an SMS, and why it gets no answer."""

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from local.twilio.sms_log import Sms
from skein.channels.registry import channel_at
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.common.address import phone_address
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.delivery.delivery import Delivery
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.directory.line import Line
from skein.ports import Table
from skein.services.chats.message_reasons import MessageReasons, ReasonViews

LIVE = frozenset({"queued", "running", "waiting"})  # statuses of runs that may still answer
UNSENT = frozenset({None, "failed", "canceled"})  # statuses of deliveries that have ended


class MessageBehind(NamedTuple):
    """The stored message that belongs to an SMS: the SMS brought it in, or delivered it."""

    tenant: str
    chat_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Finds the messages that belong to SMS, and the reasons why they get no answer.

    Args:
        reasons: Returns the outcome of a message.
        account: The id of the Twilio account. The client id of each received SMS begins with this
            id.
    """

    table: Table
    reasons: ReasonViews
    account: str

    def reason_of(self, sms: Sms) -> Reason | None:
        """Return why an SMS gets no answer; None if it has an answer, or may still get one."""
        found = self.message_of(sms)
        if found is None:
            return None
        return _reason_in(self.reasons.of_message(found.tenant, found.chat_id, found.seq))

    def message_of(self, sms: Sms) -> MessageBehind | None:
        """Return the message that an SMS brought in or delivered; None if there is none."""
        return self._of_inbound(sms) if sms.direction == "inbound" else self._of_outbound(sms)

    def _of_outbound(self, sms: Sms) -> MessageBehind | None:
        """Find the delivery that is named in the URL of the SMS's status callback."""
        named = dict(parse_qsl(urlsplit(sms.callback).query))
        if not {"tenant", "chat", "delivery"} <= named.keys():
            return None
        key = Delivery.key_of(named["tenant"], named["chat"], named["delivery"])
        item = self.table.get(key)
        return (
            None
            if item is None
            else MessageBehind(named["tenant"], named["chat"], Delivery.from_item(item).seq)
        )

    def _of_inbound(self, sms: Sms) -> MessageBehind | None:
        sender, recipient = (
            phone_address(channel_at(one)[1]) for one in (sms.sender, sms.recipient)
        )
        line = self.table.get(Line.key_of(recipient))
        if line is None:
            return None
        tenant = Line.from_item(line).tenant
        owner_key = AddressOwner.key_of(tenant, sender)
        chat_key = AddressChat.key_of(tenant, sender, recipient)
        found = self.table.get_many([owner_key, chat_key])
        if owner_key not in found or chat_key not in found:
            return None
        person = MemberRef(kind="user", id=AddressOwner.from_item(found[owner_key]).user_id)
        chat_id = AddressChat.from_item(found[chat_key]).chat_id
        client_id = f"{self.account}:{sms.sid}"
        record = self.table.get(IdempotencyRecord.key_of(tenant, chat_id, person, client_id))
        if record is None:
            return None
        return MessageBehind(tenant, chat_id, IdempotencyRecord.from_item(record).seq)


def _reason_in(outcome: MessageReasons) -> Reason | None:
    if any(run.status in LIVE for agent in outcome.agents for run in agent.runs):
        return None
    silent = [agent.reason for agent in outcome.agents if agent.reason is not None]
    if silent:
        return silent[0]
    unsent = [one.reason for one in outcome.deliveries if one.status in UNSENT]
    return unsent[0] if len(unsent) == len(outcome.deliveries) > 0 else None
