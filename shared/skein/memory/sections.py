"""CORE MEMORIES and JOURNAL: the memories of an agent that a prompt shows.

- What is read: the live memories of the agent in the scopes of the chat.
- What is kept: memories that may be shown and have not faded. In a private chat, at most three open
  memories from the words of each person outside the chat are kept.
- Order: newest first, so that the newer of two contradicting memories comes first.
- Over the budget: operators' memories and the newest memories are kept (`memory/shown.py`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import SEPARATOR, Section, SectionInput
from skein.interface.told import Telling
from skein.memory.models.memory import Memory, MemoryKind
from skein.memory.shown import (
    CORE_MEMORY_TOKENS,
    JOURNAL_TOKENS,
    few_open,
    line_of,
    newest_first,
    within_budget,
)
from skein.models.runs.provenance import EntryProvenance
from skein.models.runs.run import PromptMark
from skein.models.visibility.provenance import Authors
from skein.services.visibility.insiders import members_of

CORE_SHARE = 3  # core memories take at most a third of the prompt


@dataclass(frozen=True, slots=True)
class Memories(SectionItems):
    """The agent's memories that may be shown to the readers, without faded journal entries."""

    memories: tuple[Memory, ...] = ()
    owned = (Memory.PREFIX,)
    optional = True

    @classmethod
    def found(cls, read: SectionReads) -> "Memories":
        """Keep the memories that may be shown and have not faded; see also `few_open`."""
        live = [memory for memory in read.shown(Memory) if not memory.faded(read.now)]
        core_first = sorted(newest_first(live), key=lambda memory: memory.kind)
        return cls(tuple(few_open(core_first, members_of(read.chat))))

    def authors(self) -> Iterable[Authors]:
        return (memory.authors for memory in self.memories)

    def of_kind(self, kind: MemoryKind) -> list[Memory]:
        return [memory for memory in self.memories if memory.kind == kind]


def core_memories(given: SectionInput) -> Section | None:
    """Render the core memories; None if there are none.

    If not all memories fit the token limit, the run gets a mark.
    """
    limit = min(CORE_MEMORY_TOKENS, given.tokens_left // CORE_SHARE)
    core = _untold(given, "core")
    over: PromptMark = "core_memories_over_budget"
    return _remembered("CORE MEMORIES", core, limit, given, (over,))


def journal(given: SectionInput) -> Section | None:
    """Render the journal entries; None if there are none."""
    limit = min(JOURNAL_TOKENS, given.list_limit)
    entries = _untold(given, "journal")
    return _remembered("JOURNAL", entries, limit, given, ())


def _untold(given: SectionInput, kind: MemoryKind) -> list[Memory]:
    """Return the memories of a kind that no other part of the prompt already says.

    Only memories that a consolidation made from messages can be left out. A memory that the agent
    saved with a tool is always shown, because the agent would otherwise save it again.
    """
    return [
        memory
        for memory in given.reading.of(Memories).of_kind(kind)
        if memory.made_by != "consolidation"
        or memory.by_operator
        or memory.made_from.items
        or not given.tells(memory.made_from.spans, memory.text)
    ]


def _remembered(
    name: str,
    memories: Sequence[Memory],
    limit: int,
    given: SectionInput,
    over: tuple[PromptMark, ...],
) -> Section | None:
    """Build a section of memories.

    As in `listing`, the tokens of each line are counted separately.
    """
    if not memories:
        return None
    counter, sources = given.counter, given.sources

    def section(shown: Sequence[Memory], *more: str, marks: tuple[PromptMark, ...] = ()) -> Section:
        ordered = newest_first(shown)
        lines = [f"{name}:", *(line_of(memory, sources) for memory in ordered), *more]
        size = sum(counter.count(f"{line}\n") for line in lines[:-1])
        size += counter.count(lines[-1] + SEPARATOR)
        entries = tuple(EntryProvenance.of_item(name, "memory", one.id, one) for one in ordered)
        tellings = tuple(Telling(one.made_from.spans, one.text) for one in ordered)
        return Section(name, "\n".join(lines), size, within, marks, entries, tellings)

    def within(tokens: int) -> Section:
        whole = section(memories)
        if whole.tokens <= tokens:
            return whole
        reserve = counter.count(f"{name}:\n")
        reserve += counter.count(f"{_left_out(len(memories))}{SEPARATOR}")
        shown = within_budget(memories, counter, tokens - reserve, sources)
        missing = len(memories) - len(shown)
        return section(shown, *([_left_out(missing)] if missing else []), marks=over)

    return within(limit)


def _left_out(missing: int) -> str:
    return f"  ({missing} older left out)"
