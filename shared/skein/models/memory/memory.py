"""Memories of agents: core memories, and journal entries that fade after 7 days."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import StringConstraints

from skein.models.common.base import Identifier, Instant, key_part
from skein.models.common.ownership import OwnedItem, owned_partition
from skein.models.common.storage import Item, Key, SortKeyPrefix, Update
from skein.models.outbox.due import due_pointer

MemoryKind = Literal["core", "journal"]
MadeBy = Literal["consolidation", "tool", "api", "reflection"]
MemoryText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)
]

JOURNAL_DAYS = 7  # how long a journal entry is shown
KEPT_DAYS = 7  # how long a faded entry is still stored
REFLECTION_LEAD = timedelta(days=3)  # leaves time for three attempts

LIVE = SortKeyPrefix("FACT#")  # sorts before goals: a query from plans down reads memories last
ENDED = LIVE.ended
REVISION = "OWNED#REVISION"  # sorts between goals and plans, so that their query reads it


class Memory(OwnedItem):
    """A fact that an agent has learnt, with the audience of its sources.

    Live memories have the prefix `FACT#`. A query from the end reads the most important ones first:
    constitutional, then core, then journal, each newest first. Deleted and superseded memories have
    the prefix `ENDED#FACT#`, which that query does not read.

    Attributes:
        id: `mem_<ulid>`, with the time of creation.
        kind: `core` memories stay, `journal` entries fade.
        from_seq: The first source message in the source chat; None if no messages are the source.
        to_seq: The last source message.
        made_by: What created the memory: consolidation, a tool, the API or reflection.
        constitutional: Whether neither the agent nor consolidation can delete or supersede it.
        fades_at: When a journal entry fades; None for core memories.
        superseded_by: The memory that replaced this one.
        deleted_at: When the memory was deleted.
        promoted_from: The journal entry from which reflection made this memory.
        considered: Whether reflection has decided about this journal entry. Reflection does not
            consider it again, even if an operator restores it.
        version: The optimistic lock: every change raises it.
    """

    id: Identifier
    kind: MemoryKind
    text: MemoryText
    from_seq: int | None = None
    to_seq: int | None = None
    made_by: MadeBy
    constitutional: bool = False
    fades_at: Instant | None = None
    superseded_by: Identifier | None = None
    deleted_at: Instant | None = None
    promoted_from: Identifier | None = None
    considered: bool = False
    version: int = 1

    @staticmethod
    def sort_keys(memory_id: str) -> tuple[str, ...]:
        """Return all sort keys that a memory with this id may have, live or ended."""
        ranks = (_JOURNAL, _CORE, _CONSTITUTIONAL)
        return tuple(
            f"{prefix}{rank}#{key_part(memory_id)}" for prefix in (LIVE, ENDED) for rank in ranks
        )

    @staticmethod
    def live_prefix(kind: MemoryKind) -> str:
        """Return the sort key prefix of a kind's live memories, without constitutional ones."""
        return f"{LIVE}{_CORE if kind == 'core' else _JOURNAL}#"

    @staticmethod
    def prefixes(*, kind: MemoryKind | None, live: bool, ended: bool) -> tuple[str, ...]:
        """Return sort key prefixes of one or both kinds: live before ended, core before journal.

        Faded journal entries keep their live prefix, so that prefix is returned for ended memories,
        too.
        """
        core, journal = (_CONSTITUTIONAL, _CORE), (_JOURNAL,)
        ranks = {"core": core, "journal": journal, None: (*core, *journal)}[kind]
        faded = () if live or kind == "core" else journal
        return (
            *(f"{LIVE}{rank}#" for rank in (ranks if live else faded)),
            *(f"{ENDED}{rank}#" for rank in (ranks if ended else ())),
        )

    @property
    def age(self) -> tuple[datetime, str]:
        """The sort key for lists with the oldest memory first."""
        return self.created_at, self.id

    def faded(self, now: datetime) -> bool:
        """Tell whether this is a journal entry that has faded."""
        return self.fades_at is not None and self.fades_at <= now

    @property
    def live(self) -> bool:
        """Whether the memory is neither deleted nor superseded; a journal entry may have faded."""
        return self.superseded_by is None and self.deleted_at is None

    @property
    def key(self) -> Key:
        """The key of this memory; it changes when the memory ends or is restored."""
        rank = _JOURNAL if self.kind == "journal" else _CORE
        if self.constitutional:
            rank = _CONSTITUTIONAL
        prefix = LIVE if self.live else ENDED
        partition = owned_partition(self.tenant, self.agent_id, self.scope)
        return Key(partition, f"{prefix}{rank}#{key_part(self.id)}")

    def to_item(self) -> Item:
        """Return the memory as table attributes; a journal entry has a pointer for reflection."""
        item = self.attributes()
        if self.fades_at is None:
            return item
        item["expires_at"] = int((self.fades_at + timedelta(days=KEPT_DAYS)).timestamp())
        if self.live and not self.considered:
            item |= due_pointer("fading", self.key, self.fades_at - REFLECTION_LEAD)
        return item


_JOURNAL, _CORE, _CONSTITUTIONAL = "1", "2", "3"


def touched(tenant: str, agent_id: str, scope: str | None) -> Update:
    """Return the write that raises a partition's revision.

    Every change to an agent's item includes this write.

    Caches compare the revision to know whether their copy of the partition is current.
    """
    return Update(revision_key(tenant, agent_id, scope), add={"revision": 1})


def revision_key(tenant: str, agent_id: str, scope: str | None) -> Key:
    """Return the key of the item that holds a partition's revision."""
    return Key(owned_partition(tenant, agent_id, scope), REVISION)
