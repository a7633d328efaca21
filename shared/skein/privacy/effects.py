"""What happens when a person answers the question whether to forget messages."""

from collections.abc import Sequence

from skein.errors import AlreadyAsked
from skein.models.chats.chat import Message
from skein.models.chats.choice import Choice
from skein.models.common.storage import Missing, Put
from skein.privacy.models.forgetting import Forgetting, ForgettingData, ForgottenMessage
from skein.services.chats.post_message import NewMessage
from skein.services.choices.effect import (
    AnswerEffect,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)
from skein.services.outbox.dispatch import OUTBOX_GRACE


class ForgettingEffect(AnswerEffect):
    """The effect of the answer: a yes stores a `Forgetting`, whose job deletes the messages."""

    def check_asked(self, new: NewMessage, asked: Sequence[Message]) -> None:
        """Raise `AlreadyAsked` if an open question here already lists all messages of the new one.

        The last message of each question is the person's request. The comparison ignores the
        request of the new question.
        """
        wanted = _forgotten(new.choice)
        for each in asked:
            here = each.chat_id == new.chat_id and each.sender.ref == new.sender
            if here and wanted[:-1] and set(wanted[:-1]) <= set(_forgotten(each.choice)):
                raise AlreadyAsked

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        if not recorded.agreed:
            return Consequence()
        forgets = _forgotten(recorded.choice)
        at, question = recorded.answer.at, recorded.question
        forgetting = Forgetting.of(question, forgets, user_id=given.person_id, at=at)
        item = forgetting.to_item(at + OUTBOX_GRACE)
        return Consequence([Put(forgetting.key, item, Missing())], [forgetting.job])


def _forgotten(choice: Choice | None) -> tuple[ForgottenMessage, ...]:
    """Return the messages that a yes deletes; the last one is the person's request."""
    return ForgettingData.from_item(choice.data).forgets if choice is not None else ()
