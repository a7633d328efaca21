"""Choose, order and format the memories that a model is shown.

Prompts, consolidation and reflection use this module. Prompts and the questions of consolidation
show core memories and journal entries. The questions of reflection show only core memories.
"""

from collections.abc import Collection, Sequence

from skein.interface.sources import SourceNames
from skein.memory.models.memory import Memory
from skein.models.visibility.provenance import NO_AUTHORS, Authors, few_of_strangers
from skein.ports import TokenCounter

CORE_MEMORY_TOKENS = 5_000
JOURNAL_TOKENS = 2_000
UNNUMBERED = SourceNames()


def newest_first(memories: Sequence[Memory]) -> list[Memory]:
    """Return the memories sorted by age, newest first."""
    return sorted(memories, key=lambda memory: memory.age, reverse=True)


def dated_line(memory: Memory, sources: SourceNames = UNNUMBERED) -> str:
    """Format a memory with the day on which the agent learned it, and its source."""
    return f"[{memory.day}] {sources.line_of(memory, memory.text)}"


def line_of(memory: Memory, sources: SourceNames = UNNUMBERED) -> str:
    """Format a memory as one line of a prompt."""
    return f"  - {dated_line(memory, sources)}"


def few_open(memories: Sequence[Memory], members: Collection[str] | None) -> list[Memory]:
    """Keep at most three open memories from the words of each person outside a private chat.

    Operators' memories are always kept.

    Args:
        memories: The memories, most important first.
        members: The ids of the chat's people; None if the prompt is not private.
    """

    def writers_of(memory: Memory) -> Authors:
        counted = memory.audience.open and not memory.by_operator
        return memory.made_from.writers if counted else NO_AUTHORS

    return few_of_strangers(memories, writers_of, members)


def within_budget(
    memories: Sequence[Memory],
    counter: TokenCounter,
    tokens: int,
    sources: SourceNames = UNNUMBERED,
) -> list[Memory]:
    """Return the memories that fit a token budget, from oldest to newest.

    Constitutional memories are always chosen. Operators' memories follow, then the other memories,
    each newest first, until one does not fit.

    Args:
        memories: Memories of one kind.
        counter: The tokenizer.
        tokens: The budget for all lines together. Constitutional memories may exceed it.
        sources: How the prompt names the sources.
    """
    wanted = sorted(memories, key=lambda one: (one.constitutional, one.by_operator, *one.age))
    shown: list[Memory] = []
    for memory in reversed(wanted):
        tokens -= counter.count(f"{line_of(memory, sources)}\n")
        if tokens < 0 and not memory.constitutional:
            break
        shown.append(memory)
    return sorted(shown, key=lambda memory: memory.age)


def core_in_budget(live: Sequence[Memory], counter: TokenCounter) -> list[Memory]:
    """Return the core memories in `live` that fit their token budget; see `within_budget`."""
    core = [memory for memory in live if memory.kind == "core"]
    return within_budget(core, counter, CORE_MEMORY_TOKENS)


def journal_in_budget(live: Sequence[Memory], counter: TokenCounter) -> list[Memory]:
    """Return the journal entries in `live` that fit their token budget; see `within_budget`."""
    journal = [memory for memory in live if memory.kind == "journal"]
    return within_budget(journal, counter, JOURNAL_TOKENS)
