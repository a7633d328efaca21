"""Memories of agents: core memories, and journal entries that fade after 7 days."""

from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field, StringConstraints

from skein.models.common.base import Identifier, Instant
from skein.models.common.json_types import JsonBool
from skein.models.common.storage import Item, SortKeyPrefix
from skein.models.items.agent_item import AgentItem
from skein.models.outbox.due import due_pointer
from skein.models.visibility.ownership import StoredPublic

MemoryKind = Literal["core", "journal"]
MemoryStatus = Literal["live", "removed", "superseded"]
MadeBy = Literal["consolidation", "tool", "api", "reflection"]
MemoryText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000),
    Field(description="The memory in words."),
]

JOURNAL_DAYS = 7  # how long a journal entry is shown
KEPT_DAYS = 7  # how long a faded entry is still stored
REFLECTION_LEAD = timedelta(days=3)  # leaves time for three attempts

_JOURNAL, _CORE, _OPERATORS = "1#", "2#", "3#"


class MemoryFields(BaseModel):
    """The fields of a memory that its creator gives."""

    kind: Annotated[MemoryKind, Field(description="The kind of item.")]
    text: MemoryText
    constitutional: Annotated[
        JsonBool,
        Field(description="Prompts always show it, whatever their budget; core memories only."),
    ] = False
    public: StoredPublic = False


class Memory(MemoryFields, AgentItem):
    """A fact that an agent has learned, with the audience of its sources.

    A query in descending order of keys reads the most important live memories first: operators'
    memories, then core memories, then journal entries, each newest first. If a query has a limit,
    the limit therefore never leaves out an operator's memory in favor of others.

    Attributes:
        id: `mem_<ulid>`, with the time of creation.
        made_by: What created the memory: consolidation, a tool, the API or reflection.
        learned_at: For a memory from a consolidation, the time of the newest source message. None
            if the agent learned it when the memory was created.
        fades_at: When a journal entry fades; None for core memories.
        superseded_by: The memory that replaced this memory.
        status: `live`, `removed` or `superseded`. A journal entry that has faded remains `live`.
        considered: Whether reflection has decided about this journal entry. Reflection does not
            consider it again, even if an operator restores it.
    """

    # Sorts before goals, so that a query from plans down reads memories last.
    PREFIX: ClassVar = SortKeyPrefix("FACT#")
    RANKS: ClassVar = (_OPERATORS, _CORE, _JOURNAL)
    LIVE_STATUS: ClassVar = "live"
    COUNTER: ClassVar = "revision"
    CACHED: ClassVar = True
    TEXTS: ClassVar = ("text",)

    made_by: MadeBy
    learned_at: Annotated[Instant | None, Field(exclude_if=lambda at: at is None)] = None
    fades_at: Instant | None = None
    superseded_by: Identifier | None = None
    considered: bool = False
    status: MemoryStatus = "live"

    @staticmethod
    def live_prefix(kind: MemoryKind) -> str:
        """Return the sort key prefix of live memories of a kind, without operators' memories."""
        return f"{Memory.PREFIX}{_CORE if kind == 'core' else _JOURNAL}"

    @staticmethod
    def prefixes(*, kind: MemoryKind | None, live: bool, ended: bool) -> tuple[str, ...]:
        """Return the sort key prefixes of memories, live before ended, operators' first.

        Operators' memories of both kinds share one prefix. A faded journal entry counts as ended,
        but keeps its live prefix. So with `ended`, the live prefixes that can have faded entries
        are returned, too.

        Args:
            kind: The kind of memories; None for both kinds.
            live: Whether to include live memories.
            ended: Whether to include ended memories.
        """
        core, journal = (_OPERATORS, _CORE), (_OPERATORS, _JOURNAL)
        ranks = {"core": core, "journal": journal, None: Memory.RANKS}[kind]
        faded = () if live or kind == "core" else journal
        return (
            *(f"{Memory.PREFIX}{rank}" for rank in (ranks if live else faded)),
            *(f"{Memory.PREFIX.ended}{rank}" for rank in (ranks if ended else ())),
        )

    @property
    def promoted_from(self) -> str | None:
        """The id of the journal entry from which reflection made this memory, if it did."""
        return next(iter(self.made_from.items), None) if self.made_by == "reflection" else None

    @property
    def rests_on_one_person(self) -> bool:
        """Whether the memory is open and unconfirmed, and comes from one person's messages only."""
        writers = self.made_from.writers
        alone = len(writers.ids) == 1 and not writers.many
        return alone and self.audience.open and not self.by_operator

    @property
    def day(self) -> str:
        """The day in UTC on which the agent learned the memory, such as `2026-02-18`."""
        return f"{self.learned_at or self.created_at:%Y-%m-%d}"

    @property
    def age(self) -> tuple[datetime, str]:
        """The sort key for lists in which the oldest memory comes first."""
        return self.created_at, self.id

    def faded(self, now: datetime) -> bool:
        """Return whether this is a journal entry that has faded."""
        return self.fades_at is not None and self.fades_at <= now

    @property
    def rank(self) -> str:
        """The part of the sort key that orders memories by importance."""
        if self.by_operator:
            return _OPERATORS
        return _JOURNAL if self.kind == "journal" else _CORE

    @property
    def promotable(self) -> bool:
        """Whether reflection may still promote this journal entry.

        Promotion makes a core memory of the entry and ends the entry. Reflection has no right to
        end an operator's entry, or an open entry with too many authors (`Readers.changes`).
        """
        unowned = self.audience.open and self.authors.many
        return not (self.kind == "core" or self.considered or self.by_operator or unowned)

    def restored(self) -> Self:
        """Return the memory as live again. A journal entry still fades at its original time."""
        return Memory.model_copy(super().restored(), update={"superseded_by": None})

    def to_item(self) -> Item:
        """Return the memory as table attributes.

        A journal entry about which reflection has not decided yet has a due pointer.
        """
        item = super().to_item()
        if self.fades_at is None:
            return item
        item["expires_at"] = int((self.fades_at + timedelta(days=KEPT_DAYS)).timestamp())
        if self.live and self.promotable:
            item |= due_pointer("fading", self.key, self.fades_at - REFLECTION_LEAD)
        return item
