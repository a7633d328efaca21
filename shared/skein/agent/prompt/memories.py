"""The sections of memories: core memories, and journal entries of the last seven days."""

from collections.abc import Sequence

from skein.agent.prompt.provenance import of_memory
from skein.agent.prompt.section import SEPARATOR, Section
from skein.models.memory.memory import Memory
from skein.models.runs.provenance import EntryProvenance
from skein.models.runs.run import PromptMark
from skein.ports import TokenCounter
from skein.services.memory.search import newest_first
from skein.services.memory.store import line_of, within_budget

# See `sections` for the order in which sections are shortened.
JOURNAL_GIVES_WAY, CORE_GIVES_WAY = 4, 5


def core_memories(memories: Sequence[Memory], limit: int, counter: TokenCounter) -> Section | None:
    """Render the core memories, newest first; None if there are none.

    If they exceed the limit, the constitutional and the newest memories stay, and the section gets
    a mark.

    Args:
        memories: All memories that may be shown.
    """
    core = [memory for memory in memories if memory.kind == "core"]
    prompt_mark: PromptMark = "core_memories_over_budget"
    return remembered("CORE MEMORIES", core, limit, counter, CORE_GIVES_WAY, (prompt_mark,))


def journal(memories: Sequence[Memory], limit: int, counter: TokenCounter) -> Section | None:
    """Render the journal entries that have not faded, newest first; None if there are none."""
    omissions = [memory for memory in memories if memory.kind == "journal"]
    return remembered("JOURNAL", omissions, limit, counter, JOURNAL_GIVES_WAY, ())


def remembered(
    name: str,
    memories: Sequence[Memory],
    limit: int,
    counter: TokenCounter,
    priority: int,
    over: tuple[PromptMark, ...],
) -> Section | None:
    """Make a section of memories. Each line is counted separately, as in `listing`.

    Each memory has its date, and of two that contradict each other, the newer one comes first. A
    core memory that is the only one contradicts no other and has no date.
    """
    if not memories:
        return None
    dated = len(memories) > 1 or memories[0].kind == "journal"

    def size_of(lines: Sequence[str]) -> int:
        return sum(counter.count(f"{line}\n") for line in lines[:-1]) + counter.count(
            lines[-1] + SEPARATOR
        )

    def entries_of(shown: Sequence[Memory]) -> tuple[EntryProvenance, ...]:
        return tuple(of_memory(name, memory) for memory in newest_first(shown))

    def within(tokens: int) -> Section:
        lines = [f"{name}:"]
        lines += [line_of(memory, dated=dated) for memory in newest_first(memories)]
        size = size_of(lines)
        if size > tokens:
            omission = _left_out(len(memories))
            reserve = counter.count(f"{name}:\n") + counter.count(f"{omission}{SEPARATOR}")
            shown = within_budget(memories, counter, tokens - reserve)
            missing = len(memories) - len(shown)
            omissions = [_left_out(missing)] if missing else []
            lines = [f"{name}:", *map(line_of, newest_first(shown)), *omissions]
            text, size = "\n".join(lines), size_of(lines)
            return Section(name, text, size, priority, within, over, entries_of(shown))
        return Section(name, "\n".join(lines), size, priority, within, (), entries_of(memories))

    return within(limit)


def _left_out(missing: int) -> str:
    return f"  ({missing} older left out)"
