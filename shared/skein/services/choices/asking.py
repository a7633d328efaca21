"""Ask a choice: one transaction posts the question and adds it to the person's open choices."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field

from skein.channels.keywords import is_keyword
from skein.channels.registry import channel_named
from skein.errors import (
    AlreadyAsked,
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    RateLimited,
    Unprocessable,
)
from skein.models.chats.chat import Message
from skein.models.chats.choice import (
    MAX_OPTIONS,
    MAX_QUESTION,
    QUESTION,
    Choice,
    Option,
)
from skein.models.chats.origin import Origin
from skein.models.chats.person_choices import MAX_LISTED, MAX_OPEN, OpenChoice, PersonChoices
from skein.models.common.active_item import ActiveItem
from skein.models.common.address import Address, Route
from skein.models.common.base import Identifier, Instant, MemberRef, Tenant, Value
from skein.models.common.storage import Write
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.models.visibility.sharing_rules import SharingStamp
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.person_choices import (
    expired,
    invitation_to,
    read_choices,
    stored_choices,
    with_asked,
    with_ended,
)
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.post_message import Chats, ExtraWrites, NewMessage, PostedMessage
from skein.services.choices.codes import could_answer, new_codes
from skein.services.choices.effect import AnswerEffects
from skein.services.common.optimistic import optimistic
from skein.services.config.resolution import effective_in
from skein.services.delivery.choice_text import choice_text
from skein.services.delivery.enqueue import why_not_sent
from skein.settings import Settings


class NewChoice(Value):
    """A choice to ask.

    Attributes:
        agent: The agent that posts the message: the agent that asks or, for Skein's own question,
            any agent of the chat.
        client_id: The idempotency key of the question.
        addressee: The member of the chat who may answer.
        options: The fixed answers; empty if the person answers in words.
        depth, run_id, authors, traced_to, origin, sharing_stamp, while_active: See `NewMessage`.
        expires_at: When the choice expires; if None, it expires after the chat's `choice_hours`.
        purpose, data: See `Choice`.
        invited_to, invited_by, number: See `OpenChoice`. `invited_by` is charged for the SMS.
    """

    tenant: Tenant
    chat_id: Identifier
    agent: MemberRef
    client_id: Annotated[str, Field(min_length=1, max_length=200)]
    addressee: Identifier
    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    options: Annotated[tuple[Option, ...], Field(max_length=MAX_OPTIONS)] = ()
    purpose: Identifier = QUESTION
    data: dict[str, Any] = Field(default_factory=dict)
    depth: int = 0
    run_id: Identifier | None = None
    authors: Authors = NO_AUTHORS
    traced_to: Identifier | None = None
    origin: Origin | None = None
    sharing_stamp: SharingStamp | None = None
    while_active: ActiveItem | None = None
    expires_at: Instant | None = None
    invited_to: Identifier | None = None
    invited_by: Identifier | None = None
    number: Address | None = None

    @property
    def text(self) -> str:
        """The text of the message: the question, followed by the labels of the options."""
        return "\n".join(filter(None, [self.question, " / ".join(o.label for o in self.options)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The service that asks people choices."""

    table: Table
    clock: Clock
    ids: Ids
    chats: Chats
    effects: AnswerEffects
    settings: Settings

    def ask(self, new: NewChoice, *, extra_writes: ExtraWrites | None = None) -> PostedMessage:
        """Ask a person a choice (idempotent by `client_id`).

        One transaction posts the message and adds the choice to the person's open choices. If the
        chat has the maximum number of open questions, its oldest question expires in the same
        transaction. By default, the choice expires after the chat's `choice_hours`.

        Args:
            extra_writes: See `Chats.post_message`; the caller's writes come first.

        Raises:
            AlreadyAsked: The person already has an open question about the same subject.
            RateLimited: The person has too many open invitations, or too many open errands from
                this asker. Or, in this chat today, the person was asked for consent too often or
                refused the agent too often.
            Unprocessable: The addressee is not a member of the chat, a label is a keyword, or the
                question is too long for SMS.
            Conflict: The invitation that the question is about has ended.
            ExtraWriteFailed: The condition of the caller's first write does not hold.
            Rejected: As in `Chats.post_message`.
        """
        if extra_writes is not None:
            return self._ask_once(new, extra_writes)
        return optimistic(self.clock, lambda: self._ask_alone(new))

    def _ask_alone(self, new: NewChoice) -> PostedMessage:
        """Ask a choice if the caller of `ask` gave no extra writes.

        Then the first extra write of the post is the write of the person's choices. If this write
        fails, another writer has changed the choices, and the caller retries.

        Raises:
            ConditionFailed: Another writer has changed the person's choices.
        """
        try:
            return self._ask_once(new, lambda _: ())
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None

    def _ask_once(self, new: NewChoice, extra_writes: ExtraWrites) -> PostedMessage:
        snapshot = read_snapshot(self.table, new.tenant, new.chat_id)
        message = self._message(new, snapshot)
        try:
            return self.chats.post_message(
                message,
                extra_writes=lambda current: (
                    *extra_writes(current),
                    *self._listed(new, message, current),
                ),
                known=snapshot,
            )
        except (AlreadyAsked, RateLimited, Unprocessable):
            earlier = self.chats.earlier(message)  # the question may have been asked already
            if earlier is None:
                raise
            return PostedMessage(earlier, created=False)

    def _message(self, new: NewChoice, snapshot: ChatSnapshot) -> NewMessage:
        hours = timedelta(hours=effective_in(snapshot.chat, self.settings).choice_hours)
        return NewMessage(
            tenant=new.tenant,
            chat_id=new.chat_id,
            sender=new.agent,
            kind="choice",
            text=new.text,
            client_id=new.client_id,
            depth=new.depth,
            run_id=new.run_id,
            authors=new.authors,
            traced_to=new.traced_to,
            origin=new.origin,
            sharing_stamp=new.sharing_stamp,
            while_active=new.while_active,
            charged_to=new.invited_by,
            choice=Choice(
                question=new.question,
                options=new.options,
                addressee=new.addressee,
                purpose=new.purpose,
                expires_at=new.expires_at or self.clock.now() + hours,
                data=new.data,
            ),
        )

    def _listed(
        self, new: NewChoice, message: NewMessage, snapshot: ChatSnapshot
    ) -> Sequence[Write]:
        """Return the writes that open the choice, and expire old questions if there are too many.

        If the message is sent by SMS, the choice gets codes.
        """
        person = snapshot.member(MemberRef(kind="user", id=new.addressee))
        if person is None or message.choice is None:
            raise Unprocessable("the person is not a member of this chat")
        now = self.clock.now()
        choices = read_choices(self.table, new.tenant, new.addressee, now)
        _check_labels(new.options)
        by_sms = snapshot.chat.kind == "direct" and why_not_sent(person) is None
        asked = OpenChoice(
            chat_id=new.chat_id,
            seq=snapshot.chat.last_seq + 1,
            purpose=new.purpose,
            agent_id=new.agent.id,
            expires_at=message.choice.expires_at,
            codes=new_codes(choices, new.options, self.ids) if by_sms else {},
            labels={option.id: option.label for option in new.options} if by_sms else {},
            invited_to=new.invited_to,
            invited_by=new.invited_by,
            number=new.number,
        )
        if new.invited_to is not None and invitation_to(choices, new.invited_to) is None:
            raise Conflict("the invitation has ended")
        if person.route is not None:
            _check_length(message.choice, asked, person.route)
        effect = self.effects.of(new.purpose, new.data)
        ended = self._oldest(choices, new.chat_id) if effect.takes_place else []
        same = [each for each in choices.open if each.purpose == new.purpose]
        effect.check_asked(message, self._messages(new.tenant, same))
        for each in ended:
            choices = with_ended(choices, each, now)
        over = self._messages(new.tenant, ended)
        return (
            stored_choices(with_asked(choices, asked, now, consent=effect.is_consent)),
            *(write for question in over for write in expired(question, now)),
        )

    def _oldest(self, choices: PersonChoices, chat_id: str) -> list[OpenChoice]:
        """Return the questions that must end before one more question is asked in a chat."""
        taken = [each for each in choices.open if self.effects.of(each.purpose, {}).takes_place]
        here = [each for each in taken if each.chat_id == chat_id]
        too_many = here[: max(0, len(here) + 1 - MAX_OPEN)]
        return too_many or taken[: max(0, len(taken) + 1 - MAX_LISTED)]

    def _messages(self, tenant: str, listed: Sequence[OpenChoice]) -> list[Message]:
        keys = [Message.key_of(tenant, each.chat_id, seq) for each in listed for seq in each.seqs]
        return Message.read_each(self.table.get_many(keys)) if keys else []


def _check_length(choice: Choice, asked: OpenChoice, route: Route) -> None:
    """Check that the question fits into one message of its channel; questions are never cut.

    Raises:
        Unprocessable: The question is too long for the channel.
    """
    text = choice_text(choice, asked) if asked.codes else ""
    objection = channel_named(route.channel).objection(text)
    if objection is not None:
        raise Unprocessable(objection)


def _check_labels(options: Sequence[Option]) -> None:
    """Check that each label can be used in a reply by SMS.

    Raises:
        Unprocessable: A label is a keyword such as STOP, or has a number that looks like a code.
    """
    for option in options:
        if is_keyword(option.label) or could_answer(option.label):
            raise Unprocessable(
                f"the label {option.label!r} means something else in an SMS; choose another"
            )
