"""Define what an answer causes besides its message; each purpose of a question has an effect.

`skein/interface/extensions.py` registers the effect of each purpose. The built-in effects are in
`effects`; other packages define effects of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from skein.errors import AlreadyAsked
from skein.models.chats.chat import Media, Message
from skein.models.chats.choice import YES, Choice, ChoiceAnswer
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.address import Route
from skein.models.common.base import Identifier, Tenant, Value
from skein.models.common.storage import Write
from skein.models.config.overrides import Overrides
from skein.models.outbox.jobs import Job
from skein.ports import Extensions, Services
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import NewMessage


class GivenAnswer(Value):
    """A person's answer to a choice: an option, or words.

    Attributes:
        person_id: The person who answers.
        seq: The question's message, or the message that repeats the question.
        option: The id of the chosen option; None for an answer in words.
        text: The words of an answer in words.
        code: The code of an answer by SMS. The answer is refused if the choice has ended, or if it
            no longer takes answers by SMS.
        typed: The whole text of a typed yes or no.
        newest_seq: For a typed yes or no, the message that must still be the chat's newest message.
        client_id: The idempotency key of the answer.
        media, route, overrides: See `NewMessage`.
    """

    tenant: Tenant
    chat_id: Identifier
    person_id: Identifier
    seq: int
    option: str | None = None
    text: str | None = None
    code: str | None = None
    typed: str | None = None
    newest_seq: int | None = None
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    media: tuple[Media, ...] = ()
    route: Route | None = None
    overrides: Overrides | None = None


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer that is about to be stored.

    Attributes:
        question: The question's message, before the answer.
        choice: The choice, before the answer.
        listed: The entry of the choice in the person's open choices.
        snapshot: The chat as it was read; the transaction fails if the chat has changed since.
    """

    question: Message
    choice: Choice
    answer: ChoiceAnswer
    listed: OpenChoice
    snapshot: ChatSnapshot

    @property
    def agreed(self) -> bool:
        """Whether the person said yes."""
        return self.answer.option == YES


@dataclass(slots=True)
class Consequence:
    """What an answer does besides posting its message.

    Attributes:
        writes: Further writes for the transaction.
        jobs: The jobs to send after the commit.
        follows: The open choice that replaces the answered choice, if any.
    """

    writes: list[Write] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    follows: OpenChoice | None = None


class AnswerEffect:
    """What happens after an answer to a question; each purpose of questions has a subclass.

    Attributes:
        triggers_agent: Whether an answer triggers the agent that posted the question. No other
            agent is triggered.
        is_consent: Whether the question asks for a consent. The number of consents that a person is
            asked for per day is limited, and a no counts as a refusal of the agent. The agent does
            not ask the same question again while the question is open.
        takes_place: Whether the question counts toward a person's maximum number of open questions
            in a chat. At the maximum, the oldest of these questions ends.
    """

    triggers_agent: ClassVar[bool] = False
    is_consent: ClassVar[bool] = False
    takes_place: ClassVar[bool] = True

    def check_asked(self, new: NewMessage, asked: Sequence[Message]) -> None:
        """Check a new question against the person's open questions with the same purpose.

        Args:
            new: The message of the new question.
            asked: The messages of the open questions with the same purpose, in all chats.

        Raises:
            AlreadyAsked: The agent has already asked this question in this chat.
            RateLimited: The person has too many open questions.
        """
        if self.is_consent:
            check_once(new, asked)

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Return what an answer causes; the writes join the transaction that records the answer.

        Raises:
            Conflict: The answer can no longer have an effect, so it is not recorded.
        """
        return Consequence()

    def on_refusal(
        self, choice: Choice, tenant: str, *, now: datetime, over: bool
    ) -> Sequence[Write] | None:
        """Return extra writes for the notice that tells a person why their answer was not accepted.

        Args:
            choice: The choice that the SMS tried to answer.
            over: Whether the choice has ended.

        Returns:
            The writes; None if the person gets no notice.
        """
        return ()


def check_once(new: NewMessage, asked: Sequence[Message]) -> None:
    """Check that the agent does not already have the same question open in the same chat.

    Raises:
        AlreadyAsked: The question is already open.
    """
    for each in asked:
        here = each.chat_id == new.chat_id and each.sender.ref == new.sender
        if here and each.text == new.text:
            raise AlreadyAsked


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEffects:
    """The service that finds the effect of an answer."""

    services: Services
    extensions: Callable[[], Extensions]  # a function, to import them at the first question only

    def of(self, purpose: str, data: dict[str, Any]) -> AnswerEffect:
        """Return the effect of the answers to questions with this purpose and data.

        Raises:
            KeyError: The purpose is unknown, because newer code has asked the question.
        """
        effect: AnswerEffect = self.services.get(self.extensions().effect(purpose, data))
        return effect
