"""What an agent has learnt and keeps: for good, or for a week."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import StringConstraints

from skein.models.base import Identifier, Instant, key_part
from skein.models.due import due_mark
from skein.models.ownership import Owned, owned_partition
from skein.models.storage import Item, Key, SortKeyPrefix, Update

MemoryKind = Literal["core", "journal"]
MadeBy = Literal["consolidation", "tool", "api", "reflection"]
MemoryText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)
]

JOURNAL_DAYS = 7  # how long a journal entry is shown
KEPT_DAYS = 7  # how long a faded one is still on record
REFLECTION_LEAD = timedelta(days=3)  # so that it comes three times, should the first ones fail

LIVE = SortKeyPrefix("FACT#")  # before goals: a query from plans down comes to memories last
ENDED = LIVE.ended
REVISION = "OWNED#REVISION"  # between goals and plans, so that their query comes to it
OLD_REVISION = "REVISION"  # where versions before kept it


class Memory(Owned):
    """Something that an agent remembers, for those who were there when it learnt it.

    Live ones stand under `FACT#`, ordered so that a query from the end meets first what must not be
    missed: constitutional, then core, then journal, each the newest first. Those that were removed
    or superseded stand out of its way, under `ENDED#FACT#`.

    Attributes:
        id: `mem_<ulid>`; its time is when it was made.
        kind: `core` is for good, a `journal` entry fades.
        from_seq: The first message of the source chat that it rests on; None without such a span.
        to_seq: The last one.
        made_by: Who made it.
        constitutional: Neither the agent nor consolidation can remove or supersede it.
        fades_at: When a journal entry fades; None for core memories.
        superseded_by: The memory that took its place.
        deleted_at: When it was removed.
        promoted_from: The journal entry that reflection made it from.
        considered: Reflection has decided about this journal entry; it is not asked about again,
            not even once an operator has brought it back.
        version: Raised by every change, which holds only for the version that it read.
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
        """Under which a memory of this id may stand, live or ended."""
        ranks = (_JOURNAL, _CORE, _CONSTITUTIONAL)
        return tuple(
            f"{prefix}{rank}#{key_part(memory_id)}" for prefix in (LIVE, ENDED) for rank in ranks
        )

    @staticmethod
    def live_prefix(kind: MemoryKind) -> str:
        """What the sort keys of the live ones of a kind start with, but for constitutional ones."""
        return f"{LIVE}{_CORE if kind == 'core' else _JOURNAL}#"

    @staticmethod
    def prefixes(*, kind: MemoryKind | None, live: bool, ended: bool) -> tuple[str, ...]:
        """What the sort keys of a kind, or of both, start with: live ones first, then core ones.

        Journal entries stay among the live ones when they fade, and so are with the ended, too.
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
        """What to sort by for the oldest to come first."""
        return self.created_at, self.id

    def faded(self, now: datetime) -> bool:
        """Whether it is a journal entry whose week is over."""
        return self.fades_at is not None and self.fades_at <= now

    @property
    def live(self) -> bool:
        """Whether it was neither removed nor superseded; a journal entry may have faded still."""
        return self.superseded_by is None and self.deleted_at is None

    @property
    def key(self) -> Key:
        """The key of this memory; it moves when the memory ends or is restored."""
        rank = _JOURNAL if self.kind == "journal" else _CORE
        if self.constitutional:
            rank = _CONSTITUTIONAL
        prefix = LIVE if self.live else ENDED
        partition = owned_partition(self.tenant, self.agent_id, self.scope)
        return Key(partition, f"{prefix}{rank}#{key_part(self.id)}")

    def to_item(self) -> Item:
        """The memory as table attributes; a journal entry is due for reflection in time, once."""
        item = self.attributes()
        if self.fades_at is None:
            return item
        item["expires_at"] = int((self.fades_at + timedelta(days=KEPT_DAYS)).timestamp())
        if self.live and not self.considered:
            item |= due_mark("fading", self.key, self.fades_at - REFLECTION_LEAD)
        return item


_JOURNAL, _CORE, _CONSTITUTIONAL = "1", "2", "3"


def touched(tenant: str, agent_id: str, scope: str | None) -> Update:
    """Raises the revision of what an agent owns in one partition; part of every change to it.

    Whoever has read the partition knows by the revision whether that still holds.
    """
    return Update(revision_key(tenant, agent_id, scope), add={"revision": 1})


def revision_key(tenant: str, agent_id: str, scope: str | None) -> Key:
    """Return the key of the item that holds a partition's revision."""
    return Key(owned_partition(tenant, agent_id, scope), REVISION)
