"""Consolidation: a background task that makes memories from a chat's new messages.

The task handles a chat's agents one after another. For each agent, it splits the messages after the
agent's watermark into chunks, and asks the model one question about each chunk. In a group with
many agents, agents with the same watermark share one question, so that the cost does not grow with
the number of agents. If a chunk fails, the watermark stays before this chunk.

A lease ensures that only one worker at a time consolidates a chat. The lease ends with the worker's
invocation. If time runs out, the worker sends a new job for the rest. Until every agent is done,
the chat has a due pointer. By this pointer, the tick (for direct chats) or the hourly finder (for
groups) starts the task again.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, NamedTuple

from skein.memory.chunk_commit import ChunkCommitter, position_of
from skein.memory.chunking import Chunk, HistoryPosition, chunks, halves
from skein.memory.extraction import (
    ANSWER_TOKENS,
    MODEL_SECONDS,
    Extraction,
    KnownMemories,
    question,
)
from skein.memory.models.memory import Memory
from skein.memory.own_words import OwnWordsChunk, OwnWordsConsolidation
from skein.memory.shown import core_in_budget, journal_in_budget, newest_first
from skein.memory.store import active_plans, searchable_memories
from skein.memory.transcript import AgentChunk, ConsolidationTarget, TimeZones, joins_of
from skein.memory.writes import normalised
from skein.models.chats.chat import Chat, Message
from skein.models.chats.consolidation import Consolidation
from skein.models.chats.membership import Membership
from skein.models.common.base import rfc3339
from skein.models.common.storage import Is, Present, Query, Update, all_of
from skein.models.outbox.jobs import ConsolidationJob
from skein.models.runs.completion import TokenUsage
from skein.models.visibility.audience import NOBODY
from skein.ports import Clock, Table
from skein.recall.sweep import RecallSweep
from skein.services.background.engine import Failure, Outcome, Overtaken, Question, Task
from skein.services.chat_state.snapshot import ChatSnapshot, read_agent, read_snapshot
from skein.services.chats.consolidation_schedule import (
    MAX_FAILURES,
    agents_without,
    due_change,
    has_new,
    has_own_words,
    idle_at,
    next_consolidation,
    next_due_time,
    retry_at,
    wanted,
)
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import pages
from skein.services.common.text_search import EmbeddingCache, closest
from skein.services.common.token_cache import RememberedTokens
from skein.services.outbox.dispatch import Dispatch
from skein.settings import Settings

MESSAGES_PER_PAGE = 100
MAX_ALONE = 3  # agents of a chat that are asked one by one; more agents share one question
MAX_CLOSE = 20  # memories that are shown because they are similar to messages of the chunk


Batch = AgentChunk | OwnWordsChunk


class ConsolidationClaim(NamedTuple):
    """The lease on the consolidation of a chat.

    Attributes:
        job: The job of the task.
        snapshot: The chat and its members when it was claimed.
        idle: Whether the chat is quiet, so that all its messages may be consolidated.
        without: The ids of agents that consolidate the chat only if an operator requests it.
        requested_seq: The last message that an operator has requested to consolidate, if any.
        fence: The fencing token of the claim.
    """

    job: ConsolidationJob
    snapshot: ChatSnapshot
    idle: bool
    without: frozenset[str]
    requested_seq: int | None
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationTask(Task[ConsolidationJob, ConsolidationClaim, Batch, Extraction]):
    """Background task that consolidates a chat for each of its agents.

    Consolidation runs if the chat is quiet or an operator requested it. Otherwise, the task only
    sets when the chat is due again. If the tenant is over its budget, the remaining messages wait
    until the next day. While background work is paused, they wait for an hour. At the end, if the
    chat is quiet, the recall sweep checks whether the index lacks messages of the chat.
    """

    name: ClassVar[str] = "consolidation"
    failures: ClassVar[str] = "ConsolidationsFailed"
    seconds: ClassVar[int] = MODEL_SECONDS
    answer_tokens: ClassVar[int] = ANSWER_TOKENS

    table: Table
    clock: Clock
    dispatch: Dispatch
    tokens: RememberedTokens
    meanings: EmbeddingCache
    committer: ChunkCommitter
    own_words: OwnWordsConsolidation
    recall_sweep: RecallSweep
    settings: Settings

    # ------------------------------------------------------------------ what is due

    def claim(self, job: ConsolidationJob, until: datetime) -> ConsolidationClaim | None:
        """Claim the chat; it becomes due again when the lease ends, in case this worker dies."""
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        consolidation = Consolidation.read(
            self.table, Consolidation.key_of(job.tenant, job.chat_id)
        )
        now = self.clock.now()
        if consolidation is None or snapshot.chat.consolidation_at is None:
            return None
        if consolidation.busy(now):
            return None
        claimed = consolidation.claimed(until)
        again = claimed.due(max(next_due_time(snapshot.chat, now), until))
        change = {"fence": claimed.fence, "busy_until": rfc3339(until)} | again
        unclaimed = all_of(consolidation.as_claimed, Present("gsi2sk"))
        self.table.write(Update(consolidation.key, set=change, condition=unclaimed))
        return ConsolidationClaim(
            job,
            snapshot,
            idle=idle_at(snapshot.chat, self.settings) <= now,
            without=agents_without(self.table, snapshot, self.settings),
            requested_seq=consolidation.requested_seq,
            fence=claimed.fence,
        )

    # ------------------------------------------------------------------ what is read

    def read(self, claim: ConsolidationClaim) -> Iterator[Iterator[Batch]]:
        """Read the new messages of each agent in chunks, as one series per agent.

        In a direct chat with a person to whom sharing rules apply, chunks with only the person's
        own words follow in the same series.

        An agent whose retry is not due yet is left out, unless an operator requested the
        consolidation. If the person of the chat has opted out of SMS, all agents are left out.
        """
        chat = claim.snapshot.chat
        if chat.discarded_at is not None:
            return
        for agents, until in _together(chat, list(self._due(claim))):
            series = self._series(claim, agents, until)
            if chat.kind == "direct" and chat.sharing is not None:
                yield self._with_own_words(claim, agents[0], series)
            else:
                yield series

    def _with_own_words(
        self, claim: ConsolidationClaim, agent: Membership, series: Iterator[AgentChunk]
    ) -> Iterator[Batch]:
        chat = claim.snapshot.chat
        if has_new(chat, agent) or wanted(agent, claim.requested_seq):
            yield from series
        if claim.idle:
            yield from self.own_words.chunks(chat, agent)

    def _due(self, claim: ConsolidationClaim) -> Iterator[tuple[Membership, int]]:
        """Yield each agent with messages to consolidate, and the `seq` of the last of them."""
        chat, now = claim.snapshot.chat, self.clock.now()
        for agent in sorted(claim.snapshot.agents, key=lambda agent: agent.member.id):
            waits = claim.snapshot.opted_out or agent.member.id in claim.without
            new = not waits and (has_new(chat, agent) or has_own_words(chat, agent))
            requested = wanted(agent, claim.requested_seq)
            if claim.idle and new and (requested or (retry_at(agent) or now) <= now):
                yield agent, chat.last_seq
            elif requested and claim.requested_seq is not None:
                yield agent, claim.requested_seq

    def _series(
        self, claim: ConsolidationClaim, members: Sequence[Membership], until: int
    ) -> Iterator[AgentChunk]:
        """Yield the chunks, up to message `until`, about which the model must be asked.

        The watermark is moved, without asking the model, past messages with nothing new (`has_new`)
        and past chunks for which none of the chat's current people were present.

        Args:
            claim: The lease.
            members: The memberships of agents with the same watermark, which share one question.
            until: The `seq` of the last message.
        """
        at, targets = position_of(members[0]), self._targets(claim, members, until)
        if not targets:
            return
        target, others = targets[0], tuple(targets[1:])
        for chunk in self._chunks(target, at, until):
            batch = AgentChunk(target, at, chunk, target.owner(chunk), others)
            if batch.owner.audience == NOBODY:
                self._keep(batch, None, TokenUsage())
            else:
                yield batch
            at = chunk.position
        if at.seq < until:
            for each in targets:
                self.committer.pass_over(each.membership, at, HistoryPosition(until))

    def _targets(
        self, claim: ConsolidationClaim, members: Sequence[Membership], until: int
    ) -> list[ConsolidationTarget]:
        """Return the agents for which to ask the model; for others, only move the watermark."""
        chat, targets = claim.snapshot.chat, list[ConsolidationTarget]()
        for membership in members:
            agent = read_agent(self.table, chat.tenant, membership.member.id)
            if agent is None or not has_new(chat, membership):
                at = position_of(membership)
                self.committer.pass_over(membership, at, HistoryPosition(until))
                continue
            zones = TimeZones(self.table, agent)
            shared = len(members) > 1
            targets.append(ConsolidationTarget(chat, agent, membership, zones, shared))
        return targets

    def _chunks(
        self, target: ConsolidationTarget, since: HistoryPosition, until: int
    ) -> Iterator[Chunk]:
        longest = self.settings.consolidation_chunk_tokens
        names = target.names()
        halvings = max(target.membership.consolidation_failures - MAX_FAILURES + 1, 0)
        return chunks(
            self._messages(target, since, until),
            since=since,
            until=until,
            measure=lambda *part: self.tokens.count(f"{target.line(names, *part)}\n"),
            limit=max(longest >> halvings, 1),
            longest=longest,
            joins=joins_of(target.chat),
        )

    def _messages(
        self, target: ConsolidationTarget, since: HistoryPosition, until: int
    ) -> Iterator[Message]:
        """Yield the messages of people and agents that have text or media, reading page by page.

        Memories are shown in other chats. Messages that may repeat words shown by a sharing rule
        are therefore left out.
        """
        chat = target.chat
        first = Message.key_of(chat.tenant, chat.id, since.seq + 1).sk
        last = Message.key_of(chat.tenant, chat.id, until).sk
        for items in pages(
            lambda start: self.table.query(
                Query(chat.key.pk, first=first, last=last, limit=MESSAGES_PER_PAGE, start=start)
            )
        ):
            messages = [chat.as_now(each) for each in Message.each_of(items)]
            texts = [
                message
                for message in messages
                if message.conversational
                and not message.words.by_rule
                and (message.text or message.media)
            ]
            target.zones.learn(texts)
            yield from texts

    # ------------------------------------------------------------------ what is asked

    def question(self, claim: ConsolidationClaim, batch: Batch) -> Question[Extraction]:
        """Return the question that asks which memories and profile values to make from a chunk."""
        if isinstance(batch, OwnWordsChunk):
            return self.own_words.question(batch)
        now = self.clock.now()
        known = [
            memory
            for each in batch.each
            for memory in searchable_memories(self.table, each.reach(), now=now)
            if each.may_hold(memory)
        ]
        # Agents that share questions have memories with the same words. Each text is shown once.
        live = list({(memory.kind, normalised(memory.text)): memory for memory in known}.values())
        fitting = core_in_budget(live, self.tokens) + journal_in_budget(live, self.tokens)
        shown = KnownMemories.of(fitting, self._close_to(batch.chunk, live))
        plans = [
            plan
            for plan in active_plans(self.table, batch.reach())
            if batch.may_hold(plan) and plan.made_from.span_in(batch.target.chat.id) is not None
        ]
        return question(batch, shown, plans, default_model=self.settings.default_model)

    def _close_to(self, chunk: Chunk, live: Sequence[Memory]) -> list[Memory]:
        """Return the memories that the messages of a chunk may repeat or contradict."""
        newest = newest_first(live)
        spoken = [
            f"{piece.message.sender.name}: {piece.message.text[piece.start : piece.end]}"
            for piece in chunk.pieces
        ]
        texts = [memory.text for memory in newest]
        return [newest[at] for at in closest(texts, spoken, MAX_CLOSE, self.meanings)]

    def halves(self, batch: Batch) -> Sequence[Batch]:
        """Split a chunk from which too many memories were made; empty if it cannot be split."""
        if isinstance(batch, OwnWordsChunk):
            return batch.halves
        parts = halves(batch.chunk)
        if parts is None:
            return ()
        first, second = (batch._replace(chunk=chunk) for chunk in parts)
        return first, second._replace(since=first.chunk.position)

    # ------------------------------------------------------------------ what is written

    def write(
        self, claim: ConsolidationClaim, batch: Batch, answer: Extraction, usage: TokenUsage
    ) -> None:
        if isinstance(batch, OwnWordsChunk):
            self.own_words.keep(batch, answer, usage)
        else:
            self._keep(batch, answer, usage)

    def _keep(self, batch: AgentChunk, answer: Extraction | None, usage: TokenUsage) -> None:
        """Store the results of a chunk for each agent; only the first record counts the tokens.

        If another worker has overtaken one of the agents, nothing is stored for this agent.

        Raises:
            Overtaken: All agents were overtaken.
        """
        overtaken: Overtaken | None = None
        kept = 0
        for each in batch.each:
            try:
                self.committer.keep(each, answer, TokenUsage() if kept else usage)
                kept += 1
            except Overtaken as error:
                overtaken = error
        if not kept and overtaken is not None:
            raise overtaken

    def fail(self, claim: ConsolidationClaim, batch: Batch, failure: Failure) -> None:
        """Record the failed chunk and the time of its retry; keep the watermark."""
        if isinstance(batch, OwnWordsChunk):
            self.own_words.fail(batch, failure)
            return
        for each in batch.each:
            self.committer.fail(each, failure)

    def release(self, claim: ConsolidationClaim, outcome: Outcome) -> None:
        """Release the lease, and make the chat due again if messages are left."""
        optimistic(self.clock, lambda: self._settle(claim, outcome))
        if claim.idle and not outcome.out_of_time:
            self.recall_sweep.check(claim.snapshot.chat, claim.snapshot.members)

    def _settle(self, claim: ConsolidationClaim, outcome: Outcome) -> None:
        """Release the lease, and set when the chat is due next.

        If no messages are left, the due pointer is cleared. If time ran out, or an operator
        requested more messages meanwhile, a new job is sent at once. If that job is lost, the tick
        or the finder sends another one by the due pointer.

        Raises:
            Overtaken: Another worker has claimed the chat; nothing is changed.
        """
        job = claim.job
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        chat, now = snapshot.chat, self.clock.now()
        held = Consolidation.read(self.table, Consolidation.key_of(job.tenant, job.chat_id))
        if held is None or held.fence != claim.fence:
            raise Overtaken(str(chat.key))
        unmet = any(wanted(agent, held.requested_seq) for agent in snapshot.agents)
        requested = held.requested_seq if unmet and chat.discarded_at is None else None
        at = next_consolidation(
            snapshot,
            requested_seq=requested,
            now=now,
            settings=self.settings,
            without=claim.without,
        )
        more = outcome.out_of_time or requested not in {None, claim.requested_seq}
        again = more and outcome.not_before is None and at is not None and at <= now
        if at is not None:
            at = max(at, outcome.not_before or at, next_due_time(chat, now))
        unchanged = all_of(held.as_claimed, Is("requested_seq", held.requested_seq))
        due = due_change(chat, at, condition=unchanged)
        released = {"busy_until": None, "requested_seq": requested}
        change = due.change | {"version": chat.version + 1}
        self.table.transact(
            [
                Update(chat.key, set=change, condition=Is("version", chat.version)),
                replace(due.write, set={**due.write.set, **released}),
            ]
        )
        if again:
            self.dispatch.send([job])


def _together(
    chat: Chat, due: Sequence[tuple[Membership, int]]
) -> list[tuple[list[Membership], int]]:
    """Group the due agents that share a question, each group with the last `seq` to consolidate.

    In a group chat with many due agents, agents with the same watermark and the same number of
    failures share a question, because they read the same chunks.
    """
    if chat.kind != "group" or len(due) <= MAX_ALONE:
        return [([agent], until) for agent, until in due]
    groups = defaultdict[tuple[HistoryPosition, int, int], list[Membership]](list)
    for agent, until in due:
        groups[position_of(agent), agent.consolidation_failures, until].append(agent)
    return [(agents, until) for (_, _, until), agents in groups.items()]
