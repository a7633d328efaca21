"""Index of recall: bring the blocks of a range of messages up to date.

The blocks are a pure function of the chat's current messages and the agents' memberships. So a job
may come twice, late or out of order, and a rebuild needs only the chat. Blocks are read before the
messages, and their write is conditional on their version. So an older reading of the messages never
replaces the result of a newer one. At the end of a job, the memberships and the chat are read
again. If an agent has left or the chat was discarded during the job, the job is repeated.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.embedding import Embedding
from skein.models.common.ownership import owned_partition
from skein.models.common.storage import Item, Key, Query
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import RecallJob
from skein.models.quotas.usage import Payer, Words
from skein.models.runs.completion import TokenUsage
from skein.ports import Clock, Embeddings, Table, Vocabulary
from skein.recall.block_commit import BlockChange, BlockCommits, with_lines
from skein.recall.models.block import BLOCK_MESSAGES, BlockLine, IndexedText, block_number, line_of
from skein.recall.models.stored import RecallBlock
from skein.recall.rare_words import rare_stems
from skein.recall.words import stems_of
from skein.services.chat_state.audience import scope_of
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import known_first, optimistic
from skein.services.common.pagination import read_items
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import UsageCounters
from skein.settings import Settings

MARGIN = timedelta(seconds=30)  # before the deadline, to finish the current blocks
MAX_BLOCKS = 12  # of one agent in one read of messages
MAX_KEYS = 100  # blocks of all agents in one read
CHARACTERS_PER_TOKEN = 4  # of a text for embeddings, about
MAX_STEMS = 500  # of a message; a longer one is found by its first words and its rare words

NO_EMBEDDING = Embedding((), 0.0)


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """The blocks of some agents, and the messages of these blocks, read after them.

    Attributes:
        blocks: The stored blocks by key.
        messages: The messages with text in order, with the current ids and names of their senders.
    """

    blocks: Mapping[Key, Item]
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class BlockTarget:
    """An agent in a chat, whose blocks hold the messages that it was present for.

    Attributes:
        membership: The open or closed membership; None if the agent never was a member.
    """

    chat: Chat
    agent_id: str
    membership: Membership | None

    def holds(self, message: Message) -> bool:
        """Tell whether the agent was present for a message."""
        member = self.membership
        if member is None:
            return False
        left_seq = message.seq if member.left_seq is None else member.left_seq
        return member.joined_seq < message.seq <= left_seq

    def stored(self, reading: ChunkReading, number: int) -> RecallBlock | None:
        """Return a block as it was read; None if there is none."""
        key = RecallBlock.key_of(self.chat.tenant, self.chat.id, self.agent_id, number)
        item = reading.blocks.get(key)
        return RecallBlock.from_item(item) if item else None


def messages_of_blocks(table: Table, chat: Chat, numbers: range) -> list[Message]:
    """Read the messages of consecutive blocks that recall can find, in order.

    Only texts count: no notices, no keywords such as STOP, no resets, and nothing erased.
    """
    first, last = (
        Message.key_of(chat.tenant, chat.id, seq)
        for seq in (numbers.start * BLOCK_MESSAGES, numbers.stop * BLOCK_MESSAGES - 1)
    )
    page = table.query(Query(first.pk, first=first.sk, last=last.sk))
    messages = (chat.as_now(Message.from_item(item)) for item in page.items)
    return [
        message
        for message in messages
        if message.conversational and message.text.strip() and not message.resets
    ]


def _like(line: BlockLine | IndexedText) -> tuple[object, ...]:
    """Return the data of a line without the embedding, to compare two lines."""
    return (
        line.seq,
        line.sender_id,
        line.stems,
        line.created_at,
        line.characters,
        line.posted,
        line.expires_at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallIndexing:
    """Worker that indexes messages for recall."""

    table: Table
    clock: Clock
    embeddings: Embeddings
    vocabulary: Vocabulary
    dispatch: Dispatch
    commits: BlockCommits
    usage: UsageCounters
    settings: Settings

    def index(self, job: RecallJob, *, deadline: datetime) -> None:
        """Index a range of a chat's messages until 30 seconds before the deadline (idempotent).

        Another job continues with the rest of the range. If a membership or the chat's scope has
        changed or the chat was discarded meanwhile, the same job is sent again. If the chat's first
        block has vectors of another model, the embeddings were changed, and a job for the whole
        chat follows. Nothing is indexed for a deleted agent, and its blocks in the range are
        deleted.

        Raises:
            Transient: The table or the queue failed. The job can be repeated.
            ValueError: The job names no chat.
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
        first, last = block_number(max(job.first_seq, 1)), block_number(last_seq)
        step = max(1, min(MAX_BLOCKS, MAX_KEYS // len(agents) - 1))
        of_another_model = False
        for start in range(first, last + 1, step):
            if self.clock.now() + MARGIN >= deadline:
                rest = job.model_copy(update={"first_seq": max(start * BLOCK_MESSAGES, 1)})
                self.dispatch.send_surely([job if self._is_outdated(snapshot, agents) else rest])
                return
            reading = self._index_chunk(snapshot, agents, range(start, min(start + step, last + 1)))
            of_another_model |= self._begins_with_another_model(snapshot, agents, reading)
        if self._is_outdated(snapshot, agents):
            self.dispatch.send_surely([job])
        # A job without an end has begun at the first block, so it leads to no further job.
        if job.last_seq is not None and of_another_model:
            self.dispatch.send_surely([RecallJob(tenant=job.tenant, chat_id=job.chat_id)])

    def _is_outdated(self, snapshot: ChatSnapshot, agents: Mapping[str, Membership | None]) -> bool:
        """Tell whether memberships or scope have changed since blocks were written from them.

        An agent that was deleted meanwhile counts, too. If something changes after this check, the
        change feed sends a job, which then finds the blocks that were written here.
        """
        chat = snapshot.chat
        current = read_snapshot(self.table, chat.tenant, chat.id, closed=True)
        if _basis(snapshot, agents) != _basis(current, agents):
            return True
        indexed = [agent_id for agent_id, member in agents.items() if member is not None]
        return bool(self._deleted(chat, indexed))

    def _begins_with_another_model(
        self,
        snapshot: ChatSnapshot,
        agents: Mapping[str, Membership | None],
        reading: ChunkReading,
    ) -> bool:
        """Tell whether the first block of an agent had vectors of another model."""
        stored = map(reading.blocks.get, _first_blocks(snapshot.chat, agents))
        return any(item and item["recall_model"] != self.embeddings.name for item in stored)

    def _agents(self, snapshot: ChatSnapshot, agent_id: str | None) -> dict[str, Membership | None]:
        """Return the memberships, open or closed, of the agents to index for.

        An agent without a membership may still have blocks, which must be deleted. A deleted agent
        counts as one without a membership.
        """
        chat = snapshot.chat
        agents: dict[str, Membership | None] = {
            member.member.id: member
            for member in snapshot.members
            if member.member.kind == "agent" and agent_id in {None, member.member.id}
        }
        if agent_id is not None and not agents:
            prefix = RecallBlock.prefix_of(agent_id)
            partition = chat_partition(chat.tenant, chat.id)
            if self.table.query(Query.under(partition, prefix, limit=1)).items:
                agents[agent_id] = None
        deleted = self._deleted(chat, agents)
        return {each: None if each in deleted else member for each, member in agents.items()}

    def _deleted(self, chat: Chat, agent_ids: Iterable[str]) -> set[str]:
        """Return the agents that were deleted."""
        found = read_items(self.table, [Agent.key_of(chat.tenant, each) for each in agent_ids])
        return {agent.id for agent in map(Agent.from_item, found.values()) if agent.deleted_at}

    def _index_chunk(
        self, snapshot: ChatSnapshot, agents: Mapping[str, Membership | None], numbers: range
    ) -> ChunkReading:
        chat = snapshot.chat
        together = self._read(chat, list(agents), numbers, _first_blocks(chat, agents))
        for agent_id, membership in agents.items():
            target = BlockTarget(chat, agent_id, membership)
            read = known_first(together, partial(self._read, chat, [agent_id], numbers))
            optimistic(self.clock, partial(self._index_once, target, numbers, read))
        return together

    def _index_once(
        self, target: BlockTarget, numbers: range, read: Callable[[], ChunkReading]
    ) -> None:
        reading = read()
        stored = {number: target.stored(reading, number) for number in numbers}
        lines = self._lines(target, stored.values(), reading)
        names = {message.sender.id: message.sender.name for message in reading.messages}
        self.commits.commit(
            BlockChange(stored[number], self._block(target, number, lines, names))
            for number in numbers
        )

    def _read(
        self, chat: Chat, agent_ids: Sequence[str], numbers: range, others: Sequence[Key] = ()
    ) -> ChunkReading:
        """Read the blocks of some agents, then the messages; the order matters (see the module)."""
        keys = [
            RecallBlock.key_of(chat.tenant, chat.id, agent_id, number)
            for agent_id in agent_ids
            for number in numbers
        ]
        blocks = read_items(self.table, list(dict.fromkeys([*keys, *others])))
        if chat.discarded_at is not None:
            return ChunkReading(blocks, ())
        return ChunkReading(blocks, messages_of_blocks(self.table, chat, numbers))

    def _lines(
        self,
        target: BlockTarget,
        stored: Iterable[RecallBlock | None],
        reading: ChunkReading,
    ) -> list[BlockLine]:
        """Return the lines of all messages that the agent's blocks should hold.

        A stored line of the same message is used again, so its text is not embedded again.
        """
        known = {
            line.seq: line
            for block in stored
            if block is not None and block.recall_model == self.embeddings.name
            for line in block.lines
        }
        wanted = [self._text(message) for message in reading.messages if target.holds(message)]
        lines: dict[int, BlockLine] = {}
        new: list[tuple[IndexedText, str]] = []
        for text, words in wanted:
            line = known.get(text.seq)
            if line is not None and _like(line) == _like(text):
                lines[text.seq] = line
            else:
                new.append((text, words))
        embedded = self.embeddings.embed([words for _, words in new]) if new else []
        self._charge(target, {text.seq for text, _ in new}, reading)
        for (text, _), embedding in zip(new, embedded, strict=True):
            lines[text.seq] = line_of(replace(text, embedding=embedding))
        return [lines[seq] for seq in sorted(lines)]

    def _charge(self, target: BlockTarget, seqs: Collection[int], reading: ChunkReading) -> None:
        """Charge a provider's embeddings to the people who wrote the messages, by an estimate."""
        model = self.settings.embeddings_model
        embedded = [message for message in reading.messages if message.seq in seqs]
        if not model or not embedded:
            return
        characters = sum(len(message.text) for message in embedded)
        self.usage.add(
            target.chat.tenant,
            TokenUsage(input_tokens=ceil(characters / CHARACTERS_PER_TOKEN)),
            spread_by=target.chat.id,
            model=model,
            payer=Payer(target.agent_id),
            background=True,
            words=Words.of((message.payer, len(message.text)) for message in embedded),
        )

    def _text(self, message: Message) -> tuple[IndexedText, str]:
        """Return a message's data for a block without the embedding, and the message's text."""
        text = IndexedText(
            seq=message.seq,
            sender_id=message.sender.id,
            stems=stems_of(message.text)[:MAX_STEMS],
            embedding=NO_EMBEDDING,
            created_at=int(message.created_at.timestamp()),
            characters=len(message.text),
            posted=rare_stems(message.text, self.vocabulary),
            expires_at=message.expires_at,
        )
        return text, message.text

    def _block(
        self, target: BlockTarget, number: int, lines: Sequence[BlockLine], names: Mapping[str, str]
    ) -> RecallBlock | None:
        chat, scope = target.chat, scope_of(target.chat)
        empty = RecallBlock(
            tenant=chat.tenant,
            chat_id=chat.id,
            agent_id=target.agent_id,
            number=number,
            scope=scope,
            recall_scope=owned_partition(chat.tenant, target.agent_id, scope),
            recall_model=self.embeddings.name,
            first_at=0,
            last_at=0,
            names=dict(names),
            lines=(),
        )
        return with_lines(empty, [line for line in lines if block_number(line.seq) == number])


def _basis(snapshot: ChatSnapshot, agents: Collection[str]) -> object:
    """Return the inputs of the blocks of agents other than the messages."""
    chat = snapshot.chat
    presence = {
        (member.member.id, member.joined_seq, member.left_seq)
        for member in snapshot.members
        if member.member.kind == "agent" and member.member.id in agents
    }
    return scope_of(chat), chat.discarded_at, presence


def _first_blocks(chat: Chat, agents: Mapping[str, Membership | None]) -> list[Key]:
    """Return the keys of the first blocks of agents."""
    return [
        RecallBlock.key_of(chat.tenant, chat.id, agent_id, block_number(member.joined_seq + 1))
        for agent_id, member in agents.items()
        if member is not None
    ]
