"""Own words: make memories only from a person's own messages, without the agent's answers.

A sharing rule may show such a memory to readers who may see each of its source messages. Therefore,
one question contains only messages to which the same rules apply. Every memory from the answer has
all of these messages as its sources.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from skein.memory.chunk_commit import commit_chunk, commit_failure, count_stuck, record_of
from skein.memory.chunking import Chunk, HistoryPosition, Piece, halves
from skein.memory.extraction import Extraction
from skein.memory.models.records import ConsolidationRecord, KeptCounts
from skein.memory.transcript import ConsolidationTarget, TimeZones
from skein.memory.writes import MemoryDraft
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.storage import (
    Absent,
    Condition,
    Is,
    Missing,
    Put,
    Query,
    Update,
    all_of,
)
from skein.models.quotas.usage import Words
from skein.models.runs.completion import ModelAnswer, ModelMessage, TokenUsage, well_formed
from skein.models.visibility.provenance import NO_AUTHORS, MadeFrom
from skein.ports import Clock, Ids, Metrics, Table
from skein.prompts import render
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.passages import PASSAGE
from skein.services.background.engine import Failure, Overtaken, Question, TooMuch, UnusableAnswer
from skein.services.chat_state.snapshot import read_agent
from skein.services.common.model_json import json_object_in
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import pages
from skein.services.common.token_cache import RememberedTokens
from skein.services.visibility.audience import audience_of, scope_of
from skein.services.visibility.sharing_reads import read_covered
from skein.services.visibility.sharing_rules import AuthorRules, SaidMessage, pause_in
from skein.settings import Settings

MAX_SOURCES = 20  # messages in one question; its memories may be shared only if all of them may
MAX_MEMORIES = 20  # memories from one question
MESSAGES_PER_PAGE = 100
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"memories": {"type": "array", "items": {"type": "string"}}},
    "required": ["memories"],
    "additionalProperties": False,
}


class OwnWordsChunk(NamedTuple):
    """A person's messages for one question; the same sharing rules apply to all of them.

    Attributes:
        target: The agent and the chat.
        since: The watermark before the chunk.
        chunk: The messages.
    """

    target: ConsolidationTarget
    since: int
    chunk: Chunk

    @property
    def messages(self) -> list[Message]:
        """The messages of the chunk in ascending order."""
        return [piece.message for piece in self.chunk.pieces]

    @property
    def made_from(self) -> MadeFrom:
        """The provenance of a memory from this chunk; each message is a separate span."""
        seqs = [one.seq for one in self.messages]
        return MadeFrom.each(
            self.target.chat.id, seqs, [one.sender.person_id for one in self.messages]
        )

    @property
    def halves(self) -> "Sequence[OwnWordsChunk]":
        """The two halves of the chunk; empty for a single message, which is never split."""
        parts = halves(self.chunk) if len(self.chunk.pieces) > 1 else None
        if parts is None:
            return ()
        first, second = parts
        return self._replace(chunk=first), self._replace(chunk=second, since=first.position.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWordsConsolidation:
    """The part of a consolidation that makes memories only from a person's own words."""

    table: Table
    clock: Clock
    ids: Ids
    tokens: RememberedTokens
    metrics: Metrics
    settings: Settings

    # ------------------------------------------------------------------ what is read

    def chunks(self, chat: Chat, membership: Membership) -> Iterator[OwnWordsChunk]:
        """Yield the chunks that the agent has not read yet.

        The watermark is moved past messages that no rule may share.

        Args:
            chat: A direct chat whose person was informed of sharing rules.
            membership: The agent's membership.
        """
        since, until = membership.own_words_read, self._until(chat)
        if since >= until:
            return
        agent = read_agent(self.table, chat.tenant, membership.member.id)
        covered = read_covered(self.table, chat, self.clock.now(), self.settings)
        if agent is not None and covered is not None:
            zones = TimeZones(self.table, agent)
            target = ConsolidationTarget(chat, agent, membership, zones)
            for chunk in self._chunks(target, covered, since, until):
                yield OwnWordsChunk(target, since, chunk)
                since = chunk.position.seq
        if since < until:
            self._pass_over(membership, since, until)

    def _until(self, chat: Chat) -> int:
        """Return the `seq` of the newest message that the person can no longer keep private.

        A person can keep a conversation private until the conversation has ended.
        """
        sharing, newest = chat.sharing, chat.person_seq
        if sharing is None:
            return 0
        over = sharing.is_over(newest, self.clock.now(), pause_in(chat, self.settings))
        return newest if over else sharing.talk_from - 1

    def _chunks(
        self, target: ConsolidationTarget, covered: AuthorRules, since: int, until: int
    ) -> Iterator[Chunk]:
        """Yield the messages that rules may share now, in chunks.

        The same rules apply to all messages of a chunk.
        """
        chat, names = target.chat, target.names()
        longest = self.settings.consolidation_chunk_tokens
        held, group, size = list[Piece](), tuple[str, ...](), 0
        for message in self._messages(target, since, until):
            said = SaidMessage.of(message)
            rules = covered.rules_of(chat, said)
            if not rules:
                continue
            same = tuple(rule.id for rule in rules)
            same += covered.partitions(chat, [said], target.agent.id)
            end = len(message.text)
            tokens = self.tokens.count(f"{target.line(names, message, 0, end)}\n")
            full = len(held) == MAX_SOURCES or size + tokens > longest
            if held and (full or same != group):
                yield Chunk(tuple(held), held[-1].position)
                held, size = [], 0
            held.append(Piece(message, 0, end, tokens))
            group, size = same, size + tokens
        if held:
            yield Chunk(tuple(held), HistoryPosition(until))

    def _messages(self, target: ConsolidationTarget, since: int, until: int) -> Iterator[Message]:
        chat = target.chat
        first = Message.key_of(chat.tenant, chat.id, since + 1)
        last = Message.key_of(chat.tenant, chat.id, until)
        query = Query(first.pk, first=first.sk, last=last.sk, limit=MESSAGES_PER_PAGE)
        for items in pages(lambda start: self.table.query(replace(query, start=start))):
            messages = list(Message.each_of(items))
            target.zones.learn(messages)
            yield from messages

    # ------------------------------------------------------------------ what is asked

    def question(self, batch: OwnWordsChunk) -> Question[Extraction]:
        """Return the question that asks which memories to make from the messages of the chunk."""
        target, chunk = batch.target, batch.chunk
        name = target.names(chunk)[batch.messages[0].sender]
        return Question(
            model=target.agent.model or self.settings.default_model,
            messages=(
                ModelMessage(role="system", content=render("own_words", {"name": name})),
                ModelMessage(role="user", content=target.transcript(chunk)),
            ),
            schema=SCHEMA,
            agent_id=target.agent.id,
            words=Words.of((each.message.payer, each.end) for each in chunk.pieces),
            spread_by=target.chat.id,
            parse=extraction_in,
        )

    # ------------------------------------------------------------------ what is written

    def keep(self, batch: OwnWordsChunk, answer: Extraction, usage: TokenUsage) -> None:
        """Store the memories of a chunk together with the new watermark.

        Raises:
            Overtaken: The watermark moved, the agent left, or an erasure began; nothing is stored.
            TooMuch: The writes exceed one transaction; nothing is stored.
        """
        target, membership = batch.target, batch.target.membership
        record = self._record(batch, usage, kept=KeptCounts(own_words=len(answer.entries)))
        memories = [self._memory(batch, entry.text) for entry in answer.entries]

        def attempt() -> None:
            found = self.table.get_many([membership.key, record.key])
            if record.key in found:
                return  # an earlier attempt had an unknown outcome, and has stored the memories
            fresh = _still_at(batch, Membership.read(found, membership.key))
            change = {"own_words_seq": batch.chunk.position.seq, "consolidation_failures": 0}
            watermark = Update(fresh.key, set=change, condition=_unmoved(fresh))
            made = [Put(memory.key, memory.to_item(), Missing()) for memory in memories]
            commit_chunk(self.table, target.chat, watermark, record, made)

        optimistic(self.clock, attempt, finds_own_write=True)
        self.metrics.count("MemoriesMade", len(memories))

    def fail(self, batch: OwnWordsChunk, failure: Failure) -> None:
        """Record a failed chunk and the time of its retry; keep the watermark.

        Raises:
            Overtaken: The watermark moved, or the agent left; nothing is recorded.
        """
        key, now = batch.target.membership.key, self.clock.now()
        record = self._record(batch, failure.usage, failure=failure.why)

        def attempt() -> int:
            fresh = _still_at(batch, Membership.read(self.table, key))
            return commit_failure(self.table, fresh, _unmoved(fresh), record, now)

        count_stuck(self.metrics, optimistic(self.clock, attempt))

    def _pass_over(self, membership: Membership, since: int, until: int) -> None:
        """Move the watermark past messages that no rule may share."""

        def attempt() -> None:
            fresh = Membership.read(self.table, membership.key)
            if fresh is not None and fresh.active and fresh.own_words_read == since:
                moved = {"own_words_seq": until}
                self.table.write(Update(fresh.key, set=moved, condition=_unmoved(fresh)))

        optimistic(self.clock, attempt)

    def _memory(self, batch: OwnWordsChunk, text: str) -> OwnWordsMemory:
        chat = batch.target.chat
        return OwnWordsMemory(
            tenant=chat.tenant,
            agent_id=batch.target.agent.id,
            scope=scope_of(chat),
            id=f"own_{self.ids.ulid()}",
            text=text,
            audience=audience_of(chat, since_seq=batch.chunk.from_seq),
            authors=batch.chunk.words,
            made_from=batch.made_from,
            source_chat_id=chat.id,
            created_at=self.clock.now(),
        )

    def _record(
        self, batch: OwnWordsChunk, usage: TokenUsage, **fields: object
    ) -> ConsolidationRecord:
        values = {"id": f"con_{self.ids.ulid()}", "usage": usage, "at": self.clock.now()}
        return record_of(batch.target, batch.chunk, **values | fields)


def extraction_in(answer: ModelAnswer) -> Extraction:
    """Parse the memories in an answer. A long memory is cut to the size of a recall passage.

    Raises:
        TooMuch: The answer was cut off, or has more than 20 memories.
        UnusableAnswer: The answer could not be parsed.
    """
    given = (json_object_in(answer.text, {"memories"}) or {}).get("memories")
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        if answer.fault == "cut_off":
            raise TooMuch("the answer was cut off")
        raise UnusableAnswer("the answer could not be parsed")
    texts = [well_formed(each).strip()[:PASSAGE].strip() for each in given]
    kept = tuple(dict.fromkeys(text for text in texts if any(map(str.isalnum, text))))
    if len(kept) > MAX_MEMORIES:
        raise TooMuch(f"the answer has {len(kept)} memories")
    return Extraction([MemoryDraft("core", text) for text in kept], NO_AUTHORS)


def _still_at(batch: OwnWordsChunk, fresh: Membership | None) -> Membership:
    """Check that a membership, read again, still has the chunk's watermark; return the membership.

    Raises:
        Overtaken: The watermark moved, or the agent left.
    """
    if fresh is None or not fresh.active or fresh.own_words_read != batch.since:
        raise Overtaken(str(batch.target.membership.key))
    return fresh


def _unmoved(membership: Membership) -> Condition:
    """Return the condition that the agent is still a member and its watermark has not moved."""
    return all_of(
        Is("own_words_seq", membership.own_words_seq or None),
        Is("joined_seq", membership.joined_seq),
        Absent("left_seq"),
        Is("chat_id", membership.chat_id),
    )
