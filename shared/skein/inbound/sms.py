"""Inbound SMS: classify each SMS, then post it in the chat that it belongs to.

`sms_kinds` classifies an SMS, `direct_chats` finds or opens its chat, and `sms_answers` answers the
question that a code belongs to.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from skein.channels.port import Channel, Keyword
from skein.channels.registry import channel_named
from skein.errors import (
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    NotFound,
    RateLimited,
    Unprocessable,
)
from skein.inbound.address_lookup import DirectChat
from skein.inbound.direct_chats import DirectChats
from skein.inbound.silent_numbers import SilentNumbers
from skein.inbound.sms_answers import SmsAnswers
from skein.inbound.sms_hours import SmsHours
from skein.inbound.sms_kinds import (
    ArrivedSms,
    EarlierAnswer,
    KeywordSms,
    OrdinarySms,
    SmsKinds,
    StoredKind,
)
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.membership import Membership
from skein.models.common.address import Route, route_on
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.delivery.sms import InboundSms, ReceivedSms
from skein.models.directory.address_index import TextConsent
from skein.models.directory.line import Line
from skein.models.quotas.limit import ExceededLimit
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage
from skein.services.chats.posted_media import sent_files
from skein.services.choices.codes import MatchedAnswer, Refusal
from skein.services.choices.typed_answers import Unsure, repeating
from skein.services.common.optimistic import optimistic
from skein.services.delivery.continuation import ContinuationRequest, TextContinuations
from skein.services.quotas.rate_limits import RateLimiter, admission_keys, over_now, reason_of_limit
from skein.services.replies.user_notices import Notices
from skein.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmsReceiver:
    """The service that receives inbound SMS."""

    table: Table
    clock: Clock
    ids: Ids
    chats: Chats
    direct_chats: DirectChats
    kinds: SmsKinds
    rate_limiter: RateLimiter
    notices: Notices
    answers: SmsAnswers
    continuations: TextContinuations
    silent_numbers: SilentNumbers
    hours: SmsHours
    metrics: Metrics
    settings: Settings

    def receive(self, sms: InboundSms) -> PostedMessage | None:
        """Post an SMS to the direct chat of its sender and the line's agent.

        The first contact creates the sender and the chat. A new chat is also created if the line
        now belongs to another agent, if the old chat was discarded, or if the person has left the
        old chat. Keywords such as STOP are recorded and do not trigger an agent. A code that
        belongs to an open question is its answer, and is posted in the question's chat. Any other
        code is recorded, and its sender gets a notice.

        Returns:
            The message. None if the SMS is not stored because it has neither text nor media, or
            because its sender is a line of the same tenant: two agents would answer each other
            endlessly.

        Raises:
            Unprocessable: A number is not a full phone number, so no answer could be sent.
            Forbidden: The id of the SMS came from another number in the last day.
            NotFound: The recipient is not one of our lines, or the line's agent was deleted.
            Contention: The optimistic lock failed 20 times; the SMS was not stored.
        """
        channel = channel_named(sms.channel)
        line_at, person_at = (_normalised(one, channel) for one in (sms.recipient, sms.sender))
        route = route_on(channel.name, line=line_at, person=person_at)
        if not sms.body.strip() and not sms.media:
            self._not_stored(Reason.NO_WORDS, route, sms)
            return None
        line = self._line(route)
        sms = self._with_ids(sms)
        received = optimistic(self.clock, lambda: self._receive_once(line, route, sms))
        if received is not None:
            self.hours.record()
        return received

    def _receive_once(self, line: Line, route: Route, sms: InboundSms) -> PostedMessage | None:
        """Post the SMS on the condition that the address still belongs to the same user.

        Raises:
            ConditionFailed: The address belongs to another user now; the caller reads again.
        """
        lookup = self.direct_chats.look_up(line, route, self._received(line, route, sms))
        if lookup.is_line:
            extra = {"reason": Reason.OWN_LINE, **_named(route, sms)}
            logger.warning("SMS not stored", extra=extra)
            self.metrics.count("TextsFromOwnLines")
            return None
        arrived = ArrivedSms(line, route, sms, lookup)
        try:
            match self.kinds.classify(arrived):
                case EarlierAnswer(message=message):
                    return PostedMessage(message, created=False)
                case MatchedAnswer() as matched:
                    posted = self._answer(arrived, matched)
                    if posted is not None:
                        return posted
                    return self._store(arrived, self.kinds.not_accepted(arrived, matched))
                case kind:
                    return self._store(arrived, kind)
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None

    def _answer(self, arrived: ArrivedSms, matched: MatchedAnswer) -> PostedMessage | None:
        """Post an SMS as the answer to a question, in the question's chat.

        The run starts even if a limit of its person is reached, because each question has one
        answer, and the calls that it approves need no tokens.

        Returns:
            The answer's message, even if an earlier delivery posted it; None if the answer was not
            accepted.

        Raises:
            ExtraWriteFailed: The address belongs to another user now.
        """
        line, route, sms, lookup = arrived
        owner, choice = lookup.owner, matched.choice
        if owner is None:
            return None
        here = lookup.chat is not None and lookup.chat.chat_id == choice.chat_id
        direct = DirectChat(owner.user_id, choice.chat_id, lookup.overrides, owner, sms.channel)
        limit = self._admitted(arrived, direct)
        posted = self.answers.answer(
            matched,
            sms,
            tenant=line.tenant,
            person=MemberRef(kind="user", id=owner.user_id),
            route=route if here else None,
            overrides=lookup.overrides if here else None,
            conditions=(
                *([] if choice.number is not None else [self._heard(direct)]),
                self._stored(line, route, sms),
            ),
        )
        if posted is not None and limit is not None and limit.what != "messages":
            self._tell_limit(limit, posted, line.tenant, direct, choice.agent_id or line.agent_id)
        return posted

    def _store(self, arrived: ArrivedSms, kind: StoredKind) -> PostedMessage | None:
        """Post an SMS in the chat of its line, and carry out the effects of its kind.

        Raises:
            ExtraWriteFailed: The address belongs to another user now.
        """
        line, route, sms, lookup = arrived
        direct = lookup.fitting(line=line) or self.direct_chats.open(line, route)
        arrived = arrived._replace(sms=self._within_limit(line, direct, sms))
        over = self._admitted(arrived, direct)
        if over is not None and isinstance(kind, KeywordSms):
            if not self._counts(kind.word, over, arrived):
                self._not_stored(Reason.RATE_LIMITED, route, sms)
                return None
            over = None  # a keyword triggers no agent, so there is no notice about the limit
        if over is not None and isinstance(kind, ContinuationRequest):
            kind = OrdinarySms()
        try:
            posted = self._post(arrived, direct, kind, over)
        except (Conflict, NotFound):  # the chat is discarded, or the person has left
            direct = self.direct_chats.open(line, route, instead_of=direct)
            kind = OrdinarySms() if isinstance(kind, ContinuationRequest) else kind
            posted = self._post(arrived, direct, kind, over)
        self._follow_up(arrived, direct, kind, over, posted)
        return posted

    def _admitted(self, arrived: ArrivedSms, direct: DirectChat) -> ExceededLimit | None:
        """Charge an SMS to its sender's rate limits, unless it was delivered before."""
        line, _, sms, lookup = arrived
        sender = MemberRef(kind="user", id=direct.user_id)
        tenant, chat_id, sid = line.tenant, direct.chat_id, sms.client_id
        record_key = IdempotencyRecord.key_of(tenant, chat_id, sender, sid)
        own = Membership.key_of(tenant, chat_id, sender)
        settings_key, *buckets = admission_keys(tenant, direct.user_id)
        found = self.table.get_many([*buckets, record_key, own])
        if lookup.tenant_settings is not None:
            found[settings_key] = lookup.tenant_settings
        record_keys = [record_key]
        if own in found:
            former = Membership.must_read(found, own).formerly
            refs = (MemberRef(kind="user", id=user_id) for user_id in former)
            record_keys += [IdempotencyRecord.key_of(tenant, chat_id, ref, sid) for ref in refs]
        if len(record_keys) > 1:
            found |= self.table.get_many(record_keys)
        if not found.keys().isdisjoint(record_keys):
            return over_now(found, tenant, direct.user_id, self.clock.now())
        return self.rate_limiter.admit_inbound(tenant, direct.user_id, known=found)

    def _with_ids(self, sms: InboundSms) -> InboundSms:
        """Give each file of an SMS an id, which stays the same in all attempts."""
        files = (each.model_copy(update={"id": f"med_{self.ids.ulid()}"}) for each in sms.media)
        return sms.model_copy(update={"media": tuple(files)})

    def _within_limit(self, line: Line, direct: DirectChat, sms: InboundSms) -> InboundSms:
        """Charge the files of an SMS; files over the limit are listed but not fetched."""
        if not sms.media:
            return sms
        try:
            self.rate_limiter.admit_uploads(line.tenant, direct.user_id, len(sms.media))
        except RateLimited:
            extra = {"sid": sms.message_sid, "reason": Reason.RATE_LIMITED}
            logger.info("files of an SMS not fetched", extra=extra)
            named = (each.model_copy(update={"id": None, "url": ""}) for each in sms.media)
            return sms.model_copy(update={"media": tuple(named)})
        return sms

    def _line(self, route: Route) -> Line:
        line = Line.read(self.table, Line.key_of(route.line))
        if line is None or route.channel not in line.channels:
            raise NotFound("line not found", reason=Reason.UNKNOWN_LINE)
        return line

    def _post(
        self, arrived: ArrivedSms, direct: DirectChat, kind: StoredKind, over: ExceededLimit | None
    ) -> PostedMessage:
        """Post an SMS in one transaction with all writes that its kind requires."""
        line, route, sms, _ = arrived
        limit = reason_of_limit(over.what) if over is not None else None
        countries = self.settings.overridden(direct.overrides).answered_countries
        channel = channel_named(sms.channel)
        if not channel.may_answer(route.person.address, line.phone, countries):
            limit = Reason.NUMBER_NOT_ANSWERED
        new = NewMessage(
            tenant=line.tenant,
            chat_id=direct.chat_id,
            sender=MemberRef(kind="user", id=direct.user_id),
            text=sms.body,
            client_id=sms.client_id,
            kind="text" if isinstance(kind, OrdinarySms) else "keyword",
            media=sms.attached,
            route=route.after(self._unproven(direct)),
            no_run_reason=kind.reason if isinstance(kind, Refusal) else limit,
            overrides=direct.overrides,
            opted_out={"stop": True, "start": False}.get(_word_of(kind) or ""),
        )
        if isinstance(kind, Unsure) and limit is None:
            new = repeating(new, kind)
        return self.chats.post_message(
            new, extra_writes=lambda snapshot: tuple(self._writes(arrived, direct, kind, snapshot))
        )

    def _writes(
        self, arrived: ArrivedSms, direct: DirectChat, kind: StoredKind, snapshot: ChatSnapshot
    ) -> Iterator[Write]:
        """Yield the writes of an SMS in addition to its message."""
        line, route, sms, _ = arrived
        yield self._heard(direct, _word_of(kind))
        yield self._stored(line, route, sms)
        match kind:
            case Refusal():
                yield from self.answers.count(kind)
            case ContinuationRequest():
                yield from self.continuations.writes(kind, snapshot)
        if sms.media:
            person = MemberRef(kind="user", id=direct.user_id)
            yield from sent_files(sms.media, snapshot, person, self.clock.now())

    def _follow_up(
        self,
        arrived: ArrivedSms,
        direct: DirectChat,
        kind: StoredKind,
        over: ExceededLimit | None,
        posted: PostedMessage,
    ) -> None:
        """Carry out the effects of a stored SMS, each of which is idempotent."""
        line = arrived.line
        if isinstance(kind, ContinuationRequest) and posted.created:
            self.continuations.send(kind)
        self._tell_limit(over, posted, line.tenant, direct, line.agent_id)
        match kind:
            case KeywordSms(word="stop"):
                self._confirm_stop(arrived, direct)
            case Refusal() if over is None:
                self.answers.explain(kind, posted.message, line.agent_id)
        # Regardless of the kind: when delivered again, the SMS may count as ordinary.
        if posted.message.reason == Reason.TYPED_ANSWER:
            self.answers.typed.repeat(posted.message)
        days = self._unproven(direct)
        if days and over is None and isinstance(kind, OrdinarySms):
            self.silent_numbers.ask(posted.message, direct.owner, line.agent_id, days)

    def _confirm_stop(self, arrived: ArrivedSms, direct: DirectChat) -> None:
        """Confirm a STOP that the provider does not answer itself."""
        line, _, sms, _ = arrived
        if channel_named(sms.channel).confirms_stop(sms.body, sms.opt_out_type):
            return
        self.notices.opted_out(
            tenant=line.tenant,
            chat_id=direct.chat_id,
            agent=MemberRef(kind="agent", id=line.agent_id),
            user_id=direct.user_id,
            channel=sms.channel,
        )

    def _tell_limit(
        self,
        over: ExceededLimit | None,
        posted: PostedMessage,
        tenant: str,
        direct: DirectChat,
        agent_id: str,
    ) -> None:
        """Post a notice that explains why there is no answer, if the sender is over a limit.

        An SMS that was stored before the sender went over the limit causes no notice. For any later
        SMS, each delivery tries to post the notice (once per period over the limit), in case an
        earlier attempt failed before the notice was stored.
        """
        if over is not None and rfc3339(over.since) <= rfc3339(posted.message.created_at):
            self.notices.over_limit(
                over,
                tenant=tenant,
                chat_id=direct.chat_id,
                agent=MemberRef(kind="agent", id=agent_id),
                user_id=direct.user_id,
            )

    def _counts(self, keyword: Keyword, over: ExceededLimit, arrived: ArrivedSms) -> bool:
        """Return whether a keyword from a sender who is over a limit is stored.

        A STOP is stored if it has an effect. A START is stored if it has an effect, unless the
        sender has sent too many messages. So a sender who sends STOP and START in turn is limited,
        too.
        """
        opted_out = self.kinds.opted_out(arrived)
        if keyword == "start":
            return opted_out and over.what != "messages"
        return keyword == "stop" and not opted_out

    def _not_stored(self, reason: Reason, route: Route, sms: InboundSms) -> None:
        logger.info("SMS not stored", extra={"reason": reason, **_named(route, sms)})
        self.metrics.count("RequestsRejected", reason=reason)

    def _received(self, line: Line, route: Route, sms: InboundSms) -> ReceivedSms:
        return ReceivedSms.of(line.tenant, sms.client_id, route.person, self.clock.now())

    def _stored(self, line: Line, route: Route, sms: InboundSms) -> Write:
        return self._received(line, route, sms).stored(self.clock.now())

    def _unproven(self, direct: DirectChat) -> int | None:
        return self.kinds.unproven(direct.owner, direct.overrides, direct.channel)

    def _heard(self, direct: DirectChat, word: Keyword | None = None) -> Write:
        """Return the write that records, in the item of the address's owner, that an SMS arrived.

        START also records the consent to texts, and STOP revokes the consent.
        """
        owner, channel, consents = direct.owner, direct.channel, None
        if word == "start":
            consent = TextConsent(at=self.clock.now(), how="start", by=owner.user_id)
            consents = owner.with_consent(channel, consent)
        elif word == "stop":
            consents = owner.without_consent(channel)
        return owner.heard(
            self.clock.now().date(), self._unproven(direct), channel, consents=consents
        )


def _normalised(text: str, channel: Channel) -> str:
    """Return the address `text` in the form in which addresses are stored.

    Raises:
        Unprocessable: The text is not a full address of the channel.
    """
    try:
        return channel.normalised(text)
    except ValueError:
        raise Unprocessable(
            "the phone number must be in E.164 form",
            details={"number": text[:64]},
            reason=Reason.INVALID_NUMBER,
        ) from None


def _word_of(kind: StoredKind) -> Keyword | None:
    return kind.word if isinstance(kind, KeywordSms) else None


def _named(route: Route, sms: InboundSms) -> dict[str, str]:
    """Return the log fields that identify an SMS."""
    return {"sid": sms.message_sid, "line": route.line.address}
