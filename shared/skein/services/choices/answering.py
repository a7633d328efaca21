"""Answer a choice: one transaction posts the answer, records it in the question, and ends it.

An answer counts once. The question's message is written on condition that it has no answer yet, and
the person's open choices under their optimistic lock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import Field

from skein.errors import (
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    Forbidden,
    NotFound,
    Unprocessable,
)
from skein.models.chats.chat import Media, Message
from skein.models.chats.choice import NO, YES, Choice, ChoiceAnswer
from skein.models.chats.consent import Consent
from skein.models.chats.errand import Errand, ErrandRef
from skein.models.chats.forgetting import Forgetting
from skein.models.chats.meeting import Meeting, wake
from skein.models.chats.person_choices import OpenChoice
from skein.models.common.address import Route
from skein.models.common.base import Identifier, MemberRef, Tenant, Value
from skein.models.common.reason import Reason
from skein.models.common.storage import Missing, Put, Write
from skein.models.config.overrides import Overrides
from skein.models.directory.address_index import AddressOwner
from skein.models.outbox.jobs import Job
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import (
    AGREEMENTS,
    open_choice,
    read_choices,
    stored_choices,
    with_ended,
)
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.app_messages import AppMessages
from skein.services.chats.invitations import answered
from skein.services.chats.post_message import Chats, ExtraWrites, NewMessage, PostedMessage
from skein.services.choices.codes import with_right_code
from skein.services.choices.own_rules import own_rule_id, own_rule_made
from skein.services.common.optimistic import known_first, optimistic, revise
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch


class GivenAnswer(Value):
    """A person's answer to a choice: an option, or words.

    Attributes:
        person_id: The person who answers.
        seq: The question's message.
        option: The id of the chosen option; None for words.
        text: The words, for a question without options.
        code: For an answer by SMS, the code. It must still be open, and answers by SMS not closed.
        client_id: The idempotency key of the answer.
        media, route, no_run_reason, overrides: See `NewMessage`.
    """

    tenant: Tenant
    chat_id: Identifier
    person_id: Identifier
    seq: int
    option: str | None = None
    text: str | None = None
    code: str | None = None
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    media: tuple[Media, ...] = ()
    route: Route | None = None
    no_run_reason: Reason | None = None
    overrides: Overrides | None = None


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer that is about to be stored.

    Attributes:
        question: The question's message, before the answer.
        choice: The choice with its answer.
        listed: The choice among the person's open ones.
        snapshot: The chat, as the transaction expects it.
    """

    question: Message
    choice: Choice
    listed: OpenChoice
    snapshot: ChatSnapshot


@dataclass(slots=True)
class Consequence:
    """The consequence of an answer besides its message.

    Attributes:
        writes: Further writes of the transaction.
        jobs: The jobs to send after the commit.
    """

    writes: list[Write] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The service that takes people's answers to choices."""

    table: Table
    clock: Clock
    chats: Chats
    app_messages: AppMessages
    dispatch: Dispatch

    def answer_in_app(self, given: GivenAnswer) -> PostedMessage:
        """Answer a choice from the app, within the limits of the person and the tenant.

        Raises:
            RateLimited: A limit is used up; nothing was stored.
            Rejected: As in `answer`.
        """
        return self._answer(
            given, lambda new, writes: self.app_messages.post(new, extra_writes=writes)
        )

    def answer(
        self, given: GivenAnswer, *, extra_writes: ExtraWrites | None = None
    ) -> PostedMessage:
        """Answer a choice (idempotent by `client_id`).

        One transaction posts the answer, records it in the question's message, and removes the
        choice from the person's open ones. The answer to an agent's question triggers that agent;
        the answer to Skein's own question triggers nobody.

        Args:
            given: The answer.
            extra_writes: See `Chats.post_message`; the caller's writes come first.

        Raises:
            NotFound: The person is not a member of the chat, or there is no such question.
            Forbidden: The question is for another person.
            Conflict: The question is answered already or has expired, or the chat is discarded.
            Unprocessable: The answer is not one of the options, or has no words.
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
        """Post an answer without writes of the caller, so that the question is the first write.

        Raises:
            ConditionFailed: Another writer has changed the question; the caller retries.
        """
        try:
            return self.chats.post_message(new, extra_writes=writes)
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None

    def _answer(
        self, given: GivenAnswer, post: Callable[[NewMessage, ExtraWrites], PostedMessage]
    ) -> PostedMessage:
        first = asked, choice = self._question(given)
        new = _message(given, asked, choice)
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
        """Find the same answer, posted before."""
        sender = read_snapshot(self.table, given.tenant, given.chat_id).member(new.sender)
        return self.chats.earlier(new, sender.formerly if sender is not None else ())

    def _question(self, given: GivenAnswer) -> tuple[Message, Choice]:
        """Read the question that an answer is for.

        Raises:
            NotFound: There is no such question, or the person is not a member.
            Forbidden: The question is for another person.
        """
        item = self.table.get(Message.key_of(given.tenant, given.chat_id, given.seq))
        message = Message.from_item(item) if item is not None else None
        if message is None or message.choice is None:
            raise NotFound("there is no such question")
        if message.choice.addressee != given.person_id:
            snapshot = read_snapshot(self.table, given.tenant, given.chat_id)
            snapshot = snapshot.for_member(MemberRef(kind="user", id=given.person_id))
            if snapshot.chat.formerly.get(message.choice.addressee) != given.person_id:
                raise Forbidden("the question is for another person")
        return message, message.choice

    def _answered(
        self, given: GivenAnswer, asked: Message, choice: Choice, snapshot: ChatSnapshot
    ) -> tuple[list[Write], Consequence]:
        """Return the writes that record an answer and end the choice, and its consequence.

        Raises:
            Conflict: The choice is over.
        """
        now = self.clock.now()
        choices = read_choices(self.table, given.tenant, given.person_id, now)
        listed = open_choice(choices, given.chat_id, given.seq)
        status = choice.status(now)
        if status != "open" or listed is None:
            why = "is answered already" if status == "answered" else "has expired"
            raise Conflict(f"the question {why}", details={"status": status})
        if given.code is not None:
            choices = with_right_code(choices, given.code, now)
        answer = ChoiceAnswer(option=given.option, seq=snapshot.chat.last_seq + 1, at=now)
        with_answer = choice.model_copy(update={"answer": answer})
        refused = choice.purpose in AGREEMENTS and given.option == NO
        writes: list[Write] = [
            asked.with_choice(with_answer),
            stored_choices(with_ended(choices, listed, now, refused=refused)),
        ]
        recorded = RecordedAnswer(asked, with_answer, listed, snapshot)
        if choice.errand is not None:
            return writes, self._brought_back(choice.errand, given, now)
        return writes, self._consequence(recorded, given.person_id)

    def _brought_back(self, errand: ErrandRef, given: GivenAnswer, now: datetime) -> Consequence:
        """Return the consequence of an answer to an errand: its words go to the home chat.

        Raises:
            Conflict: The errand has ended without an answer.
        """
        item = self.table.get(errand.key(given.tenant))
        stored = Errand.from_item(item) if item is not None else None
        if stored is not None and stored.meeting is not None and stored.confirm_seq == given.seq:
            _, write = revise(stored, {"confirmed": given.option == YES})
            woken = wake(given.tenant, stored.meeting, now)
            return Consequence([write, woken], [Meeting.job_of(given.tenant, stored.meeting)])
        if stored is None or stored.state(now) != "open":
            raise Conflict("the question has expired", details={"status": "expired"})
        changes = {"answer": given.text, "answered_at": now}
        answered, write = revise(stored, changes, also=stored.due(now + OUTBOX_GRACE))
        return Consequence([write], [answered.job])

    def _consequence(self, recorded: RecordedAnswer, person_id: str) -> Consequence:
        """Return the consequence of an answer by the choice's purpose.

        The answer to an agent's question triggers the agent, as a message. A person's yes to a post
        is stored as a consent, and the yes to forget messages as a forgetting; jobs carry them out.
        The yes to a sharing rule makes it, and the message of the answer tells the chat.

        Args:
            person_id: The person who answers.
        """
        choice, given = recorded.choice, recorded.choice.answer
        if given is None:
            return Consequence()
        if recorded.listed.number is not None:
            return Consequence([self._whose(recorded, person_id, given)])
        if choice.invited_to is not None:
            return Consequence(self._joins(recorded, choice.invited_to, given))
        if given.option != YES:
            return Consequence()
        if choice.rule is not None:
            return Consequence(own_rule_made(self.table, recorded.question, person_id, given.at))
        return _agreed(recorded, given, person_id)

    def _whose(self, recorded: RecordedAnswer, person_id: str, answer: ChoiceAnswer) -> Write:
        """Return the write by which a number is proven, or is a new person's from now on.

        Raises:
            Conflict: The number is not the person's any more.
        """
        number = recorded.listed.number
        key = AddressOwner.key_of(recorded.question.tenant, number) if number else None
        item = self.table.get(key) if key is not None else None
        owner = AddressOwner.from_item(item) if item is not None else None
        if owner is None or owner.user_id != person_id or owner.reassigned:
            raise Conflict("the number is not yours any more")
        return owner.proven(answer.at.date()) if answer.option == YES else owner.lost()

    def _joins(self, recorded: RecordedAnswer, chat_id: str, answer: ChoiceAnswer) -> list[Write]:
        """Return the writes by which the person joins a chat, or declines the invitation."""
        tenant, person = recorded.question.tenant, recorded.choice.addressee
        person = recorded.snapshot.chat.formerly.get(person, person)
        accept = answer.option == YES
        return answered(self.table, tenant, chat_id, person, accept=accept, now=answer.at) or []


def _agreed(recorded: RecordedAnswer, given: ChoiceAnswer, person_id: str) -> Consequence:
    """Return the consequence of a person's yes to a post, or to the deletion of messages."""
    due_at, question = given.at + OUTBOX_GRACE, recorded.question
    if recorded.choice.forgets:
        forgetting = Forgetting.of(question, user_id=person_id, at=given.at)
        stored = Put(forgetting.key, forgetting.to_item(due_at), Missing())
        return Consequence([stored], [forgetting.job])
    if recorded.choice.orders is not None:
        orders = recorded.choice.orders
        errands = Errand.ordered(question.tenant, orders, cause=question.id, at=given.at)
        stored_all = [write for errand in errands for write in errand.created(due_at)]
        return Consequence(stored_all, [errand.job for errand in errands])
    if recorded.choice.proposal is None:
        return Consequence()
    consent = Consent.of(question, user_id=recorded.choice.addressee, at=given.at)
    stored = Put(consent.key, consent.to_item(due_at), Missing())
    return Consequence([stored], [consent.job])


def _message(given: GivenAnswer, asked: Message, choice: Choice) -> NewMessage:
    """Return the message of an answer.

    Raises:
        Unprocessable: The answer is not one of the options, or has no words.
    """
    agreed = given.option == YES
    agents_own = choice.purpose in {"question", "tool"}  # the agent learns the answer
    return NewMessage(
        tenant=given.tenant,
        chat_id=given.chat_id,
        sender=MemberRef(kind="user", id=given.person_id),
        kind="text" if agents_own else "keyword",
        text=_words(given, choice),
        client_id=given.client_id,
        reply_to=given.seq,
        media=given.media,
        route=given.route,
        no_run_reason=given.no_run_reason,
        overrides=given.overrides,
        answers=asked.sender.id if agents_own else None,
        noticed_rules=(own_rule_id(asked),) if agreed and choice.rule is not None else (),
        opened_rules=(choice.opens,) if agreed and choice.opens is not None else (),
    )


def _words(given: GivenAnswer, choice: Choice) -> str:
    """Return the text of an answer: the label of its option, or the words.

    Raises:
        Unprocessable: The answer is not one of the options, or has no words.
    """
    option = choice.option(given.option) if given.option is not None else None
    if choice.options:
        if option is None or given.text is not None:
            raise Unprocessable("answer with one of the question's options")
        return option.label
    if given.option is not None or given.text is None:
        raise Unprocessable("answer the question in words")
    return given.text
