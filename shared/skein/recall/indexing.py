"""Index of recall: bring the passages of a range of messages up to date.

The passages are a pure function of the chat's current messages and the agents' memberships.
Therefore, a job may arrive twice, late or out of order, and a rebuild needs only the chat. Passages
are read before the messages, and their write is conditional on their version. After the write, the
messages are read again: if one has changed meanwhile, the range is indexed again, so that stale
passages never remain. At the end of a job, the memberships and the chat are read again. If an agent
has left or the chat was discarded during the job, the job is repeated.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from math import ceil

from skein.errors import ConditionFailed, NotFound
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.embedding import Embedding
from skein.models.common.storage import HIGHEST_KEY, Query
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import MAX_DELAY_SECONDS, RecallJob
from skein.models.quotas.usage import Payer, Words
from skein.models.runs.completion import TokenUsage
from skein.ports import Clock, Embeddings, Table, Vocabulary
from skein.recall.models.stored import RecallPassage, author_of, recall_partition
from skein.recall.own_words import (
    MemorySources,
    memory_passages,
    own_words_memories,
    with_sources,
)
from skein.recall.passage_commit import PassageChange, PassageCommits, Passages, alike
from skein.recall.passages import MAX_VECTORS, passages_of
from skein.recall.rare_words import rare_stems
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import read_items
from skein.services.common.words import stems_of
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import UsageCounters
from skein.services.visibility.audience import everybody_since, scope_of
from skein.services.visibility.sharing_reads import read_covered
from skein.services.visibility.sharing_rules import AuthorRules, SaidMessage, pause_in
from skein.settings import Settings

MARGIN = timedelta(seconds=30)  # before the deadline, to finish the current messages
CHUNK = 96  # messages in one read
CHARACTERS_PER_TOKEN = 4  # estimate for embeddings

Indexed = Mapping[int, Passages]
"""The stored passages of messages by number."""


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """An agent in a chat. The agent's index holds the messages for which the agent was present.

    Attributes:
        membership: The agent's current or former membership; None if the agent never was a member.
        covered: The sharing rules and the person to whom they may apply, or None.
    """

    chat: Chat
    agent_id: str
    membership: Membership | None
    covered: AuthorRules | None = None

    def shared_partitions(self, message: Message) -> tuple[str, ...]:
        """Return the partitions in which sharing rules let other people find a message.

        See `telling`.
        """
        if self.covered is None:
            return ()
        return self.covered.partitions(self.chat, [SaidMessage.of(message)], self.agent_id)

    def holds(self, message: Message) -> bool:
        """Return whether the agent was present for a message."""
        member = self.membership
        if member is None:
            return False
        left_seq = message.seq if member.left_seq is None else member.left_seq
        return member.joined_seq < message.seq <= left_seq


def findable_messages(table: Table, chat: Chat, seqs: range) -> list[Message]:
    """Read the messages of a range that recall can find, in order.

    Recall finds texts and descriptions of files. It does not find notices, keywords such as STOP,
    resets or erased messages.
    """
    first, last = (Message.key_of(chat.tenant, chat.id, seq) for seq in (seqs.start, seqs.stop - 1))
    page = table.query(Query(first.pk, first=first.sk, last=last.sk))
    messages = (chat.as_now(each) for each in Message.each_of(page.items))
    return [
        message
        for message in messages
        if message.conversational and message.full_text and not message.resets
    ]


def stored_passages(table: Table, chat: Chat, agent_id: str, seqs: range) -> Indexed:
    """Read an agent's passages of a range of messages."""
    first = RecallPassage.key_of(chat.tenant, chat.id, agent_id, seqs.start)
    last = RecallPassage.key_of(chat.tenant, chat.id, agent_id, seqs.stop - 1)
    page = table.query(Query(first.pk, first=first.sk, last=f"{last.sk[:-2]}{HIGHEST_KEY}"))
    found: dict[int, list[RecallPassage]] = defaultdict(list)
    for passage in RecallPassage.each_of(page.items):
        found[passage.seq].append(passage)
    return {seq: tuple(passages) for seq, passages in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallIndexing:
    """Worker that indexes messages for recall."""

    table: Table
    clock: Clock
    embeddings: Embeddings
    vocabulary: Vocabulary
    dispatch: Dispatch
    commits: PassageCommits
    usage: UsageCounters
    settings: Settings

    def index(self, job: RecallJob, *, deadline: datetime) -> None:
        """Index a range of a chat's messages until 30 seconds before the deadline (idempotent).

        A new job continues with the rest of the range. The same job is sent again if, in the
        meantime, a membership or the chat's scope has changed or the chat was discarded. If an
        agent's first passage has a vector of an earlier embeddings model, a job for the whole chat
        is sent, too. A deleted agent's passages in the range are removed from the index.

        Raises:
            Transient: The table or the queue failed. The job can be repeated.
            ValueError: The job does not name a chat.
        """
        if job.chat_id is None:
            raise ValueError("the job names no chat")
        try:
            snapshot = read_snapshot(self.table, job.tenant, job.chat_id, closed=True)
        except NotFound:
            return
        agents = self._agents(snapshot, job.agent_id)
        if not agents:
            return
        last_seq = min(job.last_seq or snapshot.chat.last_seq, snapshot.chat.last_seq)
        job = job.model_copy(update={"first_seq": _first_seq(job, snapshot.chat)})
        of_another_model = self._begins_with_another_model(snapshot.chat, agents)
        for start in range(max(job.first_seq, 1), last_seq + 1, CHUNK):
            if self.clock.now() + MARGIN >= deadline:
                rest = job.model_copy(update={"first_seq": start})
                self.dispatch.send_surely([job if self._is_outdated(snapshot, agents) else rest])
                return
            seqs = range(start, min(start + CHUNK, last_seq + 1))
            optimistic(self.clock, partial(self._index_chunk, snapshot, agents, seqs))
        if self._is_outdated(snapshot, agents):
            self.dispatch.send_surely([job])
        self._again_when_quiet(job, snapshot.chat, last_seq)
        # A job without an end started at the first message, so it does not need another job.
        if job.last_seq is not None and of_another_model:
            self.dispatch.send_surely([RecallJob(tenant=job.tenant, chat_id=job.chat_id)])

    def _again_when_quiet(self, job: RecallJob, chat: Chat, last_seq: int) -> None:
        """If sharing rules apply, send a job that indexes the newest conversation after it ends.

        If this job is lost, the first message of the next conversation has the same effect
        (`_first_seq`).
        """
        if chat.sharing is None or last_seq < chat.last_seq:
            return
        left = chat.sharing.quiet_at(pause_in(chat, self.settings)) - self.clock.now()
        if left > timedelta():
            talk = job.model_copy(
                update={"first_seq": chat.sharing.talk_from, "last_seq": last_seq}
            )
            delay = min(ceil(left.total_seconds()), MAX_DELAY_SECONDS)
            self.dispatch.send([talk], delay_seconds=delay)

    def _is_outdated(self, snapshot: ChatSnapshot, agents: Mapping[str, Membership | None]) -> bool:
        """Return whether the memberships or the scope from which passages were made have changed.

        An agent that was deleted meanwhile counts as a change, too. If something changes after this
        check, the change feed sends a job, which then finds the passages that were written here.
        """
        chat = snapshot.chat
        current = read_snapshot(self.table, chat.tenant, chat.id, closed=True)
        if _basis(snapshot, agents) != _basis(current, agents):
            return True
        indexed = [agent_id for agent_id, member in agents.items() if member is not None]
        return bool(self._deleted(chat, indexed))

    def _begins_with_another_model(
        self, chat: Chat, agents: Mapping[str, Membership | None]
    ) -> bool:
        """Return whether an agent's first passage has a vector of a former embeddings model."""
        partition = chat_partition(chat.tenant, chat.id)
        for agent_id, member in agents.items():
            if member is not None:
                prefix = RecallPassage.prefix_of(agent_id)
                page = self.table.query(Query.under(partition, prefix, limit=1))
                if any(item["recall_model"] != self.embeddings.name for item in page.items):
                    return True
        return False

    def _agents(self, snapshot: ChatSnapshot, agent_id: str | None) -> dict[str, Membership | None]:
        """Return the agents for which to index, each with its current or former membership.

        An agent without a membership may still have passages, which must be deleted. A deleted
        agent counts as one without a membership.
        """
        chat = snapshot.chat
        agents: dict[str, Membership | None] = {
            member.member.id: member
            for member in snapshot.members
            if member.member.kind == "agent" and agent_id in {None, member.member.id}
        }
        if agent_id is not None and not agents:
            prefix = RecallPassage.prefix_of(agent_id)
            partition = chat_partition(chat.tenant, chat.id)
            if self.table.query(Query.under(partition, prefix, limit=1)).items:
                agents[agent_id] = None
        deleted = self._deleted(chat, agents)
        return {each: None if each in deleted else member for each, member in agents.items()}

    def _deleted(self, chat: Chat, agent_ids: Iterable[str]) -> set[str]:
        found = read_items(self.table, [Agent.key_of(chat.tenant, each) for each in agent_ids])
        return {agent.id for agent in Agent.read_each(found) if agent.deleted_at}

    def _index_chunk(
        self, snapshot: ChatSnapshot, agents: Mapping[str, Membership | None], seqs: range
    ) -> None:
        """Index a range for all agents; `optimistic` calls this again after a conflict."""
        chat, now = snapshot.chat, self.clock.now()
        covered = read_covered(self.table, chat, now, self.settings)
        # The order of the readings matters (see the module).
        stored = {each: stored_passages(self.table, chat, each, seqs) for each in agents}
        messages = self._messages(chat, seqs)
        memories = self._memories(chat, agents, seqs, covered)
        written = 0
        for agent_id, membership in agents.items():
            target, old = IndexTarget(chat, agent_id, membership, covered), stored[agent_id]
            new = self.passages(target, _of_messages(old), messages)
            noted = self._of_memories(target, old, memories[agent_id])
            changes = (
                PassageChange(old.get(seq, ()), _in_order(new.get(seq, ()), noted.get(seq, ())))
                for seq in sorted({*old, *new, *noted})
            )
            written += self.commits.commit(changes)
        if written and (messages, memories) != (
            self._messages(chat, seqs),
            self._memories(chat, agents, seqs, covered),
        ):
            raise ConditionFailed(frozenset())  # a message or a memory changed meanwhile

    def _messages(self, chat: Chat, seqs: range) -> list[Message]:
        if chat.discarded_at is not None:
            return []
        return findable_messages(self.table, chat, seqs)

    def _memories(
        self, chat: Chat, agents: Iterable[str], seqs: range, covered: AuthorRules | None
    ) -> dict[str, tuple[MemorySources, ...]]:
        """Read the memories of a person's own words, by agent; empty if no rules apply."""
        if covered is None or chat.discarded_at is not None:
            return dict.fromkeys(agents, ())
        memories = {each: [*own_words_memories(self.table, chat, each, seqs)] for each in agents}
        return {each: with_sources(self.table, chat, own) for each, own in memories.items()}

    def _of_memories(
        self, target: IndexTarget, stored: Indexed, memories: Sequence[MemorySources]
    ) -> dict[int, Passages]:
        """Return the passages of memories by last source message; reuse vectors of `stored`."""
        if target.covered is None or not memories:
            return {}
        present = [each.seen_by(target.holds) for each in memories]
        made = memory_passages(
            target.covered, target.chat, target.agent_id, present, self.embeddings.name
        )
        every = (each for passages in stored.values() for each in passages)
        vectors: dict[str | None, Embedding] = {
            each.memory_id: Embedding(each.vector, each.weight)
            for each in every
            if each.memory_id and each.recall_model == self.embeddings.name
        }
        wanted = {passage.memory_id for passages in made.values() for passage in passages}
        new = [each.memory for each in memories if each.memory.id in wanted - vectors.keys()]
        embedded = self.embeddings.embed([memory.text for memory in new]) if new else []
        self._charge(target, [(target.covered.author.id, len(memory.text)) for memory in new])
        vectors |= zip((memory.id for memory in new), embedded, strict=True)
        return {
            seq: tuple(_with_embedding(each, vectors[each.memory_id]) for each in passages)
            for seq, passages in made.items()
        }

    def passages(
        self, target: IndexTarget, stored: Indexed, messages: Sequence[Message]
    ) -> dict[int, Passages]:
        """Return the passages of all messages that the agent's index should hold.

        Stored passages of an unchanged message are reused, so that its text is not embedded again.
        """
        made: dict[int, Passages] = {}
        new: list[Message] = []
        for message in messages:
            if not target.holds(message):
                continue
            known, wanted = stored.get(message.seq, ()), self._of_message(target, message)
            if alike(known, wanted):
                made[message.seq] = known
            elif alike(_own(known), _own(wanted)):  # only the copies for other people change
                vectors = {each.part: each for each in _own(known)}
                made[message.seq] = tuple(_with_vector_of(vectors[one.part], one) for one in wanted)
            else:
                made[message.seq] = wanted
                new.append(message)
        texts = [text for message in new for text in _embedded_texts(message)]
        embedded = iter(self.embeddings.embed(texts) if texts else [])
        self._charge(target, [(message.payer, len(message.full_text)) for message in new])
        for message in new:
            parts = [next(embedded) for _ in _embedded_texts(message)]
            made[message.seq] = tuple(
                _with_embedding(passage, parts[passage.part]) for passage in made[message.seq]
            )
        return made

    def _charge(self, target: IndexTarget, embedded: Collection[tuple[str | None, int]]) -> None:
        """Charge the estimated tokens of a provider's embeddings to the people who wrote the texts.

        Args:
            embedded: For each text, the id of the person to charge, and the length in characters.
        """
        model = self.settings.embeddings_model
        if not model or not embedded:
            return
        characters = sum(length for _, length in embedded)
        self.usage.add(
            target.chat.tenant,
            TokenUsage(input_tokens=ceil(characters / CHARACTERS_PER_TOKEN)),
            spread_by=target.chat.id,
            model=model,
            payer=Payer(target.agent_id),
            background=True,
            words=Words.of(embedded),
        )

    def _of_message(self, target: IndexTarget, message: Message) -> Passages:
        """Return the passages of a message, still without embeddings."""
        chat, scope, texts = target.chat, scope_of(target.chat), _embedded_texts(message)
        since = everybody_since(chat) if scope is not None else 1
        answers = message.sender.kind == "agent" and len(texts) > 1
        posted = rare_stems(message.full_text, self.vocabulary)
        passages = tuple(
            RecallPassage(
                tenant=chat.tenant,
                chat_id=chat.id,
                agent_id=target.agent_id,
                seq=message.seq,
                part=part,
                parts=len(texts),
                scope=scope,
                recall_scope=recall_partition(
                    chat.tenant,
                    target.agent_id,
                    scope,
                    since=since if message.seq >= since else 1,
                    answers=answers,
                ),
                recall_model=self.embeddings.name,
                recall_author=author_of(message.sender),
                recall_month=f"{message.created_at.astimezone(UTC):%Y-%m}",
                weight=0.0,
                name=message.sender.name,
                stems=stems_of(text),
                posted=() if part else posted,
                characters=len(message.full_text),
                created_at=int(message.created_at.timestamp()),
                expires_at=message.expires_at,
            )
            for part, text in enumerate(texts)
        )
        partitions = target.shared_partitions(message)
        return (*passages, *(each.copied_to(one) for each in passages for one in partitions))


def _first_seq(job: RecallJob, chat: Chat) -> int:
    """Return the first message to index.

    If the job includes the first message of a new conversation, the previous conversation is also
    indexed again, because a sharing rule may now share that conversation with others.
    """
    sharing = chat.sharing
    if sharing is None or not sharing.before or job.first_seq < sharing.before:
        return job.first_seq
    begins = job.first_seq <= sharing.talk_from <= (job.last_seq or chat.last_seq)
    return sharing.before if begins else job.first_seq


def _embedded_texts(message: Message) -> list[str]:
    """Return the texts of the passages that get vectors: the first `MAX_VECTORS` of a message."""
    return [passage.text for passage in passages_of(message.full_text)[:MAX_VECTORS]]


def _of_messages(stored: Indexed) -> Indexed:
    return {seq: tuple(each for each in one if not each.memory_id) for seq, one in stored.items()}


def _in_order(*passages: Passages) -> Passages:
    """Return all passages of one message, in the order of their keys."""
    return tuple(sorted((each for one in passages for each in one), key=lambda each: each.key.sk))


def _own(passages: Passages) -> Passages:
    """Return the passages without the copies that sharing rules may show to other people."""
    return tuple(passage for passage in passages if not passage.by_rule)


def _with_vector_of(known: RecallPassage, passage: RecallPassage) -> RecallPassage:
    return passage.model_copy(update={"vector": known.vector, "weight": known.weight})


def _with_embedding(passage: RecallPassage, embedding: Embedding) -> RecallPassage:
    return passage.model_copy(update={"vector": embedding.vector, "weight": embedding.weight})


def _basis(snapshot: ChatSnapshot, agents: Collection[str]) -> object:
    """Return everything that the agents' passages depend on, except the messages."""
    chat = snapshot.chat
    presence = {
        (member.member.id, member.joined_seq, member.left_seq)
        for member in snapshot.members
        if member.member.kind == "agent" and member.member.id in agents
    }
    kept = (chat.sharing.kept, chat.sharing.private) if chat.sharing is not None else None
    return scope_of(chat), everybody_since(chat), chat.discarded_at, presence, kept
