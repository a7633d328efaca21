"""Answer a choice: one transaction posts and records the answer, and ends the choice.

A question is answered only once. The answer is written into the question's message only if the
message has no answer yet. The person's open choices are written with an optimistic lock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skein.errors import (
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    Forbidden,
    NotFound,
    Unprocessable,
)
from skein.models.chats.chat import Message
from skein.models.chats.choice import NO, Choice, ChoiceAnswer
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.base import MemberRef
from skein.models.common.storage import Write
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import (
    open_choice,
    read_choices,
    stored_choices,
    with_asked,
    with_ended,
)
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.app_messages import AppMessages
from skein.services.chats.post_message import Chats, ExtraWrites, NewMessage, PostedMessage
from skein.services.choices.codes import with_right_code
from skein.services.choices.effect import (
    AnswerEffect,
    AnswerEffects,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)
from skein.services.common.optimistic import known_first, optimistic
from skein.services.outbox.dispatch import Dispatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The service that takes people's answers to choices."""

    table: Table
    clock: Clock
    chats: Chats
    app_messages: AppMessages
    dispatch: Dispatch
    effects: AnswerEffects

    def answer_in_app(self, given: GivenAnswer) -> PostedMessage:
        """Answer a choice from the app, within the limits of the person and the tenant.

        Raises:
            RateLimited: One of the limits is used up; nothing was stored.
            Rejected: As in `answer`.
        """
        return self._answer(
            given, lambda new, writes: self.app_messages.post(new, extra_writes=writes)
        )

    def answer(
        self, given: GivenAnswer, *, extra_writes: ExtraWrites | None = None
    ) -> PostedMessage:
        """Answer a choice (idempotent by `client_id`).

        One transaction posts the answer, records the answer in the question's message, and removes
        the choice from the person's open choices. The answer to an agent's question triggers that
        agent. The answer to Skein's own question triggers no agent.

        Args:
            extra_writes: See `Chats.post_message`; the caller's writes come first.

        Raises:
            NotFound: The person is not a member of the chat, or the question does not exist.
            Forbidden: The question is for another person.
            Conflict: The question was already answered or has expired, the agent that asked has
                left, or the chat is discarded.
            Unprocessable: The answer is not one of the options, or is empty.
            ExtraWriteFailed: The condition of the caller's first write does not hold.
        """

        def post(new: NewMessage, writes: ExtraWrites) -> PostedMessage:
            if extra_writes is None:
                return optimistic(self.clock, lambda: self._post_alone(new, writes))
            return self.chats.post_message(
                new, extra_writes=lambda current: (*extra_writes(current), *writes(current))
            )

        return self._answer(given, post)

    def _post_alone(self, new: NewMessage, writes: ExtraWrites) -> PostedMessage:
        """Post an answer if the caller of `answer` gave no extra writes.

        Then the first extra write of the post is the write to the question's message. If this write
        fails, another writer has changed the question, and the caller retries.

        Raises:
            ConditionFailed: Another writer has changed the question.
        """
        try:
            return self.chats.post_message(new, extra_writes=writes)
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None

    def _answer(
        self, given: GivenAnswer, post: Callable[[NewMessage, ExtraWrites], PostedMessage]
    ) -> PostedMessage:
        first = asked, choice = self._question(given)
        effect = self.effects.of(choice.purpose, choice.data)
        new = _message(given, asked, choice, effect)
        question = known_first(first, lambda: self._question(given))
        consequence = Consequence()

        def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
            nonlocal consequence
            writes, consequence = self._answered(given, *question(), snapshot)
            return (*writes, *consequence.writes)

        try:
            posted = post(new, extra_writes)
        except (Conflict, Unprocessable):
            earlier = self._earlier(given, new)
            if earlier is None:
                raise
            return PostedMessage(earlier, created=False)
        if posted.created:
            self.dispatch.send(consequence.jobs)
        return posted

    def _earlier(self, given: GivenAnswer, new: NewMessage) -> Message | None:
        """Return the message of this answer, if an earlier call posted it."""
        sender = read_snapshot(self.table, given.tenant, given.chat_id).member(new.sender)
        return self.chats.earlier(new, sender.formerly if sender is not None else ())

    def _question(self, given: GivenAnswer) -> tuple[Message, Choice]:
        """Read the answered question's message; for a repeated question, the original message.

        Raises:
            NotFound: The question does not exist, or the person is not a member.
            Forbidden: The question is for another person.
        """
        message = self._message(given, given.seq)
        if message is not None and message.choice is not None and message.choice.repeats:
            message = self._message(given, message.choice.repeats)
        if message is None or message.choice is None:
            raise NotFound("question not found")
        if message.choice.addressee != given.person_id:
            snapshot = read_snapshot(self.table, given.tenant, given.chat_id)
            snapshot = snapshot.for_member(MemberRef(kind="user", id=given.person_id))
            if snapshot.chat.formerly.get(message.choice.addressee) != given.person_id:
                raise Forbidden("the question is for another person")
        return message, message.choice

    def _message(self, given: GivenAnswer, seq: int) -> Message | None:
        return Message.read(self.table, Message.key_of(given.tenant, given.chat_id, seq))

    def _answered(
        self, given: GivenAnswer, asked: Message, choice: Choice, snapshot: ChatSnapshot
    ) -> tuple[list[Write], Consequence]:
        """Return the writes that record an answer and end the choice, and the answer's consequence.

        Raises:
            Conflict: The choice has ended, the code of the answer is no longer valid, or the agent
                that asked has left. Or the answer is a typed yes or no, and another message came
                after the question, so it is unclear which message the person answers.
        """
        now = self.clock.now()
        choices = read_choices(self.table, given.tenant, given.person_id, now)
        listed = open_choice(choices, given.chat_id, given.seq)
        status = choice.status(now)
        if status != "open" or listed is None:
            why = "is answered already" if status == "answered" else "has expired"
            raise Conflict(f"the question {why}", details={"status": status})
        effect = self.effects.of(choice.purpose, choice.data)
        if effect.triggers_agent and snapshot.member(asked.sender.ref) is None:
            raise Conflict("the agent that asked has left the chat", details={"status": status})
        if given.newest_seq not in {None, snapshot.chat.last_seq}:
            raise Conflict("somebody has written since the question", details={"status": status})
        if given.code is not None:
            choices = with_right_code(choices, given.code, now)
        answer = ChoiceAnswer(option=given.option, seq=snapshot.chat.last_seq + 1, at=now)
        refused = effect.is_consent and given.option == NO
        recorded = RecordedAnswer(asked, choice, answer, listed, snapshot)
        consequence = effect.on_answer(recorded, given)
        choices = with_ended(choices, listed, now, refused=refused)
        if consequence.follows is not None:
            choices = with_asked(choices, consequence.follows, now)
        writes: list[Write] = [
            asked.with_choice(choice.model_copy(update={"answer": answer})),
            *self._repetition_answered(given, listed, answer),
            stored_choices(choices),
        ]
        return writes, consequence

    def _repetition_answered(
        self, given: GivenAnswer, listed: OpenChoice, answer: ChoiceAnswer
    ) -> list[Write]:
        """Return the write that records the answer in the repetition of the question, if any."""
        again = self._message(given, listed.repeated_seq) if listed.repeated_seq else None
        if again is None or again.choice is None:
            return []
        return [again.with_choice(again.choice.model_copy(update={"answer": answer}))]


def _message(
    given: GivenAnswer, asked: Message, choice: Choice, effect: AnswerEffect
) -> NewMessage:
    """Build the message to post as the answer.

    Raises:
        Unprocessable: The answer is not one of the options, or is empty.
    """
    return NewMessage(
        tenant=given.tenant,
        chat_id=given.chat_id,
        sender=MemberRef(kind="user", id=given.person_id),
        kind="text" if effect.triggers_agent else "keyword",
        text=_words(given, choice),
        client_id=given.client_id,
        reply_to=asked.seq,
        media=given.media,
        route=given.route,
        overrides=given.overrides,
        answers=asked.sender.id if effect.triggers_agent else None,
    )


def _words(given: GivenAnswer, choice: Choice) -> str:
    """Return the text of an answer: the label of the chosen option, or the person's words.

    Raises:
        Unprocessable: The answer is not one of the options, or is empty.
    """
    option = choice.option(given.option) if given.option is not None else None
    if choice.options:
        if option is None or given.text is not None:
            raise Unprocessable("answer with one of the question's options")
        return given.typed or option.label
    if given.option is not None or given.text is None:
        raise Unprocessable("answer the question in words")
    return given.text
