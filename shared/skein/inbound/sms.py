"""Inbound SMS: find the sender and the chat, detect keywords and answers, and post the message.

Keywords such as STOP come first, then the codes of choices (`sms_answers`). Every other SMS is an
ordinary message.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from skein.channels.keywords import could_start
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
from skein.inbound.address_lookup import AddressLookup, DirectChat, look_up_address
from skein.inbound.silent_numbers import SilentNumbers
from skein.inbound.sms_answers import SmsAnswers
from skein.inbound.sms_hours import SmsHours
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.membership import Membership
from skein.models.common.address import Address, Route, route_on
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Is, Missing, Put, Write
from skein.models.config.overrides import Overrides
from skein.models.delivery.sms import InboundSms, ReceivedSms
from skein.models.directory.address_index import (
    AddressChat,
    AddressOwner,
    TextConsent,
    caller_name,
)
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.models.directory.user import User
from skein.models.quotas.limit import ExceededLimit
from skein.ports import Clock, Ids, Metrics, Table
from skein.services.chat_state.closed_memberships import membership_keys, read_membership
from skein.services.chats.line_chats import new_line_chat
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage
from skein.services.chats.posted_media import sent_files
from skein.services.choices.codes import MatchedAnswer, Refusal
from skein.services.choices.typed_answers import Unsure, repeating
from skein.services.common.optimistic import optimistic, revise
from skein.services.delivery.rest import RestOfTexts, RestRequest, wants_rest
from skein.services.directory.address_detach import detach_addresses
from skein.services.directory.name_index import indexed
from skein.services.quotas.rate_limits import RateLimiter, admission_keys, over_now, reason_of_limit
from skein.services.replies.user_notices import Notices
from skein.settings import Settings

_Special: TypeAlias = Keyword | Refusal | Unsure | RestRequest  # an SMS that starts no run

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmsReceiver:
    """Receiver of inbound SMS."""

    table: Table
    clock: Clock
    ids: Ids
    chats: Chats
    rate_limiter: RateLimiter
    notices: Notices
    answers: SmsAnswers
    rest: RestOfTexts
    silent_numbers: SilentNumbers
    hours: SmsHours
    metrics: Metrics
    settings: Settings

    def receive(self, sms: InboundSms) -> PostedMessage | None:
        """Post an SMS to the direct chat of its sender and the line's agent.

        The first contact creates the sender and the chat. A new chat is also created if the line
        leads to another agent now, or if the old chat was discarded or its person has left it.
        Keywords such as STOP are recorded and trigger nobody. The code of a choice answers it, in
        the chat of the question. A code that answers nothing is recorded, and its sender is told.

        Returns:
            The message. None for an SMS that is not stored: the SMS has neither text nor media, or
            its sender is a line of the same tenant, in which case two agents would answer each
            other endlessly.

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
        """Post the SMS, on condition that the address still belongs to the same user.

        Raises:
            ConditionFailed: The address belongs to another user now; the caller reads again.
        """
        received = self._received(line, route, sms)
        lookup = self._checked_owner(line, route, received)
        if lookup.is_line:
            extra = {"reason": Reason.OWN_LINE, **_named(route, sms)}
            logger.warning("SMS not stored", extra=extra)
            self.metrics.count("TextsFromOwnLines")
            return None
        try:
            answer = self._answer(line, route, lookup, sms)
            if isinstance(answer, PostedMessage):
                return answer
            direct = lookup.fitting(line=line) or self._open(line, route)
            sms = self._within_limit(line, direct, sms)
            opted_out = could_start(sms.body) and self._opted_out(line, direct, sms.channel)
            keyword = self._keyword(line, sms, lookup.overrides, opted_out=opted_out)
            over = self._admitted(line, direct, sms)
            if keyword and over is not None:
                if not self._counts(keyword, over, line, direct, sms.channel):
                    self._not_stored(Reason.RATE_LIMITED, route, sms)
                    return None
                over = None  # a keyword triggers nobody, so no notice tells of the limit
            special: _Special | None = keyword or answer
            unproven = self._unproven(direct)
            if over is None and not (special or unproven) and wants_rest(sms.body):
                special = self.rest.asked_for(line.tenant, direct.chat_id, direct.user_id)
            try:
                posted = self._post(line, route, direct, sms, special, over)
            except (Conflict, NotFound):  # the chat is discarded, or the person has left
                direct = self._open(line, route, instead_of=direct)
                special = None if isinstance(special, RestRequest) else special
                posted = self._post(line, route, direct, sms, special, over)
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None
        if isinstance(answer, Refusal) and over is None:
            self.answers.explain(answer, posted.message, line.agent_id)
        self.answers.typed.repeat(posted.message)
        if unproven and special is None and over is None:
            self.silent_numbers.ask(posted.message, direct.owner, line.agent_id, unproven)
        return posted

    def _answer(
        self, line: Line, route: Route, lookup: AddressLookup, sms: InboundSms
    ) -> PostedMessage | Refusal | Unsure | None:
        """Answer a choice in the chat of its question, if the SMS is an answer and no keyword.

        Returns:
            The answer, posted now or before; why the code answers nothing, or that the question
            must be repeated; None for an SMS that is a keyword or ordinary.

        Raises:
            ExtraWriteFailed: The address belongs to another user now.
        """
        owner = lookup.owner or lookup.silent_owner
        keyword = self._keyword(line, sms, lookup.overrides, opted_out=False)
        if owner is None or keyword is not None:
            return None
        person = MemberRef(kind="user", id=owner.user_id)
        chat_id = self._proven_chat(lookup, sms.channel)
        coded = self.answers.match(line.tenant, person.id, sms, chat_id=chat_id)
        if not isinstance(coded, MatchedAnswer):
            # With the earlier answer, the person may have given the number up.
            over = coded if isinstance(coded, Refusal) else None
            earlier = over and self.answers.earlier(over, sms, tenant=line.tenant, person=person)
            kept = coded if lookup.owner is not None else None
            return PostedMessage(earlier, created=False) if earlier else kept
        chat_id, whose = coded.choice.chat_id, coded.choice.number is not None
        in_chat_of_line = lookup.chat is not None and lookup.chat.chat_id == chat_id
        direct = DirectChat(person.id, chat_id, lookup.overrides, owner, sms.channel)
        if lookup.owner is None or (self._unproven(direct) and not whose):
            return None
        limit = self._admitted(line, direct, sms)
        posted = self.answers.answer(
            coded,
            sms,
            tenant=line.tenant,
            person=person,
            route=route if in_chat_of_line else None,
            overrides=lookup.overrides if in_chat_of_line else None,
            no_run_reason=reason_of_limit(limit.what) if limit is not None else None,
            conditions=(*([] if whose else [self._heard(direct)]), self._stored(line, route, sms)),
        )
        if posted is None:
            return self.answers.refusal(line.tenant, person.id, coded, sms)
        self._tell_limit(limit, posted, line.tenant, direct, coded.choice.agent_id or line.agent_id)
        return posted

    def _proven_chat(self, lookup: AddressLookup, channel: str) -> str | None:
        """Return the chat of a line and a person's proven number; None if there is none."""
        owner, chat = lookup.owner, lookup.chat
        if owner is None or chat is None:
            return None
        unproven = self.silent_numbers.unproven(owner, lookup.overrides, channel)
        return None if unproven else chat.chat_id

    def _admitted(self, line: Line, direct: DirectChat, sms: InboundSms) -> ExceededLimit | None:
        """Charge an SMS to its sender's rate limits; a redelivered SMS costs nothing."""
        sender = MemberRef(kind="user", id=direct.user_id)
        tenant, chat_id, sid = line.tenant, direct.chat_id, sms.client_id
        record_key = IdempotencyRecord.key_of(tenant, chat_id, sender, sid)
        own = Membership.key_of(tenant, chat_id, sender)
        found = self.table.get_many([*admission_keys(tenant, direct.user_id), record_key, own])
        record_keys = [record_key]
        if own in found:
            former = Membership.from_item(found[own]).formerly
            refs = (MemberRef(kind="user", id=user_id) for user_id in former)
            record_keys += [IdempotencyRecord.key_of(tenant, chat_id, ref, sid) for ref in refs]
        if len(record_keys) > 1:
            found |= self.table.get_many(record_keys)
        if not found.keys().isdisjoint(record_keys):
            return over_now(found, tenant, direct.user_id, self.clock.now())
        return self.rate_limiter.admit_inbound(tenant, direct.user_id, known=found)

    def _with_ids(self, sms: InboundSms) -> InboundSms:
        """Return the SMS with an id for each file, the same in all attempts."""
        files = (each.model_copy(update={"id": f"med_{self.ids.ulid()}"}) for each in sms.media)
        return sms.model_copy(update={"media": tuple(files)})

    def _within_limit(self, line: Line, direct: DirectChat, sms: InboundSms) -> InboundSms:
        """Charge the files of an SMS; over the limit, they are named but not fetched."""
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
        item = self.table.get(Line.key_of(route.line))
        line = Line.from_item(item) if item is not None else None
        if line is None or route.channel not in line.channels:
            raise NotFound("line not found", reason=Reason.UNKNOWN_LINE)
        return line

    def _post(
        self,
        line: Line,
        route: Route,
        direct: DirectChat,
        sms: InboundSms,
        special: _Special | None,
        over: ExceededLimit | None,
    ) -> PostedMessage:
        """Post an SMS and, if its sender is over a limit or has opted out, a notice.

        Args:
            special: The keyword that the SMS is, why its code answers nothing, the question that is
                repeated because of it, or the rest of a text that it asks for.
        """
        refusal = special if isinstance(special, Refusal) else None
        rest = special if isinstance(special, RestRequest) else None
        keyword = special if isinstance(special, str) else ""
        limit = reason_of_limit(over.what) if over is not None else None
        channel = channel_named(sms.channel)
        countries = self._countries(direct.overrides)
        if not channel.may_answer(route.person.address, line.phone, countries):
            limit = Reason.NUMBER_NOT_ANSWERED
        opted_out = {"stop": True, "start": False}
        new = NewMessage(
            tenant=line.tenant,
            chat_id=direct.chat_id,
            sender=MemberRef(kind="user", id=direct.user_id),
            text=sms.body,
            client_id=sms.client_id,
            kind="text" if special is None else "keyword",
            media=sms.attached,
            route=route.after(self._unproven(direct)),
            no_run_reason=refusal.reason if refusal is not None else limit,
            overrides=direct.overrides,
            opted_out=opted_out.get(keyword),
        )
        if isinstance(special, Unsure) and limit is None:
            new = repeating(new, special)
        posted = self.chats.post_message(
            new,
            extra_writes=lambda snapshot: (
                self._heard(direct, keyword),
                self._stored(line, route, sms),
                *(self.answers.count(refusal) if refusal is not None else ()),
                *(self.rest.writes(rest, snapshot) if rest is not None else ()),
                *sent_files(
                    sms.media,
                    snapshot,
                    MemberRef(kind="user", id=direct.user_id),
                    self.clock.now(),
                ),
            ),
        )
        if rest is not None and posted.created:
            self.rest.send(rest)
        self._tell_limit(over, posted, line.tenant, direct, line.agent_id)
        if keyword == "stop" and not channel.confirms_stop(sms.body, sms.opt_out_type):
            self.notices.opted_out(
                tenant=line.tenant,
                chat_id=direct.chat_id,
                agent=MemberRef(kind="agent", id=line.agent_id),
                user_id=direct.user_id,
                channel=sms.channel,
            )
        return posted

    def _countries(self, overrides: Overrides) -> tuple[str, ...]:
        return self.settings.overridden(overrides).answered_countries

    def _keyword(
        self, line: Line, sms: InboundSms, overrides: Overrides, *, opted_out: bool
    ) -> Keyword | None:
        return channel_named(sms.channel).keyword(
            sms.body,
            opt_out_type=sms.opt_out_type,
            opted_out=opted_out,
            addresses=(line.phone, sms.sender),
            countries=self._countries(overrides),
        )

    def _tell_limit(
        self,
        over: ExceededLimit | None,
        posted: PostedMessage,
        tenant: str,
        direct: DirectChat,
        agent_id: str,
    ) -> None:
        """Post a notice that says why nobody answers, if the sender is over a limit.

        An SMS that was stored before the sender went over the limit causes no notice. A redelivered
        SMS that was stored after that causes the notice again, in case the first attempt failed
        before the notice was stored.
        """
        if over is not None and rfc3339(over.since) <= rfc3339(posted.message.created_at):
            self.notices.over_limit(
                over,
                tenant=tenant,
                chat_id=direct.chat_id,
                agent=MemberRef(kind="agent", id=agent_id),
                user_id=direct.user_id,
            )

    def _counts(
        self, keyword: Keyword, over: ExceededLimit, line: Line, direct: DirectChat, channel: str
    ) -> bool:
        """Tell whether a keyword from a sender over a limit is stored.

        A STOP that changes something always is, and a START unless the sender writes too much. So
        keywords by turns are limited, too.
        """
        opted_out = self._opted_out(line, direct, channel)
        if keyword == "start":
            return opted_out and over.what != "messages"
        return keyword == "stop" and not opted_out

    def _not_stored(self, reason: Reason, route: Route, sms: InboundSms) -> None:
        logger.info("SMS not stored", extra={"reason": reason, **_named(route, sms)})
        self.metrics.count("RequestsRejected", reason=reason)

    def _opted_out(self, line: Line, direct: DirectChat, channel: str) -> bool:
        person = MemberRef(kind="user", id=direct.user_id)
        there = read_membership(self.table, line.tenant, direct.chat_id, person)
        return there is not None and channel in there.opt_outs

    def _look_up(
        self, line: Line, route: Route, received: ReceivedSms | None = None
    ) -> AddressLookup:
        days, today = self.settings.number_silence_days, self._today
        return look_up_address(
            self.table, line, route, today=today, silence_days=days, received=received
        )

    def _received(self, line: Line, route: Route, sms: InboundSms) -> ReceivedSms:
        return ReceivedSms.of(line.tenant, sms.client_id, route.person, self.clock.now())

    def _stored(self, line: Line, route: Route, sms: InboundSms) -> Write:
        return self._received(line, route, sms).stored(self.clock.now())

    def _checked_owner(self, line: Line, route: Route, received: ReceivedSms) -> AddressLookup:
        """Look up an address, whose owner loses it if the provider knows of a new person."""
        lookup = self._look_up(line, route, received)
        owner, channel = lookup.owner, route.channel
        lost = owner is not None and self.silent_numbers.found_reassigned(owner, channel)
        return self._look_up(line, route) if lost else lookup

    @property
    def _today(self) -> date:
        return self.clock.now().date()

    def _unproven(self, direct: DirectChat) -> int | None:
        return self.silent_numbers.unproven(direct.owner, direct.overrides, direct.channel)

    def _heard(self, direct: DirectChat, keyword: str = "") -> Write:
        """Return the write of an SMS; START consents to texts, and STOP revokes the consent."""
        owner, channel, consents = direct.owner, direct.channel, None
        if keyword == "start":
            consent = TextConsent(at=self.clock.now(), how="start", by=owner.user_id)
            consents = owner.with_consent(channel, consent)
        elif keyword == "stop":
            consents = owner.without_consent(channel)
        return owner.heard(self._today, self._unproven(direct), channel, consents=consents)

    def _open(
        self, line: Line, route: Route, *, instead_of: DirectChat | None = None
    ) -> DirectChat:
        """Create the chat, and the user if missing; concurrent SMS create each once."""
        return optimistic(
            self.clock,
            lambda: self._open_once(line, route, instead_of),
            finds_own_write=True,
        )

    def _open_once(self, line: Line, route: Route, instead_of: DirectChat | None) -> DirectChat:
        lookup, sender = self._look_up(line, route), route.person
        owner, former = lookup.owner, lookup.chat
        direct = lookup.fitting(line=line, instead_of=instead_of)
        if direct is not None:
            return direct
        new = owner or AddressOwner(
            tenant=line.tenant,
            address=sender,
            user_id=f"usr_{self.ids.ulid()}",
            heard_on=self._today,
            heard_by={route.channel: self._today},
        )
        direct = DirectChat(
            new.user_id, f"chat_{self.ids.ulid()}", lookup.overrides, new, route.channel
        )
        agent, user, former_membership = self._people(line, direct, former)
        writes: list[Write] = []
        if user is None:
            user = self._new_caller(line, direct.user_id, sender)
            writes += [Put(user.key, user.to_item(), Missing()), *indexed(user)]
        if owner is None:
            silent = lookup.silent_owner
            before = Is("user_id", silent.user_id) if silent is not None else Missing()
            writes.append(Put(new.key, new.to_item(), before))
        writes += new_line_chat(
            line,
            sender,
            direct.chat_id,
            (user.as_member, agent.as_member),
            former=former,
            former_membership=former_membership,
            retention=lookup.retention,
            now=self.clock.now(),
        )
        self._commit(lookup.silent_owner, writes)
        return direct

    def _commit(self, silent: AddressOwner | None, writes: Sequence[Write]) -> None:
        """Commit the writes of a new chat, and take the address from an owner who was silent."""
        item = self.table.get(User.key_of(silent.tenant, silent.user_id)) if silent else None
        if silent is None or item is None:
            self.table.transact(writes)
            return
        former = User.from_item(item)
        _, write = revise(former, former.without(silent.address))
        detach_addresses(self.table, former, {silent.address}, [*writes, write])
        logger.info("number reassigned after silence", extra={"user_id": former.id})

    def _people(
        self, line: Line, direct: DirectChat, former: AddressChat | None
    ) -> tuple[Agent, User | None, Membership | None]:
        """Read the line's agent, the user, and the user's membership of the former chat."""
        agent_key = Agent.key_of(line.tenant, line.agent_id)
        user_key = User.key_of(line.tenant, direct.user_id)
        keys = [agent_key, user_key]
        if former is not None:
            person = MemberRef(kind="user", id=direct.user_id)
            keys.extend(membership_keys(line.tenant, former.chat_id, person))
        found = self.table.get_many(keys)
        agent, user, *memberships = (found.get(key) for key in keys)
        there = [Membership.from_item(item) for item in memberships if item is not None]
        if agent is None or Agent.from_item(agent).deleted_at is not None:
            raise NotFound("the line has no agent", reason=Reason.AGENT_DELETED)
        return (
            Agent.from_item(agent),
            User.from_item(user) if user else None,
            there[0] if there else None,
        )

    def _new_caller(self, line: Line, user_id: str, address: Address) -> User:
        """Return the record of a person of whom only the address is known."""
        return User(
            tenant=line.tenant,
            id=user_id,
            name=caller_name(address),
            addresses=(address,),
            caller=True,
            created_at=self.clock.now(),
        )


def _normalised(text: str, channel: Channel) -> str:
    """Return an address of a message in its stored form.

    Raises:
        Unprocessable: The text is no full address of the channel.
    """
    try:
        return channel.normalised(text)
    except ValueError:
        raise Unprocessable(
            "the phone number must be in E.164 form",
            details={"number": text[:64]},
            reason=Reason.INVALID_NUMBER,
        ) from None


def _named(route: Route, sms: InboundSms) -> dict[str, str]:
    """Return the log fields that name an SMS."""
    return {"sid": sms.message_sid, "line": route.line.address}
