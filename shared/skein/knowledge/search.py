"""Search the sources that readers may see."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from skein.errors import Unavailable
from skein.knowledge.index import FoundPassage, IndexFile, KnowledgeFiles, best_passages
from skein.knowledge.models.source import IndexedGroup, KnowledgeHead
from skein.ports import ModelTokens, Table, TextEmbeddings
from skein.services.common.text_index import IndexQuery

MOST_SHOWN = 20  # passages that operators are shown
Roles = Collection[str] | None
"""The roles that all readers have; None if a reader is a visitor: visitors see public sources."""
READS = 3  # reads of the head, at most; it is read again if a file was replaced in the meantime


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSearch:
    """The service that searches sources."""

    table: Table
    files: KnowledgeFiles
    embeddings: Callable[[], TextEmbeddings]
    tokens: ModelTokens

    def tried(self, tenant: str, agent_id: str, roles: Roles, query: str) -> list[FoundPassage]:
        """Return the passages that a prompt would get, best first.

        Raises:
            Transient: The table or the bucket failed.
        """
        head = KnowledgeHead.read(self.table, KnowledgeHead.key_of(tenant))
        files = self.indexes(head, agent_id, roles) if head is not None else ()
        return self.best(files, query)[:MOST_SHOWN]

    def best(self, files: Sequence[IndexFile], query: str) -> list[FoundPassage]:
        """Return all passages of indexes, best first."""
        if not files:
            return []
        [embedded] = self.embeddings().embed([query])
        return best_passages(files, IndexQuery.of(query, embedded.vector))

    def indexes(self, head: KnowledgeHead, agent_id: str, roles: Roles) -> tuple[IndexFile, ...]:
        """Return the indexes that an agent and its readers may see, all from the same list.

        If a file was replaced since the list (the head) was read, the list is read again.

        Raises:
            Unavailable: The files are replaced too quickly.
            Transient: The bucket failed.
        """
        for _ in range(READS):
            wanted = readable(head, agent_id, roles)
            found = [self.files.index(group.file) for group in wanted]
            known = tuple(file for file in found if file is not None)
            if len(known) == len(found):
                return known
            head = KnowledgeHead.read(self.table, head.key) or head
        raise Unavailable("the sources change too quickly")


def readable(head: KnowledgeHead, agent_id: str, roles: Roles) -> tuple[IndexedGroup, ...]:
    """Return the groups that an agent may use for readers who all have these roles."""
    return tuple(
        group
        for group in head.groups
        if (not group.agents or agent_id in group.agents) and _shown(group, roles)
    )


def _shown(group: IndexedGroup, roles: Roles) -> bool:
    if roles is None:
        return group.audience == "public"
    return group.audience != "roles" or not set(roles).isdisjoint(group.roles)
