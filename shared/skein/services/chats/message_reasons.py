"""Tell operators why a message has no answer: the runs, the reasons and the deliveries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.errors import NotFound
from skein.models.chats.chat import Message, MessageKind
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.reason import Reason, meaning_of
from skein.models.common.storage import Item, Key
from skein.models.delivery.delivery import Delivery, DeliveryStatus
from skein.models.runs.run import Run, RunStatus
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.delivery.state import reason_of
from skein.services.runs.reasons import has_posted, reason_now


@dataclass(frozen=True, slots=True)
class RunReason:
    """A run that a message led to.

    Attributes:
        status: The status of the run; None if the run no longer exists.
        reason: Why the run has posted no answer; None if the run has answered.
    """

    id: str
    status: RunStatus | None
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class AgentReason:
    """The outcome of a message for one agent of its chat.

    Attributes:
        reason: Why the agent has not answered; None if the agent has answered.
        runs: The run that the message led to, if any. If the run was merged into another run, both
            runs are listed, in this order.
    """

    agent_id: str
    reason: Reason | None
    runs: tuple[RunReason, ...] = ()

    @property
    def meaning(self) -> str | None:
        """The reason in one sentence."""
        return meaning_of(self.reason)


@dataclass(frozen=True, slots=True)
class DeliveryReason:
    """The delivery of a message to a phone.

    Attributes:
        seq: The delivered message: the message itself, or an answer to it.
        reason: Why the SMS has not reached the phone; None if the SMS has arrived.
        id: The id of the delivery; None if the message was not sent.
        status: The status of the delivery; None if the delivery does not exist.
        error_codes: Twilio's error codes for the parts of the SMS.
    """

    seq: int
    reason: Reason | None
    id: str | None = None
    status: DeliveryStatus | None = None
    error_codes: tuple[int, ...] = ()

    @property
    def meaning(self) -> str | None:
        """The reason in one sentence."""
        return meaning_of(self.reason)


@dataclass(frozen=True, slots=True)
class MessageReasons:
    """The outcome of a message: one entry per agent, and the deliveries.

    Attributes:
        run_id: The run that posted the message; None for a person's message.
    """

    id: str
    chat_id: str
    seq: int
    kind: MessageKind
    sender: NamedMember
    correlation_id: str | None
    created_at: datetime
    run_id: str | None
    agents: tuple[AgentReason, ...]
    deliveries: tuple[DeliveryReason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonViews:
    """The service that tells operators why a message has no answer."""

    table: Table
    clock: Clock

    def of_message(self, tenant: str, chat_id: str, seq: int) -> MessageReasons:
        """Return the outcome of a message for each agent of its chat.

        The function makes one query and at most five reads, regardless of the length of the chat.

        Args:
            chat_id: The id of the chat, which may be discarded.

        Raises:
            NotFound: The chat or the message does not exist in this tenant.
        """
        snapshot = read_snapshot(self.table, tenant, chat_id)
        message = Message.read(self.table, Message.key_of(tenant, chat_id, seq))
        if message is None:
            raise NotFound("message not found")
        runs = self._runs(tenant, message.runs.values())
        merged = (run.merged_into for run in runs.values() if run.merged_into is not None)
        runs |= self._runs(tenant, merged)
        return MessageReasons(
            id=message.id,
            chat_id=message.chat_id,
            seq=message.seq,
            kind=message.kind,
            sender=snapshot.chat.as_now(message).sender,
            correlation_id=message.correlation_id,
            created_at=message.created_at,
            run_id=message.run_id,
            agents=self._agents(snapshot, message, runs),
            deliveries=self._deliveries(snapshot, message, runs),
        )

    def _runs(self, tenant: str, run_ids: Iterable[str]) -> dict[str, Run]:
        keys = [Run.key_of(tenant, run_id) for run_id in dict.fromkeys(run_ids)]
        runs = Run.read_each(self._found(keys))
        return {run.id: run for run in runs}

    def _agents(
        self, snapshot: ChatSnapshot, message: Message, runs: Mapping[str, Run]
    ) -> tuple[AgentReason, ...]:
        members = {agent.member.id: agent for agent in snapshot.agents}
        agent_ids = sorted({*members, *message.runs, *message.reasons})
        now = self.clock.now()
        return tuple(
            _of_agent(agent_id, members.get(agent_id), message, runs, now) for agent_id in agent_ids
        )

    def _deliveries(
        self, snapshot: ChatSnapshot, message: Message, runs: Mapping[str, Run]
    ) -> tuple[DeliveryReason, ...]:
        """Return the deliveries of a message to people, or of the answers to a person's message."""
        if message.sender.kind != "user":
            sent = [message]
        elif snapshot.chat.kind == "direct":
            sent = self._answers(message, runs)
        else:
            return ()
        if snapshot.chat.kind != "direct":
            people = any(member.member.kind == "user" for member in snapshot.members)
            return (DeliveryReason(message.seq, Reason.GROUP_CHAT),) if people else ()
        keys = {
            delivery_id: Delivery.key_of(each.tenant, each.chat_id, delivery_id)
            for each in sent
            for delivery_id in each.deliveries
        }
        found = {each.key: each for each in Delivery.read_each(self._found([*keys.values()]))}
        before = {
            Delivery.key_of(each.tenant, each.chat_id, each.after)
            for each in found.values()
            if each.after is not None and not each.settled
        }
        earlier = {each.key: each for each in Delivery.read_each(self._found(sorted(before)))}
        outcomes: list[DeliveryReason] = []
        for each in sent:
            outcomes.extend(
                self._of_delivery(each.seq, delivery_id, found.get(keys[delivery_id]), earlier)
                for delivery_id in each.deliveries
            )
            outcomes.extend(DeliveryReason(each.seq, reason) for reason in each.undelivered)
        return tuple(outcomes)

    def _of_delivery(
        self,
        seq: int,
        delivery_id: str,
        delivery: Delivery | None,
        earlier: Mapping[Key, Delivery],
    ) -> DeliveryReason:
        if delivery is None:
            return DeliveryReason(seq, Reason.DELIVERY_MISSING, delivery_id)
        before = (
            earlier.get(Delivery.key_of(delivery.tenant, delivery.chat_id, delivery.after))
            if delivery.after is not None
            else None
        )
        reason = reason_of(delivery, before, self.clock.now())
        codes = (part.error_code for part in delivery.parts if part.error_code is not None)
        return DeliveryReason(seq, reason, delivery.id, delivery.status, tuple(codes))

    def _answers(self, message: Message, runs: Mapping[str, Run]) -> list[Message]:
        """Read the messages that the runs of a message have posted in its chat, oldest first."""
        seqs = {
            sent.seq
            for run in runs.values()
            for sent in (*run.sent, run.final_message)
            if sent is not None and sent.chat_id == message.chat_id and sent.seq > message.seq
        }
        keys = [Message.key_of(message.tenant, message.chat_id, seq) for seq in sorted(seqs)]
        found = self._found(keys)
        return Message.read_each(found, keys)

    def _found(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return self.table.get_many(keys) if keys else {}


def _of_agent(
    agent_id: str,
    member: Membership | None,
    message: Message,
    runs: Mapping[str, Run],
    now: datetime,
) -> AgentReason:
    run_id = message.runs.get(agent_id)
    if run_id is None:
        return AgentReason(agent_id, _why_no_run(agent_id, member, message))
    led_to: list[RunReason] = []
    while run_id is not None and len(led_to) <= len(runs):
        run = runs.get(run_id)
        here = member if member is not None and run and run.chat_id == member.chat_id else None
        reason = reason_now(run, here, now) if run is not None else Reason.RUN_MISSING
        led_to.append(RunReason(run_id, run.status if run is not None else None, reason))
        run_id = run.merged_into if run is not None else None
    answered = any(
        run.status == "done" and has_posted(run, message.chat_id, after=message.seq)
        for run in (runs.get(each.id) for each in led_to)
        if run is not None
    )
    return AgentReason(agent_id, None if answered else led_to[-1].reason, tuple(led_to))


def _why_no_run(agent_id: str, member: Membership | None, message: Message) -> Reason:
    if message.sender.ref == MemberRef(kind="agent", id=agent_id):
        return Reason.OWN_MESSAGE
    if member is not None and message.seq <= member.joined_seq:
        return Reason.JOINED_LATER
    return message.reasons.get(agent_id) or message.reason or Reason.NOT_RECORDED
