"""Order errands, either at once or after the asker has approved them.

Content leaves a person's private chat only if the person approves exactly the words that others
will get. If the run was shown nothing private, the errands are ordered at once.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from skein.errands.models.errand import MAX_ASKED, Errand, ErrandOrder, ErrandRef, OrderData
from skein.errands.models.meeting import Meeting
from skein.errors import ConditionFailed, Correctable, Failed, Forbidden, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.choice import CONSENT, MAX_QUESTION
from skein.models.chats.membership import member_relation, related_chat
from skein.models.chats.names import folded, plain_name
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.effects import effect_id
from skein.models.common.reason import Reason
from skein.models.runs.run import Run, SentMessage
from skein.models.visibility.audience import Audience, may_show
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.choices.proposals import RunQuestions, person_to_ask
from skein.services.choices.wording import (
    called_in,
    destination_in,
    enumerated,
    readers_of,
    words_to_post,
)
from skein.services.common.optimistic import transact_guarded
from skein.services.common.pagination import pages_of_relation
from skein.services.common.quoting import in_quotes
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.services.runs.claim import Claim
from skein.services.visibility.audience import audience_of
from skein.services.visibility.disclosure import PRIVATE_ELSEWHERE, may_affect

SEARCHED_PAGES = 5  # pages of 100 chats
NOBODY_ASKS = "refused: no person of this chat has asked for it"
UNKNOWN = "person: nobody whose name is {name!r} is in this chat or another that can be named here"
SEVERAL = "person: several people have the name {name!r}; give one of these ids: {ids}"


class MeetingWish(NamedTuple):
    """The meeting for which a group wants a time; the fields are those of `Meeting`."""

    topic: str
    earliest: datetime
    latest: datetime
    minutes: int
    zone: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrandOrders:
    """The service with which runs order errands."""

    table: Table
    clock: Clock
    questions: RunQuestions
    dispatch: Dispatch

    def find(self, run: Run, readers: Audience, names: Sequence[str]) -> tuple[NamedMember, ...]:
        """Find the people that a run names, among the members of the asker's chats.

        Args:
            run: The run, which a message of the asker triggered.
            readers: The readers of the active chat. A chat that may not be shown to these readers
                is left out, so that its members are not revealed.
            names: Names or ids.

        Raises:
            Correctable: A name fits no person, or more than one person.
            Failed: No person's message led to the run.
        """
        if run.trigger.user_id is None:
            raise Failed(NOBODY_ASKS)
        asker = MemberRef(kind="user", id=run.trigger.user_id)
        known: dict[str, NamedMember] = {}
        for chat in self._chats_of(run.tenant, asker):
            if may_show(chat.readers, readers) and asker in {one.ref for one in chat.roster}:
                for member in chat.roster:
                    if member.kind == "user" and member.id != asker.id:
                        known.setdefault(member.id, member)
        return tuple(dict.fromkeys(_named(known, name) for name in names))

    def order(
        self,
        claim: Claim,
        asked: Sequence[NamedMember],
        question: str,
        until: datetime,
        *,
        cause: str,
    ) -> SentMessage | None:
        """Order errands, or ask the asker for approval first (idempotent by `cause`).

        Args:
            claim: The claim of the run in whose chat the result is posted.
            asked: The people to ask.
            until: The deadline.
            cause: The id of the tool call.

        Returns:
            The message that asks for approval; None if the errands are ordered.

        Raises:
            Forbidden: The run has no chat or no asker, or its prompt has content that it may not
                pass on.
            Unprocessable: The question is too long.
            AlreadyAsked, RateLimited: See `Asking.ask`.
            LostLease, ExtraWriteFailed: Another worker has taken the run over.
        """
        run = claim.run
        chat, asker = self._home(run)
        words = words_to_post(question)
        order = ErrandOrder(
            agent_id=run.agent_id,
            chat_id=chat.id,
            scope=chat.scope,
            asked_by=asker,
            asked=tuple(asked),
            question=words,
            text=text_of_errand(words, asker, chat),
            readers=chat.readers,
            audience=audience_of(chat, since_seq=chat.last_seq + 1),
            authors=run.words,
            until=until,
        )
        recipients = Audience(open=False, people=tuple(sorted(person.id for person in asked)))
        outsiders = run.held is None or run.held.outsiders
        if outsiders or not may_affect(run, recipients):
            return self._asked_first(claim, order, asker, cause)
        self._ordered(claim, order, cause)
        return None

    def find_time(self, claim: Claim, wish: MeetingWish, *, cause: str) -> Meeting:
        """Ask all people of a run's chat for their times (idempotent by `cause`).

        Raises:
            Forbidden: The run has no group or no asker, or its prompt has content that it may not
                pass on.
            Unprocessable: The group has too many people, or the topic is too long.
            LostLease: Another worker has taken the run over.
        """
        run = claim.run
        chat, asker = self._home(run)
        people = tuple(member for member in chat.roster if member.kind == "user")
        if not 2 <= len(people) <= MAX_ASKED:  # noqa: PLR2004 - a meeting has at least two people
            raise Unprocessable(f"a meeting needs 2 to {MAX_ASKED} people of the chat")
        if not may_affect(run, chat.readers) or run.held is None or run.held.outsiders:
            raise Forbidden(PRIVATE_ELSEWHERE, reason=Reason.DISCLOSURE_REFUSED)
        topic, now = words_to_post(wish.topic), self.clock.now()
        ref = ErrandRef(
            agent_id=run.agent_id, scope=chat.scope, id=f"mtg_{effect_id(run.tenant, cause)}"
        )
        present = audience_of(chat, since_seq=chat.last_seq + 1)
        order = ErrandOrder(
            agent_id=run.agent_id,
            chat_id=chat.id,
            scope=chat.scope,
            asked_by=asker,
            asked=people,
            question=topic,
            text=text_for_times(topic, wish, asker),
            readers=chat.readers,
            audience=present,
            authors=run.words,
            until=wish.until,
        )
        errands = Errand.ordered(run.tenant, order, cause=cause, at=now, meeting=ref)
        meeting = Meeting(
            tenant=run.tenant,
            id=ref.id,
            agent_id=run.agent_id,
            scope=chat.scope,
            chat_id=chat.id,
            asked_by=asker,
            errands=tuple(errand.ref for errand in errands),
            topic=topic,
            earliest=wish.earliest,
            latest=wish.latest,
            minutes=wish.minutes,
            zone=wish.zone,
            audience=present,
            authors=run.words,
            until=wish.until,
            created_at=now,
        )
        due = now + OUTBOX_GRACE
        writes = [*meeting.created(), *(w for errand in errands for w in errand.created(due))]
        try:
            transact_guarded(self.table, writes, claim.guard)
        except ConditionFailed:
            return meeting  # an earlier attempt has ordered it
        self.dispatch.send([errand.job for errand in errands])
        return meeting

    def _home(self, run: Run) -> tuple[Chat, NamedMember]:
        """Read the run's chat, and find its member who triggered the run.

        Raises:
            Forbidden: The run has no chat, or the chat does not include the asker.
        """
        if run.chat_id is None or run.trigger.user_id is None:
            raise Forbidden(NOBODY_ASKS)
        chat = read_snapshot(self.table, run.tenant, run.chat_id).chat
        asker_id = chat.formerly.get(run.trigger.user_id, run.trigger.user_id)
        asker = next((one for one in chat.roster if one.id == asker_id), None)
        if asker is None:
            raise Forbidden(NOBODY_ASKS)
        return chat, asker

    def _ordered(self, claim: Claim, order: ErrandOrder, cause: str) -> None:
        now = self.clock.now()
        errands = Errand.ordered(claim.run.tenant, order, cause=cause, at=now)
        writes = [write for errand in errands for write in errand.created(now + OUTBOX_GRACE)]
        with suppress(ConditionFailed):  # an earlier attempt has ordered them
            transact_guarded(self.table, writes, claim.guard)
            self.dispatch.send([errand.job for errand in errands])

    def _asked_first(
        self, claim: Claim, order: ErrandOrder, asker: NamedMember, cause: str
    ) -> SentMessage:
        """Ask the asker to approve that the people get exactly the text of the order."""
        if person_to_ask(claim.run) != asker.id:
            raise Forbidden(PRIVATE_ELSEWHERE, reason=Reason.DISCLOSURE_REFUSED)
        return self.questions.ask(
            claim,
            question_to_ask(order.text, order.asked),
            purpose=CONSENT,
            data=OrderData(orders=order),
            client_id=cause,
        )

    def _chats_of(self, tenant: str, person: MemberRef) -> Iterator[Chat]:
        rows = pages_of_relation(self.table, member_relation(tenant, person), newest_first=True)
        for page in islice(rows, SEARCHED_PAGES):
            keys = [Chat.key_of(tenant, related_chat(row)) for row in page]
            for chat in Chat.each_of(self.table.get_many(keys).values() if keys else ()):
                if chat.discarded_at is None:
                    yield chat


def _named(known: dict[str, NamedMember], name: str) -> NamedMember:
    """Find the one person who has this id or name.

    Raises:
        Correctable: No person has the id or name, or several people have the name.
    """
    if name in known:
        return known[name]
    found = [member for member in known.values() if folded(member.name) == folded(name)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Correctable(UNKNOWN.format(name=name))
    raise Correctable(SEVERAL.format(name=name, ids=", ".join(sorted(one.id for one in found))))


def text_for_times(topic: str, wish: MeetingWish, asker: NamedMember) -> str:
    """Return the text that asks a person of a group when they have time."""
    zone = ZoneInfo(wish.zone)
    first, last = wish.earliest.astimezone(zone), wish.latest.astimezone(zone)
    span = f"{wish.minutes} minutes, {first:%a %d %b %H:%M} to {last:%a %d %b %H:%M}, {wish.zone}"
    return (
        f"{plain_name(asker)} looks for a time for {in_quotes(topic)} ({span}). "
        "Which days and hours suit you? "
        "The group learns only a time that suits all."
    )


def text_of_errand(words: str, asker: NamedMember, chat: Chat) -> str:
    """Return the text to a person who is asked a question: `Alice asks: "When?"`.

    If the question comes from a group, the text names who will read the answer.

    Args:
        words: The words of the question.
        asker: Who asks.
        chat: The chat where the answer is posted.
    """
    where = f' for "{destination_in(chat).title}" ({readers_of(chat, asker.id)})'
    who = called_in(asker, chat)
    return f"{who} asks{where if chat.kind == 'group' else ''}: {in_quotes(words)}"


def question_to_ask(text: str, asked: Sequence[NamedMember]) -> str:
    """Return the question that asks for approval: `Ask Sarah? Alice asks: "When?" Yes sends ...`.

    Args:
        text: The text that the people get after a yes.
        asked: The people.

    Raises:
        Unprocessable: The question is too long, because it names too many people.
    """
    names = enumerated([plain_name(each) for each in asked])
    question = f"Ask {names}? {text} Yes sends exactly this."
    if len(question) > MAX_QUESTION:
        raise Unprocessable("the text and the names are too long for one question")
    return question
