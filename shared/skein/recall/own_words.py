"""Passages of memories that were made from a person's own words.

A memory's passage is stored next to the passages of the last message from which the memory was
made. A partition of the vector index gets the passage only if all messages from which the memory
was made belong to that partition.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import NamedTuple

from skein.models.chats.chat import Chat, Message
from skein.models.common.storage import Query
from skein.ports import Table
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.models.stored import RecallPassage, author_of
from skein.recall.passage_commit import Passages
from skein.services.common.pagination import pages, read_items
from skein.services.common.words import stems_of
from skein.services.visibility.audience import scope_of
from skein.services.visibility.sharing_rules import AuthorRules, SaidMessage


class MemorySources(NamedTuple):
    """A memory with its source messages. None stands for a message that is deleted or hidden."""

    memory: OwnWordsMemory
    messages: tuple[Message | None, ...]

    def seen_by(self, present: Callable[[Message], bool]) -> "MemorySources":
        """Return a copy in which None replaces the messages for which the agent was not present."""
        seen = (each if each is not None and present(each) else None for each in self.messages)
        return self._replace(messages=tuple(seen))


def own_words_memories(
    table: Table, chat: Chat, agent_id: str, seqs: range
) -> Iterator[OwnWordsMemory]:
    """Read an agent's memories of a chat whose last source message is in the range `seqs`."""
    owned = (chat.tenant, agent_id, scope_of(chat), chat.id)
    first, last = (OwnWordsMemory.own_key(*owned, seq) for seq in (seqs.start, seqs.stop))
    query = Query(first.pk, first=first.sk, last=last.sk)
    for items in pages(lambda start: table.query(replace(query, start=start))):
        yield from OwnWordsMemory.each_of(items)


def with_sources(
    table: Table, chat: Chat, memories: Sequence[OwnWordsMemory]
) -> tuple[MemorySources, ...]:
    """Read the messages that memories of a chat were made from."""
    keys = {
        seq: Message.key_of(chat.tenant, chat.id, seq) for memory in memories for seq in memory.seqs
    }
    found = read_items(table, list(keys.values()))
    said = {seq: Message.must_read(found, key) for seq, key in keys.items() if key in found}
    return tuple(MemorySources(each, tuple(map(said.get, each.seqs))) for each in memories)


def memory_passages(
    covered: AuthorRules, chat: Chat, agent_id: str, found: Sequence[MemorySources], model: str
) -> Mapping[int, Passages]:
    """Return the passages of memories, without embeddings, by the last source message.

    Args:
        covered: The sharing rules and the person to whom they may apply.
        found: The memories, with the messages that the agent may see.
        model: The name of the embeddings' model.
    """
    made: dict[int, list[RecallPassage]] = defaultdict(list)
    for memory, messages in found:
        said = [SaidMessage.of(each) if each is not None else None for each in messages]
        words = [each for each in messages if each is not None]
        for partition in covered.partitions(chat, said, agent_id):
            made[memory.last_seq].append(_passage(memory, words, partition, model))
    return {seq: tuple(passages) for seq, passages in made.items()}


def _passage(
    memory: OwnWordsMemory, words: Sequence[Message], partition: str, model: str
) -> RecallPassage:
    last, ends = words[-1], [each.expires_at for each in words if each.expires_at is not None]
    return RecallPassage(
        tenant=memory.tenant,
        chat_id=memory.source_chat_id,
        agent_id=memory.agent_id,
        seq=memory.last_seq,
        scope=memory.scope,
        recall_scope=partition,
        recall_model=model,
        recall_author=author_of(last.sender),
        recall_month=f"{last.created_at.astimezone(UTC):%Y-%m}",
        weight=0.0,
        name=last.sender.name,
        stems=stems_of(memory.text),
        characters=len(memory.text),
        created_at=int(last.created_at.timestamp()),
        expires_at=min(ends, default=None),
        memory_id=memory.id,
        sources=tuple((each.seq, int(each.created_at.timestamp())) for each in words),
    )
