"""SMS with the code of a choice: answer the question, or explain why the code is not accepted."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from skein.channels.registry import channel_named
from skein.errors import ConditionFailed, Conflict, ExtraWriteFailed, Forbidden, NotFound
from skein.models.chats.chat import Message
from skein.models.common.address import Route
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.config.overrides import Overrides
from skein.models.delivery.sms import InboundSms
from skein.ports import Clock, Table
from skein.prompts import render
from skein.services.chat_state.closed_memberships import read_membership
from skein.services.chat_state.person_choices import read_choices, stored_choices
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage
from skein.services.chats.posted_media import sent_files
from skein.services.choices.answering import Answering
from skein.services.choices.codes import (
    CodeMatch,
    MatchedAnswer,
    Refusal,
    could_answer,
    match_code,
)
from skein.services.choices.effect import AnswerEffects, GivenAnswer
from skein.services.choices.typed_answers import TypedAnswers, Unsure
from skein.services.common.optimistic import optimistic

NOTICES = {
    Reason.WRONG_CODE: "notice_wrong_code",
    Reason.CODE_ALONE: "notice_code_alone",
    Reason.CHOICE_OVER: "notice_choice_over",
    Reason.SMS_ANSWERS_CLOSED: "notice_sms_answers_closed",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmsAnswers:
    """The service that takes answers to choices by SMS."""

    table: Table
    clock: Clock
    chats: Chats
    answering: Answering
    effects: AnswerEffects
    typed: TypedAnswers

    def match(
        self, tenant: str, user_id: str, sms: InboundSms, *, chat_id: str | None = None
    ) -> CodeMatch | Unsure | None:
        """Match an SMS that is not a keyword against the open questions of its sender.

        The questions are read only if the SMS has a six-digit number, or just says yes or no.

        Args:
            chat_id: The chat of the line, in which a typed yes or no counts as an answer. None if
                the line has no chat, or if the sender's number is unproven.

        Returns:
            None for an ordinary SMS. That includes a six-digit number from a person who has no
            question with codes and had none within the last day, because the number may be, for
            example, an order number.
        """
        now = self.clock.now()
        if could_answer(sms.answer):
            choices = read_choices(self.table, tenant, user_id, now)
            return match_code(sms.answer, choices, now)
        if chat_id is None or sms.media:
            return None
        return self.typed.by_text(
            tenant,
            chat_id,
            MemberRef(kind="user", id=user_id),
            sms.body,
            replied_to=sms.replied_to,
            ordered=channel_named(sms.channel).in_order,
        )

    def answer(
        self,
        coded: MatchedAnswer,
        sms: InboundSms,
        *,
        tenant: str,
        person: MemberRef,
        route: Route | None,
        overrides: Overrides | None,
        conditions: Sequence[Write],
    ) -> PostedMessage | None:
        """Post an SMS as the answer to a question (idempotent by the id of the SMS).

        Args:
            route: The route of the SMS. None if the SMS came on a route other than the chat's, so
                that the chat's route does not change.
            overrides: See `NewMessage`.
            conditions: Further writes: the record of the SMS, and the condition that the number
                still belongs to the person. The condition is left out if the answer itself confirms
                the number.

        Returns:
            The answer; None if the question has ended, or the person or the chat is gone.

        Raises:
            ExtraWriteFailed: The first write of `conditions` failed.
        """
        chat_id = coded.choice.chat_id
        route = route or self._route_in(tenant, chat_id, person)
        given = GivenAnswer(
            tenant=tenant,
            chat_id=chat_id,
            person_id=person.id,
            seq=coded.choice.seq or 0,
            option=coded.option,
            text=coded.words,
            code=coded.code,
            typed=sms.body if coded.code is None else None,
            newest_seq=coded.newest_seq,
            client_id=sms.client_id,
            media=sms.attached,
            route=route.after(None) if route is not None else None,
            overrides=overrides,
        )
        try:
            return self.answering.answer(
                given,
                extra_writes=lambda snapshot: (
                    *conditions,
                    *sent_files(sms.media, snapshot, person, self.clock.now()),
                ),
            )
        except (Conflict, Forbidden, NotFound):
            return None

    def _route_in(self, tenant: str, chat_id: str, person: MemberRef) -> Route | None:
        """Return the route to a person in a chat, or None."""
        membership = read_membership(self.table, tenant, chat_id, person)
        return membership.route if membership is not None else None

    def refusal(
        self, tenant: str, user_id: str, coded: MatchedAnswer, sms: InboundSms
    ) -> Refusal | None:
        """Return why an answer that matched was not accepted; None for a typed yes or no.

        A typed yes or no counts as an ordinary message if the question has ended, or if someone has
        written after the question.
        """
        if coded.code is None:
            return None
        match = self.match(tenant, user_id, sms)
        over = Refusal(Reason.CHOICE_OVER, coded.choice.chat_id, coded.choice.seq)
        return match if isinstance(match, Refusal) else over

    def earlier(
        self, refusal: Refusal, sms: InboundSms, *, tenant: str, person: MemberRef
    ) -> Message | None:
        """Find the answer that the same SMS gave when it was first delivered."""
        if refusal.chat_id is None or not refusal.over:
            return None
        new = NewMessage(
            tenant=tenant,
            chat_id=refusal.chat_id,
            sender=person,
            text=sms.body,
            client_id=sms.client_id,
        )
        membership = read_membership(self.table, tenant, refusal.chat_id, person)
        return self.chats.earlier(new, membership.formerly if membership is not None else ())

    def count(self, refusal: Refusal) -> tuple[Write, ...]:
        """Return the write that counts a wrong code, for the transaction that stores the SMS.

        Raises:
            ExtraWriteFailed: The person's choices have changed since the SMS was matched.
        """
        counted = refusal.counted
        if counted is None:
            return ()
        current = read_choices(self.table, counted.tenant, counted.user_id, self.clock.now())
        if current.version != counted.version:
            raise ExtraWriteFailed("the person's choices have changed")
        return (stored_choices(counted),)

    def explain(self, refusal: Refusal, message: Message, agent_id: str) -> None:
        """Post a notice that explains why the code in an SMS is not accepted (idempotent).

        The question's purpose selects an effect (`AnswerEffect`). This effect may prevent the
        notice, or add writes to the notice's transaction.

        Args:
            refusal: Why the code is not accepted.
            message: The SMS as stored. Its `reason` selects the notice. Some reasons have no
                notice.
            agent_id: The agent of the line, which posts the notice.
        """
        name = NOTICES.get(message.reason) if message.reason is not None else None
        if name is None:
            return
        notice = NewMessage(
            tenant=message.tenant,
            chat_id=message.chat_id,
            sender=MemberRef(kind="agent", id=agent_id),
            kind="notice",
            text=render(name),
            client_id=f"code:{message.id}",
        )
        try:
            optimistic(self.clock, lambda: self._counted_post(notice, refusal))
        except (NotFound, Conflict):
            extra = {"chat_id": message.chat_id, "seq": message.seq}
            logger.info("notice skipped: the chat or its agent is gone", extra=extra)

    def _counted_post(self, notice: NewMessage, refusal: Refusal) -> None:
        """Post a notice in one transaction with the writes that the question's effect adds.

        Nothing is posted if the effect prevents the notice.

        Raises:
            ConditionFailed: Another writer has changed what the effect stores; the caller retries.
        """
        writes = self._writes_of_effect(notice.tenant, refusal)
        if writes is None:
            extra = {"chat_id": refusal.chat_id, "seq": refusal.seq}
            logger.info("notice left out", extra=extra)
            return
        try:
            self.chats.post_message(notice, extra_writes=lambda _: writes)
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None

    def _writes_of_effect(self, tenant: str, refusal: Refusal) -> Sequence[Write] | None:
        if refusal.chat_id is None or refusal.seq is None:
            return ()
        message = Message.read(self.table, Message.key_of(tenant, refusal.chat_id, refusal.seq))
        choice = message.choice if message is not None else None
        if choice is None:
            return ()
        effect = self.effects.of(choice.purpose, choice.data)
        return effect.on_refusal(choice, tenant, now=self.clock.now(), over=refusal.over)
