"""Match typed answers: messages that say only yes or only no.

A typed yes or no answers a question only if these conditions hold: the sender has exactly one open
question in the chat, the options of the question are yes and no, and the question is the newest
message of the chat.

If only the run that asked has written after the question, Skein repeats the question once and
starts no run. By SMS, Skein repeats the question even if it is the newest message, because the
answer may have been sent before the question arrived. From then on, the repetition counts as the
question. In all other cases, a typed yes or no is an ordinary message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.errors import ConditionFailed, Conflict, ExtraWriteFailed, NotFound
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.person_choices import OpenChoice, PersonChoices
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Query, Write
from skein.models.delivery.delivery import Delivery
from skein.ports import Clock, Table
from skein.services.chat_state.person_choices import (
    open_choice,
    read_choices,
    stored_choices,
    with_repeated,
)
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.app_messages import AppMessages
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage
from skein.services.choices.answering import Answering
from skein.services.choices.codes import MatchedAnswer
from skein.services.choices.effect import GivenAnswer
from skein.services.choices.typed_words import typed_answer
from skein.services.common.optimistic import optimistic

MAX_BETWEEN = 20  # the most messages of the asking run after its question


class Unsure(NamedTuple):
    """A typed yes or no that is possibly not meant for the question, so the question is repeated.

    Attributes:
        seq: The question's message.
    """

    seq: int


TypedMatch = MatchedAnswer | Unsure


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedAnswers:
    """The service that takes typed answers to choices."""

    table: Table
    clock: Clock
    chats: Chats
    app_messages: AppMessages
    answering: Answering

    def post_in_app(self, new: NewMessage) -> PostedMessage:
        """Post a person's message from the app.

        A message that clearly answers a question is posted as the answer. If it is unclear whether
        a typed yes or no answers the question, the question is repeated after the message.

        Raises:
            RateLimited, Rejected: As in `AppMessages.post`.
        """
        match = None if new.media else self._in_app(new)
        if isinstance(match, MatchedAnswer):
            try:
                return self.answering.answer_in_app(_given(new, match))
            except Conflict:  # the question has ended, or someone wrote in the meantime
                match = None
        posted = self.app_messages.post(new if match is None else repeating(new, match))
        self.repeat(posted.message)
        return posted

    def by_text(
        self,
        tenant: str,
        chat_id: str,
        person: MemberRef,
        text: str,
        *,
        replied_to: str | None,
        ordered: bool,
    ) -> TypedMatch | None:
        """Return the answer in a text from a phone; None if the text is an ordinary message.

        Args:
            replied_to: The provider's id of the message to which the person replied, if the channel
                has replies.
            ordered: Whether the channel shows the chat in order, so that a text is never read as
                the answer to a question that its sender has not seen.
        """
        found = self._asked(tenant, chat_id, person, text)
        if found is None:
            return None
        if ordered and self._delivered_as(found, replied_to):
            return MatchedAnswer(found.listed, option=found.option)
        if ordered and found.newest:
            return found.answer
        return self._repeated(found)

    def repeat(self, message: Message) -> None:
        """Repeat the question that a message did not clearly answer (idempotent).

        Args:
            message: The stored message. The question is repeated only if the message's `reason` is
                `TYPED_ANSWER`.
        """
        if message.reason != Reason.TYPED_ANSWER or message.reply_to is None:
            return
        person = message.sender.ref
        try:
            optimistic(self.clock, lambda: self._repeat_once(message, person))
        except (NotFound, Conflict):  # the agent has left, the team took the chat, or people joined
            return

    def _repeat_once(self, message: Message, person: MemberRef) -> None:
        """Post the question again and record the repetition, in one transaction.

        Raises:
            ConditionFailed: Another writer has changed the person's choices; the caller retries.
        """
        tenant, chat_id, now = message.tenant, message.chat_id, self.clock.now()
        choices = read_choices(self.table, tenant, person.id, now)
        listed = open_choice(choices, chat_id, message.reply_to or 0)
        question = self._question(tenant, listed) if listed is not None else None
        if listed is None or question is None or question.choice is None:
            return
        if listed.repeated_seq is not None:
            return
        again = NewMessage(
            tenant=tenant,
            chat_id=chat_id,
            sender=question.sender.ref,
            kind="choice",
            text=question.text,
            client_id=f"again:{message.id}",
            depth=question.depth,
            run_id=question.run_id,
            authors=question.authors,
            traced_to=question.traced_to,
            origin=question.origin,
            charged_to=listed.invited_by,
            choice=question.choice.model_copy(update={"repeats": question.seq}),
        )

        def listed_again(snapshot: ChatSnapshot) -> Sequence[Write]:
            if _joined_since(snapshot, question.seq):
                raise Conflict("somebody has joined since the question")
            seq = snapshot.chat.last_seq + 1
            return (stored_choices(with_repeated(choices, listed, seq)),)

        try:
            self.chats.post_message(again, extra_writes=listed_again)
        except ExtraWriteFailed:
            raise ConditionFailed(frozenset()) from None

    # ------------------------------------------------------------------ the meaning of a text

    def _in_app(self, new: NewMessage) -> TypedMatch | None:
        found = self._asked(new.tenant, new.chat_id, new.sender, new.text)
        if found is None or new.reply_to not in {None, found.listed.seq, found.shown_seq}:
            return None
        if not found.newest:
            return self._repeated(found)
        own = found.snapshot.member(new.sender)
        seen = own is not None and own.seen_seq >= found.shown_seq
        return found.answer if seen else None

    def _asked(self, tenant: str, chat_id: str, person: MemberRef, text: str) -> "_Asked | None":
        """Return the only open question, if a typed yes or no can answer it."""
        typed = typed_answer(text)
        if typed is None:
            return None
        choices = read_choices(self.table, tenant, person.id, self.clock.now())
        listed = _only_one(choices, chat_id)
        question = self._question(tenant, listed) if listed is not None else None
        if listed is None or question is None or question.choice is None:
            return None
        options = {typed_answer(each.label): each.id for each in question.choice.options}
        if options.keys() != {"yes", "no"} or len(options) < len(question.choice.options):
            return None
        snapshot = read_snapshot(self.table, tenant, chat_id)
        return _Asked(snapshot, listed, question, options[typed])

    def _question(self, tenant: str, listed: OpenChoice) -> Message | None:
        return Message.read(self.table, Message.key_of(tenant, listed.chat_id, listed.seq or 0))

    def _repeated(self, asked: "_Asked") -> Unsure | None:
        """Return `Unsure`, which repeats the question; None if the question may not be repeated.

        A question is repeated at most once, and only if all messages after it are from the run that
        asked it. It is not repeated if someone has joined the chat since, because that person would
        see the question, or if a person of the team holds the chat.
        """
        chat, question = asked.snapshot.chat, asked.question
        if asked.listed.repeated_seq is not None or chat.holder is not None:
            return None
        if _joined_since(asked.snapshot, question.seq):
            return None
        writers = self._runs_since(chat, question.seq) if not asked.newest else set()
        return Unsure(question.seq) if writers <= {question.run_id} - {None} else None

    def _runs_since(self, chat: Chat, seq: int) -> set[str | None]:
        """Return the ids of the runs that posted the messages after a question.

        The set contains None if one of the messages was posted by no run, or if there are too many
        messages to check.
        """
        if chat.last_seq - seq > MAX_BETWEEN:
            return {None}
        page = self.table.query(
            Query(
                chat_partition(chat.tenant, chat.id),
                first=Message.key_of(chat.tenant, chat.id, seq + 1).sk,
                last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
            )
        )
        return {message.run_id for message in Message.each_of(page.items)}

    def _delivered_as(self, asked: "_Asked", provider_id: str | None) -> bool:
        """Return whether `provider_id` is the provider's id of a delivery of the question."""
        if provider_id is None:
            return False
        question = asked.question
        keys = [
            Delivery.key_of(question.tenant, question.chat_id, delivery_id)
            for delivery_id in question.deliveries
        ]
        deliveries = Delivery.read_each(self.table.get_many(keys))
        return any(provider_id in part.sids for each in deliveries for part in each.parts)


class _Asked(NamedTuple):
    """The only open question of a person in a chat, and the option that the text chooses."""

    snapshot: ChatSnapshot
    listed: OpenChoice
    question: Message
    option: str

    @property
    def shown_seq(self) -> int:
        return self.listed.repeated_seq or self.question.seq

    @property
    def newest(self) -> bool:
        return self.snapshot.chat.last_seq == self.shown_seq

    @property
    def answer(self) -> MatchedAnswer:
        """The answer. It is rejected if someone posts a message before the answer is stored."""
        return MatchedAnswer(self.listed, option=self.option, newest_seq=self.shown_seq)


def repeating(new: NewMessage, unsure: Unsure) -> NewMessage:
    """Return the message as a reply that starts no run; Skein repeats the question after it."""
    return new.model_copy(
        update={
            "kind": "keyword",
            "reply_to": unsure.seq,
            "no_run_reason": Reason.TYPED_ANSWER,
        }
    )


def _joined_since(snapshot: ChatSnapshot, seq: int) -> bool:
    return any(each.active and each.joined_seq >= seq for each in snapshot.members)


def _only_one(choices: PersonChoices, chat_id: str) -> OpenChoice | None:
    here = [each for each in choices.open if each.chat_id == chat_id and each.seq is not None]
    return here[0] if len(here) == 1 else None


def _given(new: NewMessage, match: MatchedAnswer) -> GivenAnswer:
    return GivenAnswer(
        tenant=new.tenant,
        chat_id=new.chat_id,
        person_id=new.sender.id,
        seq=match.choice.seq or 0,
        option=match.option,
        typed=new.text,
        newest_seq=match.newest_seq,
        client_id=new.client_id,
    )
