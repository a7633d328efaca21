"""Post messages into chats, always through `Chats.post_message`.

One query reads the chat and its members. One transaction writes the message, the chat's counters,
the idempotency record, and a queued run for each agent that the message wakes. If an agent posts in
a direct chat whose person uses SMS, the transaction also writes a queued delivery. The jobs are
sent after the commit (docs/runs.md, "Transactions").
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from skein.channels.registry import channel_named
from skein.correlation import current
from skein.errors import (
    Ambiguous,
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    NotActive,
    NotFound,
    ReadersChanged,
    Unprocessable,
)
from skein.models.chats.chat import Chat, Media, Message, MessageKind, Via, check_text
from skein.models.chats.choice import Choice
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.membership import Membership
from skein.models.chats.origin import Origin
from skein.models.common.active_item import ActiveItem
from skein.models.common.address import Route
from skein.models.common.base import Identifier, MemberRef, Tenant, Value
from skein.models.common.reason import Reason
from skein.models.common.storage import (
    Check,
    Condition,
    Exists,
    Is,
    Key,
    Missing,
    Put,
    Update,
    Write,
    all_of,
    gone,
)
from skein.models.config.overrides import Overrides
from skein.models.outbox.jobs import MediaJob
from skein.models.visibility.provenance import NO_AUTHORS, Authors, Citation
from skein.models.visibility.sharing_rules import RULES_CHANGED, SharingStamp, sharing_changed
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.desk_stays import BegunStay, DeskRequest, asked_in_words, begun
from skein.services.chat_state.sessions import message_in_session, with_current_overrides
from skein.services.chat_state.snapshot import ChatSnapshot, read_or_opening, with_opening
from skein.services.chats.counters import counted
from skein.services.chats.message_commit import Commit, MessageRuns
from skein.services.common.optimistic import known_first, optimistic
from skein.services.config.resolution import DESK_WORDS
from skein.services.config.retention import kept_until, message_days
from skein.services.delivery.enqueue import outgoing, readable, undelivered
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.debounce import debounce_in
from skein.services.runs.wakeups import why_nobody
from skein.services.visibility.talk import keeps_talk
from skein.settings import Settings
from skein.tracing import span

logger = logging.getLogger(__name__)


class NewMessage(Value):
    """A message to post.

    Attributes:
        client_id: The sender's own id for the message, which makes retries idempotent.
        route: The route of a message from outside the app; later answers use this route.
        opted_out: True if the message is STOP on the route's channel, and False if it is START;
            None keeps the stored opt-out.
        confirms_opt_out: Whether the message confirms an opt-out; such a message is sent although
            the person has opted out.
        charged_to: The person who is charged for the message's SMS; None for the recipient.
        no_run_reason: Why the message starts and resumes no run, e.g. because its sender is over a
            limit; None if the message may start runs.
        overrides: The settings of the agent, the line and the tenant, if the caller has read them.
            If None, the overrides are read for a person's message in a direct chat.
        depth: The chain depth: 0 for a person's message. For an agent's message, the chain depth of
            its run plus 1.
        run_id: The run that posts an agent's message.
        authors: The people whose messages the posting run was shown, as digests.
        traced_to: The person whose message led to the posting run.
        expects_reply: Whether the sender waits for an answer.
        origin: Why an agent posts the message, if the agent was asked in another chat.
        choice: The question, for a message of the kind `choice`.
        answers: The agent whose choice a person's message answers; the message triggers no other
            agent.
        template: The message template to use where free text may not be sent; None for the first
            template that fits.
        via: The choice in which the person agreed to post this text, which an agent proposed. The
            post changes neither the person's route nor the person's `seen_seq`.
        report_of: The id of the work whose result the message reports.
        noticed_rules: See `Message`.
        sources: See `Message`.
        sharing_stamp: The content that the run received through sharing rules, if any.
        while_active: The item that must be active when the message is posted, if any.
    """

    tenant: Tenant
    chat_id: Identifier
    sender: MemberRef
    text: str
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    kind: MessageKind = "text"
    media: tuple[Media, ...] = ()
    reply_to: int | None = None
    route: Route | None = None
    opted_out: bool | None = None
    confirms_opt_out: bool = False
    charged_to: Identifier | None = None
    no_run_reason: Reason | None = None
    overrides: Overrides | None = None
    depth: int = 0
    run_id: Identifier | None = None
    authors: Authors = NO_AUTHORS
    traced_to: Identifier | None = None
    expects_reply: bool = False
    origin: Origin | None = None
    choice: Choice | None = None
    answers: Identifier | None = None
    template: str | None = None
    via: Via | None = None
    report_of: Identifier | None = None
    noticed_rules: tuple[Identifier, ...] = ()
    sources: tuple[Citation, ...] = ()
    sharing_stamp: SharingStamp | None = None
    while_active: ActiveItem | None = None

    @property
    def sharing_checks(self) -> list[Check]:
        """The checks that fail if the run's content from sharing rules may no longer be shared."""
        return self.sharing_stamp.unchanged(self.tenant) if self.sharing_stamp is not None else []

    def record_keys(self, formerly: Sequence[str]) -> list[Key]:
        """Return the keys of the message's idempotency records.

        Args:
            formerly: The sender's former ids, each of which has a key of its own.
        """
        refs = (self.sender, *(MemberRef(kind="user", id=user_id) for user_id in formerly))
        key_of = IdempotencyRecord.key_of
        return [key_of(self.tenant, self.chat_id, ref, self.client_id) for ref in refs]


class PostedMessage(NamedTuple):
    """A message in its chat, and whether this call or an earlier call posted it."""

    message: Message
    created: bool


ExtraWrites = Callable[[ChatSnapshot], Sequence[Write]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """The service that posts messages into chats."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    runs: MessageRuns
    settings: Settings

    def post_message(
        self,
        new: NewMessage,
        *,
        extra_writes: ExtraWrites | None = None,
        known: ChatSnapshot | None = None,
    ) -> PostedMessage:
        """Post a message into a chat, and queue a run of each agent that the message wakes.

        When this method returns, the message, its runs and its deliveries are committed. The call
        is idempotent: a repeated call with the same sender and `client_id` changes nothing and
        returns the stored message.

        Args:
            extra_writes: Returns extra writes for the same transaction, on items that the post
                itself does not write. It is called with the snapshot of each attempt. If the
                condition of the first extra write fails, nothing is posted. If the condition of a
                later extra write fails, the post is retried on a new snapshot.
            known: The chat's snapshot, if the caller has read it. If the chat has changed since,
                the snapshot is read again.

        Raises:
            NotFound: The chat does not exist, or the sender is not a member.
            Conflict: The chat is discarded. Or an agent posts while a person of the team holds the
                chat. Or the sender posts as the team without holding the chat.
            Unprocessable: The text is empty, too long or not Unicode, or `reply_to` is not a
                message of the chat.
            ExtraWriteFailed: The condition of the first extra write does not hold.
            ReadersChanged: Content that the run received through sharing rules may no longer be
                shared.
            NotActive: The work that the message belongs to is paused or over.
            Contention: 20 attempts failed because of other writers; nothing was stored.
        """
        check_text(new.text, new.client_id, has_media=bool(new.media))
        message_id = f"msg_{self.ids.ulid()}"
        snapshot = known_first(
            known, lambda: read_or_opening(self.table, new.tenant, new.chat_id, known)
        )
        with span("post"):
            return optimistic(
                self.clock, lambda: self._post_once(new, message_id, extra_writes, snapshot())
            )

    def _post_once(
        self,
        new: NewMessage,
        message_id: str,
        extra_writes: ExtraWrites | None,
        snapshot: ChatSnapshot,
    ) -> PostedMessage:
        sender, chat, now = _sender_in(snapshot, new), snapshot.chat, self.clock.now()
        if sender is None or chat.discarded_at is not None or _must_be_silent(new, chat):
            return PostedMessage(self._posted_while_open(new, sender, chat), created=False)
        if new.sharing_stamp is not None and new.sharing_stamp.has_ended(now):
            return PostedMessage(self._posted_before_end(new, sender), created=False)
        if new.reply_to is not None and not 1 <= new.reply_to <= snapshot.chat.last_seq:
            raise Unprocessable("reply_to is not a message of this chat")

        snapshot = with_current_overrides(self.table, snapshot, sender, new.overrides)
        snapshot = snapshot.replacing(_after(new, sender, now))
        message = _numbered(new, message_id, snapshot.chat, sender, now)
        message = message_in_session(readable(message, snapshot), snapshot.chat, self.settings)
        if snapshot.chat.sharing is not None and keeps_talk(snapshot.chat, message):
            message = message.model_copy(update={"keeps": True})
        commit, message = self._commit(new, message, snapshot, sender, now)
        earlier = self._transact(
            new, commit, extra_writes(snapshot) if extra_writes else (), sender
        )
        if earlier is not None:
            if earlier.id != message_id:
                _log_repeated(earlier)
            return PostedMessage(earlier, created=earlier.id == message_id)
        commit.log(message, _origin_of(new))
        if commit.delayed_jobs:
            delay = debounce_in(snapshot.chat, self.settings).seconds
            self.dispatch.send(commit.delayed_jobs, delay_seconds=delay)
        if commit.jobs:
            self.dispatch.send(commit.jobs)
        return PostedMessage(message, created=True)

    def _posted_while_open(self, new: NewMessage, sender: Membership | None, chat: Chat) -> Message:
        """Return the stored message if an earlier call posted it while the sender could post.

        Raises:
            NotFound: The message was not posted before, and the sender is not a member.
            Conflict: The message was not posted before, and the chat is discarded or held by
                another person.
        """
        earlier = self.earlier(new, sender.formerly if sender else ())
        if earlier is not None:
            _log_repeated(earlier)
            return earlier
        if chat.discarded_at is None and "team" in {new.kind, new.sender.kind}:
            raise Conflict("you haven't taken over this chat", reason=Reason.DESK)
        if sender is None:
            left = Reason.AGENT_LEFT if new.sender.kind == "agent" else Reason.PERSON_LEFT
            raise NotFound("chat not found", reason=left)
        if chat.discarded_at is not None:
            raise Conflict("the chat is discarded", reason=Reason.CHAT_DISCARDED)
        raise Conflict("a team member has taken over the chat", reason=Reason.DESK)

    def _posted_before_end(self, new: NewMessage, sender: Membership) -> Message:
        """Return the stored message if an earlier call posted it before the sharing rule ended.

        Raises:
            ReadersChanged: The message was not posted before.
        """
        earlier = self.earlier(new, sender.formerly)
        if earlier is None:
            raise ReadersChanged(RULES_CHANGED)
        _log_repeated(earlier)
        return earlier

    def _commit(
        self,
        new: NewMessage,
        message: Message,
        snapshot: ChatSnapshot,
        sender: Membership,
        now: datetime,
    ) -> tuple[Commit, Message]:
        """Build the transaction that stores a message. The idempotency record is the first write.

        Returns:
            The commit, and the message as it will be stored, with its runs, deliveries and reasons.
        """
        record = IdempotencyRecord.of(message)
        commit = Commit([Put(record.key, record.to_item(), gone(now))])
        commit.writes.extend(Check(key, gone(now)) for key in new.record_keys(sender.formerly)[1:])
        commit.writes.extend(new.sharing_checks)
        if new.while_active is not None:
            commit.writes.append(new.while_active.still_active)
        if message.keeps:
            commit.writes.append(sharing_changed(new.tenant, new.sender.id))
        stay = self._stay_begun_by(message, new, snapshot.chat, now)
        counters = counted(
            snapshot,
            message,
            now,
            ids=self.ids,
            settings=self.settings,
            desk=stay.desk if stay is not None else None,
        )
        commit.writes.extend([*counters.writes, *([stay.write] if stay is not None else [])])
        commit.jobs.extend([*counters.jobs, *([stay.job] if stay is not None else [])])
        commit.jobs.extend(_jobs_of_media(message))
        self._move_sender(commit, new, sender, message, now)
        limit = self.settings.max_chain_depth
        refused = new.no_run_reason
        if snapshot.opted_out and new.answers is None:  # what was agreed to is done in any case
            refused = refused or Reason.OPTED_OUT
        nobody = why_nobody(message, snapshot.chat, max_chain_depth=limit)
        if nobody in {Reason.KEYWORD, Reason.NOTICE, Reason.CHOICE}:
            nobody = new.no_run_reason or nobody
        else:
            nobody = refused or nobody
        others = [agent for agent in snapshot.agents if agent.member.ref != message.sender.ref]
        if refused is not None or message.kind != "text":
            commit.reasons |= {agent.member.id: nobody for agent in others if nobody is not None}
        else:
            self.runs.wake(commit, snapshot, message, now, nobody, texted=new.route is not None)
        confirms = new.confirms_opt_out
        commit.deliver(
            outgoing(
                snapshot,
                message,
                now,
                ids=self.ids,
                confirms_opt_out=confirms,
                charged_to=new.charged_to,
            )
        )
        commit.undelivered = () if confirms else undelivered(snapshot, message)
        message = commit.outcome(message, nobody or Reason.NOT_MENTIONED)
        commit.writes.append(Put(message.key, message.to_item(), Missing()))
        if snapshot.opening:
            commit.writes = with_opening(commit.writes, snapshot.opening)
        return commit, message

    def _stay_begun_by(
        self, message: Message, new: NewMessage, chat: Chat, now: datetime
    ) -> BegunStay | None:
        """Put the chat on the desk if the message contains one of the tenant's desk words."""
        overrides = chat.overrides if chat.kind == "direct" else new.overrides
        words = tuple((overrides or {}).get(DESK_WORDS, ()))
        if not words or not asked_in_words(message, chat, words):
            return None
        return begun(chat, f"dsk_{self.ids.ulid()}", DeskRequest(reason_code="words"), now)

    def _transact(
        self, new: NewMessage, commit: Commit, extra: Sequence[Write], sender: Membership
    ) -> Message | None:
        """Write the commit and the extra writes in one transaction.

        Returns:
            The stored message if an earlier call posted it; otherwise None.

        Raises:
            ExtraWriteFailed: The condition of the first extra write does not hold.
            ReadersChanged, NotActive: As in `post_message`.
            ConditionFailed: Another writer changed the chat, or the outcome is unknown.
        """
        try:
            self.table.transact([*commit.writes, *extra])
        except Ambiguous:
            raise ConditionFailed(frozenset()) from None  # retry: the message may be stored
        except ConditionFailed as failure:
            records = 1 + len(sender.formerly)
            checked = records + len(new.sharing_checks)
            posted_before = not failure.failed.isdisjoint(range(records))
            earlier = self.earlier(new, sender.formerly) if posted_before else None
            if earlier is not None:
                return earlier
            if not failure.failed.isdisjoint(range(records, checked)):
                raise ReadersChanged(RULES_CHANGED) from failure
            if new.while_active is not None and checked in failure.failed:
                raise NotActive("nothing was posted") from failure
            if len(commit.writes) in failure.failed:
                raise ExtraWriteFailed("nothing was posted") from failure
            raise
        return None

    @staticmethod
    def _move_sender(
        commit: Commit, new: NewMessage, sender: Membership, message: Message, now: datetime
    ) -> None:
        """Update the `seen_seq`, the route and the opt-out in a person's membership.

        An agent's `seen_seq` does not change when the agent posts, because the agent has seen only
        the messages in its prompt.
        """
        if sender.member.kind != "user" or new.via is not None:
            return
        before, after = sender.attributes(), _after(new, sender, now).attributes()
        change = {"seen_seq": message.seq, "route": after.get("route")}
        condition: Condition = Exists()
        if new.opted_out is not None:
            change["opt_outs"] = after.get("opt_outs")
            condition = all_of(Exists(), Is("opt_outs", before.get("opt_outs")))
        if before.get("introduction") is not None:
            change["introduction"] = None
        if after.get("heard") != before.get("heard"):
            change["heard"] = after["heard"]
        commit.writes.append(Update(sender.key, set=change, condition=condition))

    def earlier(self, new: NewMessage, formerly: Sequence[str] = ()) -> Message | None:
        """Find the message that the sender posted with this `client_id`.

        Args:
            new: The message; only its sender, chat and `client_id` are used.
            formerly: Former ids of the sender in the chat, which are looked up, too.
        """
        records = (IdempotencyRecord.read(self.table, key) for key in new.record_keys(formerly))
        record = next(filter(None, records), None)
        if record is None:
            return None
        return Message.read(self.table, Message.key_of(new.tenant, new.chat_id, record.seq))


def _origin_of(new: NewMessage) -> dict[str, str]:
    person = {"user_id": new.sender.id} if new.sender.kind == "user" else {}
    if new.route is None:
        return person
    return {**person, "sid": new.client_id.rpartition(":")[2], "line": new.route.line.address}


def _jobs_of_media(message: Message) -> list[MediaJob]:
    if message.sender.kind != "user":
        return []
    of = {"tenant": message.tenant, "chat_id": message.chat_id}
    return [MediaJob(media_id=media.id, **of) for media in message.media if media.id is not None]


def _log_repeated(earlier: Message) -> None:
    logger.info(
        "message was posted before",
        extra={"chat_id": earlier.chat_id, "seq": earlier.seq, "reason": Reason.REPEATED},
    )


def _sender_in(snapshot: ChatSnapshot, new: NewMessage) -> Membership | None:
    """Return the sender's membership; None if the sender may not post the message.

    Only the person of the team who holds the chat may post messages of the kind `team`. The holder
    is not a member, so the function returns a new membership for the holder, which is never stored.
    """
    holder = snapshot.chat.holder
    if "team" not in {new.kind, new.sender.kind}:
        return snapshot.member(new.sender)
    if new.kind != "team" or holder is None or holder.sender.ref != new.sender:
        return None
    return Membership(tenant=new.tenant, chat_id=new.chat_id, member=holder.sender)


def _must_be_silent(new: NewMessage, chat: Chat) -> bool:
    """Return whether an agent's text is blocked because a person of the team holds the chat.

    Notices and questions that Skein itself asks are still posted.
    """
    words = new.kind == "text" or (new.kind == "choice" and new.run_id is not None)
    return chat.held and new.sender.kind == "agent" and words


def _after(new: NewMessage, sender: Membership, now: datetime) -> Membership:
    if sender.member.kind != "user" or new.via is not None:
        return sender
    heard, opt_outs = sender.heard, sender.opt_outs
    if new.route is not None and channel_named(new.route.channel).window is not None:
        heard = heard | {new.route.channel: now}
    if new.opted_out is not None and new.route is not None:
        channel = new.route.channel
        others = {other: at for other, at in opt_outs.items() if other != channel}
        since = opt_outs.get(channel, now)
        opt_outs = others | {channel: since} if new.opted_out else others
    return sender.model_copy(
        update={"route": new.route, "introduction": None, "heard": heard, "opt_outs": opt_outs}
    )


def _numbered(
    new: NewMessage, message_id: str, chat: Chat, sender: Membership, now: datetime
) -> Message:
    """Build the message with the chat's next seq.

    The message's `created_at` is never before the `created_at` of the previous message.
    """
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
        authors=new.authors,
        traced_to=new.traced_to,
        expects_reply=new.expects_reply,
        origin=new.origin,
        choice=new.choice,
        answers=new.answers,
        template=new.template,
        via=new.via,
        report_of=new.report_of,
        noticed_rules=new.noticed_rules,
        sources=new.sources,
        team=chat.holder.team if new.kind == "team" and chat.holder is not None else None,
        expires_at=kept_until(now, message_days(chat.retention)),
        correlation_id=current(),
        created_at=max(now, chat.last_message_at or now),
    )
