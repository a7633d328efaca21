"""Common part of the background tasks that renew summaries and titles.

A worker claims a summary by writing the time of the claim into the summary's state. This also
begins the cooldown. The worker's later writes fail if another worker has changed the state. The
chat is due for upkeep as long as a summary is stale, so a crash delays a renewal by at most one
cooldown.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary, SummaryState
from skein.models.common.base import stable_hash
from skein.models.common.storage import Item, Query
from skein.models.outbox.jobs import SummaryJob
from skein.models.quotas.usage import NO_WORDS, Words
from skein.models.runs.completion import ModelAnswer, ModelMessage, TokenUsage
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.ports import Clock, Table
from skein.services.background.engine import (
    Failure,
    Outcome,
    Overtaken,
    Question,
    Task,
    UnusableAnswer,
)
from skein.services.chat_state.snapshot import read_chat
from skein.services.common.optimistic import optimistic, revise
from skein.services.quotas.usage import SPREAD_SECONDS
from skein.services.visibility.audience import audience_of
from skein.settings import Settings


class SummaryClaim(NamedTuple):
    """The claim on a summary or a title.

    Attributes:
        chat: The chat as it was at the time of the claim.
        before: The state before the claim; None before the first attempt.
        state: The state since the claim.
        member: The membership of the agent for an agent summary; None for other kinds.
    """

    chat: Chat
    before: SummaryState | None
    state: SummaryState
    member: Membership | None = None


class SummaryRequest(NamedTuple):
    """The question for a summary, and the messages that the summary covers.

    Attributes:
        seq: The newest message that the summary covers.
        from_seq: The first message on which the summary is based, over all renewals.
        authors: The people whose words the summary may contain, as digests of their ids.
        words: The people to charge for the model call: the senders of the messages in the question,
            and the people whose messages led to an agent's messages.
        prompt: The messages to the model; empty if there is nothing to summarize.
        schema: The JSON schema of the answer.
        fit: Returns the summary in an answer; None if the answer has no valid summary.
    """

    seq: int
    from_seq: int = 0
    authors: Authors = NO_AUTHORS
    words: Words = NO_WORDS
    prompt: tuple[ModelMessage, ...] = ()
    schema: dict[str, object] = {}  # noqa: RUF012 - a NamedTuple has no other default
    fit: Callable[[str], str | None] = str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryTask(Task[SummaryJob, SummaryClaim, SummaryRequest, str]):
    """Task that renews one kind of summary, with at most one model call per summary and cooldown.

    If the model fails or its answer is invalid, the old summary is kept, and the next attempt comes
    after the cooldown. If the tenant's daily budget is used up, the next attempt comes on the next
    day. During a pause of background work, it comes after at least an hour.
    """

    name: ClassVar[str] = "summary"
    failures: ClassVar[str] = "SummariesFailed"
    seconds: ClassVar[int] = 90
    answer_tokens: ClassVar[int] = 1_000

    table: Table
    clock: Clock
    settings: Settings

    @abstractmethod
    def prepared(self, claim: SummaryClaim) -> SummaryRequest:
        """Read the messages to summarize, and render the question."""

    @abstractmethod
    def settle(
        self, claim: SummaryClaim, state: SummaryState | None, made: Mapping[str, object]
    ) -> None:
        """Store the new state, and the other new values in `made`.

        Raises:
            Overtaken: Another worker has claimed the summary, or the chat has changed.
        """

    def read(self, claim: SummaryClaim) -> Iterator[Iterator[SummaryRequest]]:
        """Yield one series, which has at most one batch; no batch if nothing is to summarize."""
        yield self._series(claim)

    def _series(self, claim: SummaryClaim) -> Iterator[SummaryRequest]:
        batch = self.prepared(claim)
        if batch.prompt:
            yield batch
        else:
            before = claim.before or SummaryState()
            self.settle(claim, before.model_copy(update={"tried_seq": batch.seq}), {})

    def question(self, claim: SummaryClaim, batch: SummaryRequest) -> Question[str]:
        """Return the question for the light model."""

        def parse(answer: ModelAnswer) -> str:
            summary = batch.fit(answer.text)
            if summary is None:
                raise UnusableAnswer("the answer was unusable")
            return summary

        return Question(
            model=self.settings.light_model,
            messages=batch.prompt,
            schema=batch.schema,
            agent_id=claim.member.member.id if claim.member is not None else None,
            words=batch.words,
            spread_by=claim.chat.id,
            parse=parse,
        )

    def write(
        self, claim: SummaryClaim, batch: SummaryRequest, answer: str, usage: TokenUsage
    ) -> None:
        settled = claim.state.model_copy(update={"failures": 0})
        self.settle(claim, settled, self.made(claim, batch, answer))

    def made(self, claim: SummaryClaim, batch: SummaryRequest, text: str) -> dict[str, object]:
        """Return the summary to store. An agent summary also records the chat's current title."""
        summary = Summary(
            text=text,
            from_seq=batch.from_seq,
            seq=batch.seq,
            audience=audience_of(claim.chat, since_seq=batch.from_seq),
            authors=batch.authors,
            at=self.clock.now(),
            title=claim.chat.title if claim.member is not None else None,
        )
        return {"summary": summary}

    def fail(self, claim: SummaryClaim, batch: SummaryRequest, failure: Failure) -> None:
        """Count a failure, which extends the cooldown."""
        failures = claim.state.failures + 1
        self.settle(claim, claim.state.model_copy(update={"failures": failures}), {})

    def release(self, claim: SummaryClaim, outcome: Outcome) -> None:
        """Postpone the next attempt if a budget is used up or background work is paused.

        Attempts that wait for the tenant's budget or for the end of a pause are spread over an
        hour.
        """
        if outcome.not_before is None:
            return
        spread = 0 if outcome.of_person else stable_hash(claim.chat.id) % SPREAD_SECONDS
        wait = timedelta(seconds=spread - self.settings.summary_cooldown_seconds)
        state = claim.before or SummaryState()
        later = state.model_copy(update={"claimed_at": outcome.not_before + wait})
        self.settle(claim, later, {})

    def rows(
        self, chat: Chat, since: int, *, limit: int, newest_first: bool = False
    ) -> Sequence[Item]:
        """Read the messages from `since` up to `chat.last_seq`, in one query.

        Messages posted after the chat was read are left out, because the chat's members may have
        changed.
        """
        query = Query(
            chat.key.pk,
            first=Message.key_of(chat.tenant, chat.id, since).sk,
            last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
            limit=limit,
            newest_first=newest_first,
        )
        return self.table.query(query).items


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSummaryTask(SummaryTask):
    """Task that renews a summary or title stored in the chat's own item.

    Each write raises the chat's version.

    Attributes:
        stored_in: The name of the chat's attribute in which the summary's state is stored.
    """

    stored_in: ClassVar[str]

    @abstractmethod
    def renewal_at(self, chat: Chat) -> datetime | None:
        """Return when the summary or title may be renewed; None if it needs no renewal."""

    def fits(self, chat: Chat, fresh: Chat) -> bool:
        """Return whether a result made from `chat` still fits the current chat, `fresh`."""
        return fresh.epoch == chat.epoch

    def derived(self, fresh: Chat, made: Mapping[str, object]) -> Mapping[str, object]:
        """Return further values to store, which are derived from the new ones in `made`."""
        return {}

    def claim(self, job: SummaryJob, until: datetime) -> SummaryClaim | None:
        """Begin the cooldown; see `Task`."""
        chat = read_chat(self.table, job.tenant, job.chat_id)
        at, now = self.renewal_at(chat), self.clock.now()
        if at is None or at > now:
            return None
        before: SummaryState | None = getattr(chat, self.stored_in)
        state = (before or SummaryState()).model_copy(update={"claimed_at": now})
        claimed, write = revise(chat, {self.stored_in: state})
        self.table.write(write)
        return SummaryClaim(claimed, before, state)

    def settle(
        self, claim: SummaryClaim, state: SummaryState | None, made: Mapping[str, object]
    ) -> None:
        """Store the state in the chat; see `SummaryTask`."""
        # States are compared as stored, because the clock is more precise than the table, which
        # keeps milliseconds.
        stored = claim.chat.attributes().get(self.stored_in)

        def attempt() -> None:
            fresh = read_chat(self.table, claim.chat.tenant, claim.chat.id)
            unchanged = fresh.attributes().get(self.stored_in) == stored
            if not unchanged or not self.fits(claim.chat, fresh):
                raise Overtaken(str(claim.chat.key))
            _, write = revise(fresh, {self.stored_in: state, **made, **self.derived(fresh, made)})
            self.table.write(write)

        optimistic(self.clock, attempt)


def authors_of(earlier: Summary | None, messages: Sequence[Message]) -> Authors:
    """Return the people whose words a new summary may contain, as digests of their ids."""
    known = earlier.authors if earlier is not None else NO_AUTHORS
    return known.joined(*(message.words for message in messages))


def words_of(messages: Iterable[Message]) -> Words:
    """Return the people to charge: who wrote the messages, or whose message an agent answered."""
    return Words.of((message.payer, len(message.full_text)) for message in messages)


def messages_for_elsewhere(chat: Chat, items: Iterable[Item]) -> list[Message]:
    """Return the messages whose content may be shown in other chats; see `Authors.by_rule`."""
    return [message for message in text_messages(chat, items) if not message.words.by_rule]


def text_messages(chat: Chat, items: Iterable[Item]) -> list[Message]:
    """Return the messages of people and agents among a chat's items, if they have text."""
    messages = (chat.as_now(each) for each in Message.each_of(items))
    return [message for message in messages if message.conversational and message.full_text]
