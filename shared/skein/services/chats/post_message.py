"""`post_message`: the only door by which any message enters any chat.

One query reads the chat and its members; one transaction writes the message, the chat's counters,
the dedupe mark, a queued run for each agent that it wakes and, in a direct chat whose person is on
SMS, a queued delivery (DESIGN section 2). Then their jobs are sent.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from skein.correlation import current
from skein.errors import (
    Ambiguous,
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    NotFound,
    Unprocessable,
)
from skein.models.audience import Origin
from skein.models.base import Identifier, MemberRef, Tenant, Value
from skein.models.chat import (
    Chat,
    Media,
    Membership,
    Message,
    MessageKind,
    SmsAddress,
    check_text,
)
from skein.models.dedupe import DedupeMark
from skein.models.jobs import Job
from skein.models.overrides import ChatOverrides
from skein.models.storage import Check, Exists, Key, Missing, Put, Update, Write, gone
from skein.models.trigger import Trigger
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.audience import audience_of
from skein.services.chat_state.sessions import brought_up, message_in_session
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.counters import counted
from skein.services.common.optimistic import optimistic_on
from skein.services.config.retention import kept_until, message_days
from skein.services.delivery.enqueue import Outgoing, outgoing
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.debounce import burst_with, debounce_in
from skein.services.runs.slots import enqueue, slots_unchanged
from skein.services.runs.waits import resumed_by
from skein.services.runs.wakeups import paced, woken_by
from skein.settings import Settings

logger = logging.getLogger(__name__)


class NewMessage(Value):
    """A message that somebody wants to post.

    Attributes:
        client_id: The sender's own id of it, by which a repetition is recognised.
        sms: The numbers it came over; answers then go there. None for the app.
        opted_out: True after STOP, False after START; None leaves it as it is.
        quiet: It is stored, and wakes nobody.
        overrides: What the agent, the line and the tenant say of settings, where the caller has
            read that; else it is read, for a person's message in a direct chat.
        depth: 0 from a person, one more for each agent that passed the word on.
        run_id: The run that says it, for an agent's message.
        traced_to: The person that this run traces back to.
        expects_reply: The sender waits for an answer.
        origin: Why it is said, where the sender was asked in another chat.
    """

    tenant: Tenant
    chat_id: Identifier
    sender: MemberRef
    text: str
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    kind: MessageKind = "text"
    media: tuple[Media, ...] = ()
    reply_to: int | None = None
    sms: SmsAddress | None = None
    opted_out: bool | None = None
    quiet: bool = False
    overrides: ChatOverrides | None = None
    depth: int = 0
    run_id: Identifier | None = None
    traced_to: Identifier | None = None
    expects_reply: bool = False
    origin: Origin | None = None


class Posted(NamedTuple):
    """A message in its chat; `created` is False when it had been there before."""

    message: Message
    created: bool


ExtraWrites = Callable[[ChatSnapshot], Sequence[Write]]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """Puts messages into chats."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    settings: Settings

    def post_message(
        self,
        new: NewMessage,
        *,
        extra_writes: ExtraWrites | None = None,
        known: ChatSnapshot | None = None,
    ) -> Posted:
        """Put a message into a chat, once, and wake whom it wakes.

        When this returns, the message and all that follows from it are committed. Calling it again
        with the same sender and `client_id` changes nothing and returns the same message.

        Args:
            new: The message.
            extra_writes: Gives, for the chat as it was just read, further writes of the same
                transaction, of items that it does not touch itself. The first must hold or
                nothing is posted; the others rest on readings and are made again.
            known: The chat and its members, where the caller has read them; read again if the chat
                has changed since.

        Raises:
            NotFound: No such chat, or the sender is not in it.
            Conflict: The chat is discarded.
            Unprocessable: The text is empty, too long or not Unicode, or `reply_to` names nothing.
            RiderFailed: The condition of the first rider does not hold.
            Contention: 20 tries were lost to other writers; nothing was stored.
        """
        check_text(new.text, new.client_id, has_media=bool(new.media))
        message_id = f"msg_{self.ids.ulid()}"
        return optimistic_on(
            self.clock,
            known,
            lambda: read_snapshot(self.table, new.tenant, new.chat_id),
            lambda snapshot: self._post_once(new, message_id, extra_writes, snapshot),
        )

    def _post_once(
        self,
        new: NewMessage,
        message_id: str,
        extra_writes: ExtraWrites | None,
        snapshot: ChatSnapshot,
    ) -> Posted:
        sender = snapshot.member(new.sender)
        if sender is None or snapshot.chat.discarded_at is not None:
            return Posted(self._posted_while_open(new, sender), created=False)
        if new.reply_to is not None and not 1 <= new.reply_to <= snapshot.chat.last_seq:
            raise Unprocessable("reply_to names no message of this chat")

        now = self.clock.now()
        snapshot = brought_up(self.table, snapshot, sender, new.overrides)
        message = _numbered(new, message_id, snapshot.chat, sender, now)
        message = message_in_session(message, snapshot.chat, self.settings)
        commit = self._commit(new, message, snapshot, sender, now)
        earlier = self._transact(
            new, commit, extra_writes(snapshot) if extra_writes else (), sender
        )
        if earlier is not None:
            return Posted(earlier, created=earlier.id == message_id)
        commit.log(message)
        debounce = debounce_in(snapshot.chat, self.settings)
        self.dispatch.send(commit.replies, delay_seconds=debounce.first_seconds)
        self.dispatch.send(commit.others)
        return Posted(message, created=True)

    def _posted_while_open(self, new: NewMessage, sender: Membership | None) -> Message:
        """Return the same message if it was posted while the chat was open to its sender.

        Raises:
            NotFound: It was not, and the sender is not in the chat.
            Conflict: It was not, and the chat is discarded.
        """
        earlier = self.earlier(new, sender.formerly if sender else ())
        if earlier is not None:
            return earlier
        if sender is None:
            raise NotFound("there is no such chat")
        raise Conflict("the chat is discarded")

    def _commit(
        self,
        new: NewMessage,
        message: Message,
        snapshot: ChatSnapshot,
        sender: Membership,
        now: datetime,
    ) -> Commit:
        """Collect the writes of a message, dedupe marks first, and the jobs that follow it."""
        mark = DedupeMark.of(message)
        commit = Commit([Put(mark.key, mark.to_item(), gone(now))])
        commit.writes.extend(Check(key, gone(now)) for key in _former_marks(new, sender.formerly))
        commit.writes.append(Put(message.key, message.to_item(), Missing()))
        moved_on = counted(snapshot, message, now, ids=self.ids, settings=self.settings)
        commit.writes.extend(moved_on.writes)
        commit.others.extend(moved_on.jobs)
        self._move_sender(commit, new, sender, message)
        if not new.quiet:
            self._wake(commit, snapshot, message, now, texted=new.sms is not None)
        commit.deliver(outgoing(snapshot, message, now, ids=self.ids, settings=self.settings))
        return commit

    def _transact(
        self, new: NewMessage, commit: Commit, riding: Sequence[Write], sender: Membership
    ) -> Message | None:
        """Write the commit and the riders; return the message if it had been posted before.

        Raises:
            RiderFailed: The condition of the first rider does not hold.
            ConditionFailed: The chat was written meanwhile, or the outcome is not known.
        """
        try:
            self.table.transact([*commit.writes, *riding])
        except Ambiguous:
            raise ConditionFailed(frozenset()) from None  # look again: it may be there
        except ConditionFailed as failure:
            marks = range(1 + len(sender.formerly))
            posted_before = not failure.failed.isdisjoint(marks)
            earlier = self.earlier(new, sender.formerly) if posted_before else None
            if earlier is not None:
                return earlier
            if len(commit.writes) in failure.failed:
                raise ExtraWriteFailed("nothing was posted") from failure
            raise
        return None

    @staticmethod
    def _move_sender(commit: Commit, new: NewMessage, sender: Membership, message: Message) -> None:
        """A person has seen what they answer; an agent has seen what its prompt held, not more."""
        if sender.member.kind == "agent":
            return
        change: dict[str, object] = {
            "seen_seq": message.seq,
            "sms": new.sms.model_dump(mode="json") if new.sms else None,
        }
        if new.opted_out is not None:
            opted_out_at = message.attributes()["created_at"] if new.opted_out else None
            change["sms_opted_out_at"] = opted_out_at
        commit.writes.append(Update(sender.key, set=change, condition=Exists()))

    def _wake(
        self,
        commit: Commit,
        snapshot: ChatSnapshot,
        message: Message,
        now: datetime,
        *,
        texted: bool,
    ) -> None:
        """Give a run to each agent that the message wakes, and let those go on that waited."""
        if message.kind != "text":
            return
        trigger = Trigger(
            type="chat_message",
            seq=message.seq,
            from_seq=message.seq,
            by=message.sender.ref,
            traced_to=message.traced_to,
        )
        audience = audience_of(snapshot.chat, since_seq=message.seq)
        debounce = debounce_in(snapshot.chat, self.settings) if texted else None
        limit = self.settings.max_chain_depth
        woken = woken_by(message, snapshot.chat, snapshot.agents, max_chain_depth=limit)
        others = [agent for agent in snapshot.agents if agent.member.ref != message.sender.ref]
        for agent in [*woken, *(agent for agent in others if agent not in woken)]:
            wakes = agent in woken
            pace = paced(agent, message, woken=wakes, now=now, settings=self.settings)
            answering = {**pace.changes, **burst_with(agent, debounce, now)}
            if agent.wait is not None:
                resumed = resumed_by(
                    self.table,
                    agent,
                    message,
                    changes=answering,
                    now=now,
                    settings=self.settings,
                )
                commit.run_ids.append(agent.wait.run_id)
                commit.writes.extend(resumed.writes)
                commit.replies.extend([resumed.job] if resumed.job else [])
            elif wakes and pace.allowed:
                enqueued = enqueue(
                    agent,
                    trigger,
                    depth=message.depth,
                    audience=audience,
                    changes=answering,
                    ids=self.ids,
                    now=now,
                    settings=self.settings,
                )
                commit.run_ids.append(enqueued.run_id)
                commit.writes.extend(enqueued.writes)
                commit.replies.extend([enqueued.job] if enqueued.job else [])
            elif pace.changes:
                unchanged = slots_unchanged(agent)
                commit.writes.append(Update(agent.key, set=pace.changes, condition=unchanged))

    def earlier(self, new: NewMessage, formerly: Sequence[str] = ()) -> Message | None:
        """The message that the sender, under any id of theirs, posted with this `client_id`."""
        marks = map(self.table.get, marks_of(new, formerly))
        mark = next((mark for mark in marks if mark is not None), None)
        if mark is None:
            return None
        seq = DedupeMark.from_item(mark).seq
        item = self.table.get(Message.key_of(new.tenant, new.chat_id, seq))
        return Message.from_item(item) if item else None


def marks_of(new: NewMessage, formerly: Sequence[str]) -> list[Key]:
    """The dedupe marks of a message, under each id that its sender has had in the chat."""
    own = DedupeMark.key_of(new.tenant, new.chat_id, new.sender, new.client_id)
    return [own, *_former_marks(new, formerly)]


def _former_marks(new: NewMessage, formerly: Sequence[str]) -> list[Key]:
    """Where it stands that the sender posted the message when they went by another id."""
    former = (MemberRef(kind="user", id=user_id) for user_id in formerly)
    return [DedupeMark.key_of(new.tenant, new.chat_id, ref, new.client_id) for ref in former]


def _numbered(
    new: NewMessage, message_id: str, chat: Chat, sender: Membership, now: datetime
) -> Message:
    """The message under the next number; the time never runs backwards within a chat."""
    return Message(
        tenant=new.tenant,
        chat_id=new.chat_id,
        id=message_id,
        seq=chat.last_seq + 1,
        kind=new.kind,
        text=new.text,
        sender=sender.member,
        client_id=new.client_id,
        reply_to=new.reply_to,
        media=new.media,
        depth=new.depth,
        run_id=new.run_id,
        traced_to=new.traced_to,
        expects_reply=new.expects_reply,
        origin=new.origin,
        expires_at=kept_until(now, message_days(chat.retention)),
        correlation_id=current(),
        created_at=max(now, chat.last_message_at or now),
    )
