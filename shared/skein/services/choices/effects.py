"""The effects of answers to agents' own questions, to proposals and to invitations."""

from dataclasses import dataclass
from typing import ClassVar

from skein.models.chats.choice import INVITATION, SEE, InvitationData
from skein.models.chats.consent import Consent, ConsentData
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.storage import Missing, Put
from skein.models.outbox.jobs import InvitationJob
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
    """What an answer to an agent's own question does: it starts a run of the agent."""

    triggers_agent: ClassVar[bool] = True


class ConsentEffect(AnswerEffect):
    """The effect of a proposal: a yes stores a consent, and a job posts the proposed text."""

    is_consent: ClassVar[bool] = True

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
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
    """The effect of an invitation: the invited person joins the chat, or declines.

    An invitation can be announced without the inviter's name. The answer to an announcement neither
    accepts nor declines: it sends a job that asks the question with the inviter's name.
    """

    takes_place: ClassVar[bool] = False

    table: Table

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        if recorded.answer.option == SEE:
            return _asked_by_name(recorded, given)
        joins = answered(
            self.table,
            given.tenant,
            InvitationData.from_item(recorded.choice.data).invited_to,
            given.person_id,
            accept=recorded.agreed,
            now=recorded.answer.at,
        )
        return Consequence(joins or [])


def _asked_by_name(recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
    """Keep the invitation open, and return the job that asks with the inviter's name."""
    chat_id = InvitationData.from_item(recorded.choice.data).invited_to
    follows = OpenChoice(
        chat_id=chat_id,
        purpose=INVITATION,
        agent_id=recorded.listed.agent_id,
        expires_at=recorded.listed.expires_at,
        invited_to=chat_id,
        invited_by=recorded.listed.invited_by,
        ask_at=recorded.answer.at + OUTBOX_GRACE,
    )
    job = InvitationJob(tenant=given.tenant, user_id=given.person_id)
    return Consequence(jobs=[job], follows=follows)
