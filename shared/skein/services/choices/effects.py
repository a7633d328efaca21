"""The effects of answers to the questions of the core: an agent's own, consents, invitations."""

from dataclasses import dataclass
from typing import ClassVar

from skein.models.chats.choice import InvitationData
from skein.models.chats.consent import Consent, ConsentData
from skein.models.common.storage import Missing, Put
from skein.ports import Table
from skein.services.chats.invitations import answered
from skein.services.choices.effect import (
    AnswerEffect,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)
from skein.services.outbox.dispatch import OUTBOX_GRACE


class QuestionEffect(AnswerEffect):
    """The answer to an agent's own question triggers the agent."""

    triggers_agent: ClassVar[bool] = True


class ConsentEffect(AnswerEffect):
    """A yes to words that an agent proposes is stored as a consent, and a job posts the words."""

    is_consent: ClassVar[bool] = True

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Store the consent."""
        if not recorded.agreed:
            return Consequence()
        consent = Consent.of(
            recorded.question,
            ConsentData.from_item(recorded.choice.data).proposal,
            user_id=given.person_id,
            at=recorded.answer.at,
        )
        item = consent.to_item(recorded.answer.at + OUTBOX_GRACE)
        return Consequence([Put(consent.key, item, Missing())], [consent.job])


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationEffect(AnswerEffect):
    """The person joins the chat to which they are invited, or declines."""

    takes_place: ClassVar[bool] = False

    table: Table

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Accept or decline the invitation."""
        joins = answered(
            self.table,
            given.tenant,
            InvitationData.from_item(recorded.choice.data).invited_to,
            given.person_id,
            accept=recorded.agreed,
            now=recorded.answer.at,
        )
        return Consequence(joins or [])
