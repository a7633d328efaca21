"""Create the deliveries of a new message: one for each person of a direct chat on SMS."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from skein.channels.registry import channel_named
from skein.correlation import current
from skein.models.chats.chat import MAX_TEXT, Message
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import Condition, Is, Missing, Put, Update, Write, all_of
from skein.models.delivery.delivery import Delivery
from skein.models.outbox.jobs import DeliveryJob
from skein.ports import Ids
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.delivery.policy import grace_end


def why_not_sent(person: Membership) -> Reason | None:
    """Return why a member of a direct chat gets no delivery; None if deliveries are allowed."""
    if not person.active:
        return Reason.PERSON_LEFT
    if person.route is None:
        return Reason.IN_APP
    return Reason.OPTED_OUT if person.opted_out else None


def person_disturbed(snapshot: ChatSnapshot) -> Membership | None:
    """Return a direct chat's person if texts reach them on a channel with quiet hours, or None."""
    if snapshot.chat.kind != "direct":
        return None
    return next((each for each in snapshot.members if _is_disturbed(each)), None)


def _is_disturbed(each: Membership) -> bool:
    if each.member.kind != "user" or each.route is None or why_not_sent(each) is not None:
        return False
    return channel_named(each.route.channel).keeps_quiet_hours


class QueuedDelivery(NamedTuple):
    """A queued delivery: its job, and its writes for the transaction that stores the message."""

    delivery_id: str
    writes: tuple[Write, ...]
    job: DeliveryJob


def outgoing(
    snapshot: ChatSnapshot,
    message: Message,
    now: datetime,
    *,
    ids: Ids,
    confirms_opt_out: bool = False,
    charged_to: str | None = None,
) -> Iterator[QueuedDelivery]:
    """Yield the deliveries of a message to the people of a direct chat, one per person.

    Only people who are active members, are on SMS and have not opted out get a delivery.

    Args:
        snapshot: The chat snapshot. The writes are conditional on each person's route,
            opt-outs and last delivery in the snapshot (optimistic lock).
        message: The message, with its seq.
        confirms_opt_out: Whether the message confirms an opt-out. If so, people who have opted out
            get it, too.
        charged_to: The person who is charged for the SMS; None for the recipient.
    """
    if not _goes_out(message, snapshot):
        return
    due_at = grace_end(now)
    for person in snapshot.members:
        refused = why_not_sent(person)
        confirmed = confirms_opt_out and refused == Reason.OPTED_OUT
        if person.route is None or (refused is not None and not confirmed):
            continue
        delivery = Delivery(
            tenant=message.tenant,
            id=f"dlv_{ids.ulid()}",
            chat_id=message.chat_id,
            user_id=person.member.id,
            agent_id=_agent_of(message, snapshot),
            charged_to=charged_to,
            seq=message.seq,
            to=person.route,
            after=person.last_delivery,
            confirms_opt_out=confirmed,
            expires_at=message.expires_at,
            correlation_id=current(),
            created_at=now,
        )
        said = {"introduction": None} if message.introduction is not None else {}
        change = {"last_delivery": delivery.id, **said}
        following = Update(person.key, set=change, condition=_as_read(person))
        yield QueuedDelivery(
            delivery.id,
            (Put(delivery.key, delivery.to_item(due_at), Missing()), following),
            DeliveryJob(tenant=delivery.tenant, chat_id=delivery.chat_id, delivery_id=delivery.id),
        )


def readable(message: Message, snapshot: ChatSnapshot) -> Message:
    """Return the message in the form in which the person's phone will show it.

    The message is stored in this form, so that the chat contains exactly the text that is on the
    phone. The first text to a person who has not written yet begins with the introduction.
    """
    if not _goes_out(message, snapshot):
        return message
    reached = (member for member in snapshot.members if why_not_sent(member) is None)
    person = next((member for member in reached if member.route is not None), None)
    if person is None or person.route is None:
        return message
    message = message.model_copy(update={"introduction": person.introduction})
    if message.kind not in {"text", "team"} or message.report_of is not None:
        return message
    text = channel_named(person.route.channel).shown(message.text)
    return message.model_copy(update={"text": text}) if len(text) <= MAX_TEXT else message


def undelivered(snapshot: ChatSnapshot, message: Message) -> tuple[Reason, ...]:
    """Return why people of a direct chat get no SMS with a message, without duplicates."""
    if not _goes_out(message, snapshot):
        return ()
    people = (person for person in snapshot.members if person.member.kind == "user")
    reasons = (why_not_sent(person) for person in people)
    return tuple(dict.fromkeys(reason for reason in reasons if reason is not None))


def _goes_out(message: Message, snapshot: ChatSnapshot) -> bool:
    """Return whether a message goes from an agent or the team to the person of a direct chat."""
    return snapshot.chat.kind == "direct" and message.sender.kind != "user"


def _agent_of(message: Message, snapshot: ChatSnapshot) -> str:
    """Return the agent whose usage an SMS counts toward: the sender, or else the chat's agent."""
    if message.sender.kind == "agent":
        return message.sender.id
    return next((agent.member.id for agent in snapshot.agents), message.sender.id)


def _as_read(person: Membership) -> Condition:
    """Require that the person's route, opt-outs, last delivery and introduction are unchanged."""
    stored = person.attributes()
    names = ("route", "opt_outs", "last_delivery", "introduction")
    return all_of(*(Is(name, stored.get(name)) for name in names))
