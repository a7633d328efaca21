"""Consolidation of one chat for one agent, chunk by chunk.

The agent's model is asked about each chunk, and the resulting memories are stored. If a chunk
fails, the agent's watermark stays before that chunk.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.models.chats.chat import Chat, Membership, Message
from skein.models.common.audience import NOBODY
from skein.models.common.storage import Query
from skein.models.directory.agent import Agent
from skein.models.memory.memory import Memory
from skein.models.runs.completion import TokenUsage
from skein.ports import Clock, Table, TokenCounter
from skein.services.common.pagination import pages
from skein.services.common.text_search import EmbeddingCache, closest
from skein.services.memory.chunk_commit import ChunkCommitter, Overtaken, position_of
from skein.services.memory.chunking import Chunk, HistoryPosition, chunks, halves
from skein.services.memory.consolidation_schedule import MAX_FAILURES, has_new
from skein.services.memory.extraction import (
    MODEL_SECONDS,
    ExtractionFailed,
    Extractor,
    KnownMemories,
    TooMuch,
)
from skein.services.memory.search import newest_first
from skein.services.memory.store import CORE_MEMORY_TOKENS, core_in_budget, searchable_memories
from skein.services.memory.transcript import ConsolidationTarget, TimeZones, joins_of, reach_of
from skein.services.quotas.usage import Budget
from skein.settings import Settings

MESSAGES_PER_PAGE = 100
MAX_CLOSE = 20  # core memories shown because messages of the chunk are close to them
MARGIN = timedelta(seconds=MODEL_SECONDS + 20)

logger = logging.getLogger(__name__)


class QuestionTime:
    """Time limit on an invocation's questions; the first question is always allowed.

    Args:
        deadline: When the invocation ends.
    """

    def __init__(self, clock: Clock, deadline: datetime) -> None:
        self._clock = clock
        self._last = deadline - MARGIN
        self._asked = False

    def for_a_question(self) -> bool:
        """Tell whether there is time for one more question."""
        enough = not self._asked or self._clock.now() <= self._last
        self._asked = True
        return enough


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConsolidation:
    """Consolidation of a chat for one of its agents."""

    table: Table
    clock: Clock
    extractor: Extractor
    budget: Budget
    tokens: TokenCounter
    meanings: EmbeddingCache
    committer: ChunkCommitter
    settings: Settings

    def remember(
        self, chat: Chat, membership: Membership, *, until: int, time: QuestionTime
    ) -> bool:
        """Make memories from an agent's new messages of a chat, up to message `until`.

        If nothing is new (`has_new`), the watermark moves without a question.

        Args:
            membership: The agent's membership, which holds the watermark.
            until: The last message to consolidate.
            time: The time left for questions.

        Returns:
            False if time ran out first; True if the agent is done, also because a chunk failed.

        Raises:
            OverBudget: The tenant's budget is spent; the rest waits until the next day.
        """
        agent, since = self._agent(membership), position_of(membership)
        if agent is None or not has_new(chat, membership):
            self.committer.pass_over(membership, since, HistoryPosition(until))
            return True
        target = ConsolidationTarget(chat, agent, membership, TimeZones(self.table, agent))
        at = since
        for whole in self._chunks(target, since, until):
            left, spent = [whole], TokenUsage()
            while left:
                chunk = left.pop()
                if not time.for_a_question():
                    return False
                try:
                    self._remember(target, at, chunk, spent)
                except TooMuch as failure:
                    spent += failure.usage
                    parts = halves(chunk)
                    if parts is None:
                        self.committer.fail(target, at, chunk, str(failure), spent)
                        return True
                    left.extend(reversed(parts))
                    continue
                except ExtractionFailed as failure:
                    self.committer.fail(target, at, chunk, str(failure), spent + failure.usage)
                    return True
                except Overtaken:
                    logger.info(
                        "consolidation stopped: the agent's watermark has moved",
                        extra={"chat_id": chat.id},
                    )
                    return True
                at, spent = chunk.position, TokenUsage()
        if at.seq < until:
            self.committer.pass_over(membership, at, HistoryPosition(until))
        return True

    # ------------------------------------------------------------------ reading

    def _agent(self, membership: Membership) -> Agent | None:
        item = self.table.get(Agent.key_of(membership.tenant, membership.member.id))
        agent = Agent.from_item(item) if item else None
        return agent if agent and agent.deleted_at is None else None

    def _chunks(
        self, target: ConsolidationTarget, since: HistoryPosition, until: int
    ) -> Iterator[Chunk]:
        longest = self.settings.consolidation_chunk_tokens
        halvings = max(target.membership.consolidation_failures - MAX_FAILURES + 1, 0)
        return chunks(
            self._messages(target, since, until),
            since=since,
            until=until,
            measure=lambda *part: self.tokens.count(f"{target.line(*part)}\n"),
            limit=max(longest >> halvings, 1),
            longest=longest,
            joins=joins_of(target.chat),
        )

    def _messages(
        self, target: ConsolidationTarget, since: HistoryPosition, until: int
    ) -> Iterator[Message]:
        """Yield the messages with text or media of people and agents, reading by page."""
        chat = target.chat
        first = Message.key_of(chat.tenant, chat.id, since.seq + 1).sk
        last = Message.key_of(chat.tenant, chat.id, until).sk
        for items in pages(
            lambda start: self.table.query(
                Query(chat.key.pk, first=first, last=last, limit=MESSAGES_PER_PAGE, start=start)
            )
        ):
            messages = [chat.as_now(Message.from_item(item)) for item in items]
            texts = [m for m in messages if m.kind == "text" and (m.text or m.media)]
            target.zones.learn(texts)
            yield from texts

    # ------------------------------------------------------------------ one chunk

    def _remember(
        self, target: ConsolidationTarget, since: HistoryPosition, chunk: Chunk, spent: TokenUsage
    ) -> None:
        """Ask the model about a chunk; store its results together with the new watermark.

        The results are memories and, in a person's private direct chat, values of the profile.

        If no one was present for all of the chunk, the watermark moves without a question.

        Raises:
            ExtractionFailed: The chunk yielded no memories; the watermark is unchanged.
            Overtaken: The watermark is not `since` any more, or an erasure began.
            OverBudget: The tenant's budget of today is spent.
        """
        owner = target.owner(chunk)
        if owner.audience == NOBODY:
            self.committer.keep(target, since, chunk, owner, None, spent)
            return
        self.budget.check(target.chat.tenant)
        reach = reach_of(owner)
        live = searchable_memories(self.table, reach, now=self.clock.now())
        core = core_in_budget(live, self.tokens, CORE_MEMORY_TOKENS)
        known = KnownMemories.of(core, self._close_to(chunk, live))
        extracted = self.extractor.extract(
            target.agent, target.chat, known, target.transcript(chunk), target.profile(chunk)
        )
        authors = owner.authors.joined(*(memory.authors for memory in known.core))
        owner = owner.model_copy(update={"authors": authors})
        self.committer.keep(target, since, chunk, owner, extracted, spent + extracted.usage)

    def _close_to(self, chunk: Chunk, live: Sequence[Memory]) -> list[Memory]:
        """Return core memories that messages of a chunk may repeat or contradict."""
        core = newest_first([memory for memory in live if memory.kind == "core"])
        spoken = [
            f"{piece.message.sender.name}: {piece.message.text[piece.start : piece.end]}"
            for piece in chunk.pieces
        ]
        texts = [memory.text for memory in core]
        return [core[at] for at in closest(texts, spoken, MAX_CLOSE, self.meanings)]
