"""Report on an outreach: the state of each person, derived from data that is stored elsewhere."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skein.models.chats.chat import Chat, Message
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key
from skein.models.delivery.delivery import Delivery
from skein.models.runs.run import Run
from skein.outreach.api import (
    OutreachDetail,
    OutreachPersonResource,
    OutreachResource,
    PersonState,
)
from skein.outreach.models.outreach import Outreach, OutreachPerson
from skein.ports import Table
from skein.services.common.pagination import items_under, read_items

OF_DELIVERY: Mapping[str, PersonState] = {
    "queued": "writing",
    "sending": "writing",
    "sent": "sent",
    "delivered": "delivered",
    "read": "delivered",
    "failed": "failed",
    "canceled": "failed",
}
OVER = {"done", "failed", "canceled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OutreachReports:
    """The service that reports on outreach, with states and numbers but no words."""

    table: Table

    def of(self, outreach: Outreach) -> OutreachDetail:
        """Return the outreach with the state of each person."""
        items = items_under(self.table, outreach.key.pk, OutreachPerson.PREFIX)
        people = sorted(OutreachPerson.each_of(items), key=lambda each: each.delay)
        found = self._read(people)
        shown = [_shown(person, outreach, found) for person in people]
        known = {person.user_id for person in people}
        state: PersonState = "canceled" if outreach.status == "canceled" else "waiting"
        shown += [
            OutreachPersonResource.with_state(state, user_id=user_id)
            for user_id in outreach.user_ids or ()
            if user_id not in known
        ]
        counts = Counter(each.state for each in shown)
        base = dict(OutreachResource.of(outreach))
        return OutreachDetail(**base, counts=dict(counts), people=tuple(shown))

    def _read(self, people: Iterable[OutreachPerson]) -> Mapping[Key, Item]:
        """Read the runs, the chats, the first messages and their deliveries, in batches."""
        written = [each for each in people if each.chat_id is not None]
        keys: list[Key] = [Chat.key_of(each.tenant, str(each.chat_id)) for each in written]
        keys += [Run.key_of(each.tenant, each.run_id) for each in written if each.run_id]
        found = read_items(self.table, keys)
        messages = [key for each in written if (key := _message_of(each, found)) is not None]
        found |= read_items(self.table, messages)
        texts = Message.read_each(found, messages)
        return found | read_items(
            self.table,
            [
                Delivery.key_of(text.tenant, text.chat_id, delivery_id)
                for text in texts
                for delivery_id in text.deliveries
            ],
        )


def _run_of(person: OutreachPerson, found: Mapping[Key, Item]) -> Run | None:
    key = Run.key_of(person.tenant, person.run_id) if person.run_id is not None else None
    return Run.must_read(found, key) if key is not None and key in found else None


def _message_of(person: OutreachPerson, found: Mapping[Key, Item]) -> Key | None:
    """Return the key of the first message to a person; None before the first message."""
    seq, run = person.seq, _run_of(person, found)
    if run is not None:
        sent = [one.seq for one in run.sent if one.chat_id == person.chat_id]
        final = run.final_message
        sent += [final.seq] if final is not None and final.chat_id == person.chat_id else []
        seq = min(sent, default=None)
    if seq is None or person.chat_id is None:
        return None
    return Message.key_of(person.tenant, person.chat_id, seq)


def _shown(
    person: OutreachPerson, outreach: Outreach, found: Mapping[Key, Item]
) -> OutreachPersonResource:
    """Return a person with the state that is derived from the stored data."""
    if person.state != "written":
        canceled = person.state == "waiting" and outreach.status == "canceled"
        return OutreachPersonResource.with_state(
            "canceled" if canceled else person.state,
            user_id=person.user_id,
            reason=person.reason,
            next_at=None if canceled else person.next_at,
        )
    key = _message_of(person, found)
    message = Message.must_read(found, key) if key is not None and key in found else None
    state, reason = _of_message(message, found) if message is not None else _of_run(person, found)
    return OutreachPersonResource.with_state(
        state,
        user_id=person.user_id,
        reason=reason,
        chat_id=person.chat_id,
        run_id=person.run_id,
        seq=message.seq if message is not None else person.seq,
    )


def _of_run(person: OutreachPerson, found: Mapping[Key, Item]) -> tuple[PersonState, Reason | None]:
    """Return the state of a person without a stored message, from the run that writes to them.

    If neither the message nor the run is stored any more, the message counts as sent.
    """
    run = _run_of(person, found)
    if run is None:
        return "sent", None
    if run.status not in OVER:
        return "writing", run.reason
    if run.reason == Reason.STOPPED_BY_OPERATOR:
        return "canceled", run.reason
    return ("silent" if run.status == "done" else "failed"), run.reason


def _of_message(message: Message, found: Mapping[Key, Item]) -> tuple[PersonState, Reason | None]:
    """Return the state of a person with a message: answered, or the delivery state of its SMS."""
    chat_key = Chat.key_of(message.tenant, message.chat_id)
    if chat_key in found and Chat.must_read(found, chat_key).person_seq > message.seq:
        return "answered", None
    keys = (Delivery.key_of(message.tenant, message.chat_id, each) for each in message.deliveries)
    deliveries = Delivery.read_each(found, keys)
    if deliveries:
        return OF_DELIVERY[deliveries[0].status], deliveries[0].reason
    if message.undelivered:
        return "failed", message.undelivered[0]
    return "sent", None
