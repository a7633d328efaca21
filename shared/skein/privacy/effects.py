"""The effect of an answer to the question whether to forget messages."""

from skein.models.chats.forgetting import Forgetting, ForgettingData
from skein.models.common.storage import Missing, Put
from skein.services.choices.effect import (
    AnswerEffect,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)
from skein.services.outbox.dispatch import OUTBOX_GRACE


class ForgettingEffect(AnswerEffect):
    """A yes is stored as a forgetting, and a job deletes the messages."""

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Store the forgetting."""
        if not recorded.agreed:
            return Consequence()
        forgets = ForgettingData.from_item(recorded.choice.data).forgets
        at, question = recorded.answer.at, recorded.question
        forgetting = Forgetting.of(question, forgets, user_id=given.person_id, at=at)
        item = forgetting.to_item(at + OUTBOX_GRACE)
        return Consequence([Put(forgetting.key, item, Missing())], [forgetting.job])
