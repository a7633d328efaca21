"""Search for memories by words and meaning. Among equal matches, the newest comes first."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from skein.memory.models.memory import Memory
from skein.memory.shown import few_open, newest_first
from skein.memory.store import searchable_memories
from skein.models.visibility.ownership import Reach
from skein.ports import Clock, Table
from skein.services.common.text_search import EmbeddingCache, best_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearch:
    """Service that searches the memories of an agent."""

    table: Table
    clock: Clock
    meanings: EmbeddingCache

    def search(
        self,
        reach: Reach,
        query: str,
        *,
        limit: int,
        members: Collection[str] | None = None,
    ) -> list[Memory]:
        """Find the memories within reach that best match a query, best first.

        Args:
            reach: The agent, the scopes and the readers. Faded journal entries are left out.
            query: What to search for; see `best_texts`.
            limit: The maximum number of memories.
            members: The people of a private chat; see `few_open`.
        """
        memories = searchable_memories(self.table, reach, now=self.clock.now())
        wanted = limit if members is None else len(memories)
        found = best_of(memories, query, wanted, self.meanings)
        return few_open(found, members)[:limit]


def best_of(
    memories: Sequence[Memory], query: str, limit: int, meanings: EmbeddingCache | None = None
) -> list[Memory]:
    """Return the memories that match a query, best first; see `best_texts`."""
    ordered = newest_first(memories)
    texts = [memory.text for memory in ordered]
    return [ordered[position] for position in best_texts(texts, query, limit, meanings)]
