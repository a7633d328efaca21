"""Read items that agents made from messages, and find them by source chat."""

from collections.abc import Iterator

from skein.memory.models.memory import Memory
from skein.models.common.storage import Item, Key, Page, Query
from skein.models.items.agent_item import AgentItem
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.ports import Table
from skein.recall.models.own_words import OwnWordsMemory
from skein.services.common.pagination import pages
from skein.workspace.models.document import Document, Folder
from skein.workspace.models.thread import Thread

ROWS = 100
MadeItem = AgentItem | Document
ENTITIES: tuple[type[AgentItem] | type[Document], ...] = (
    Document,
    Memory,
    OwnWordsMemory,
    Goal,
    Plan,
    Thread,
)


def made_in(item: Item) -> MadeItem | None:
    """Return the memory, goal, plan, thread or document in a table item; None for other items."""
    for kind in ENTITIES:
        if kind.PREFIX.holds(item) or kind.PREFIX.ended.holds(item):
            return kind.from_item(item)
    return None


def folder_of(thing: MadeItem) -> Folder:
    """Return the agent's scope or the chat to which an item belongs."""
    if isinstance(thing, Document):
        return thing.folder
    return Folder(tenant=thing.tenant, agent_id=thing.agent_id, scope=thing.scope)


def keys_made_from(table: Table, relation: str) -> Iterator[Key]:
    """Yield the keys of the items in one relation of the index of source chats.

    Args:
        relation: See `made_relation` and `mixed_relation`.
    """

    def rows(start: Item | None) -> Page:
        return table.query(Query(relation, index="gsi1", limit=ROWS, start=start))

    for found in pages(rows):
        yield from (Key(row["pk"], row["sk"]) for row in found)
