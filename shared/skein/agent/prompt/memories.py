"""What an agent is told of what it has learnt: what is for good, and what it noted this week."""

from collections.abc import Sequence

from skein.agent.prompt.section import SEPARATOR, Section
from skein.models.memory import Memory
from skein.models.run import PromptMark
from skein.ports import TokenCounter
from skein.services.memory.store import line_of, within_budget

# See `sections` for the order in which they give way.
JOURNAL_GIVES_WAY, CORE_GIVES_WAY = 4, 5


def core_memories(memories: Sequence[Memory], limit: int, counter: TokenCounter) -> Section | None:
    """What the agent has learnt for good, the oldest first; None if nothing.

    Over the limit, the constitutional ones and the newest stay, and the section is marked.

    Args:
        memories: All that it remembers and that may be shown.
        limit: How many tokens there are for it.
        counter: Counts exactly.
    """
    core = [memory for memory in memories if memory.kind == "core"]
    mark: PromptMark = "core_memories_over_budget"
    return remembered("CORE MEMORIES", core, limit, counter, CORE_GIVES_WAY, (mark,))


def journal(memories: Sequence[Memory], limit: int, counter: TokenCounter) -> Section | None:
    """What the agent noted in the last seven days, the oldest first; None if nothing."""
    notes = [memory for memory in memories if memory.kind == "journal"]
    return remembered("JOURNAL", notes, limit, counter, JOURNAL_GIVES_WAY, ())


def remembered(
    name: str,
    memories: Sequence[Memory],
    limit: int,
    counter: TokenCounter,
    priority: int,
    over: tuple[PromptMark, ...],
) -> Section | None:
    """A section of memories; each line is counted by itself, which is exact (see `listing`)."""
    if not memories:
        return None

    def size_of(lines: Sequence[str]) -> int:
        return sum(counter.count(f"{line}\n") for line in lines[:-1]) + counter.count(
            lines[-1] + SEPARATOR
        )

    def within(tokens: int) -> Section:
        lines = [f"{name}:", *map(line_of, sorted(memories, key=lambda memory: memory.age))]
        size = size_of(lines)
        if size > tokens:
            note = _left_out(len(memories))
            spare = counter.count(f"{name}:\n{note}{SEPARATOR}")
            shown = within_budget(memories, counter, tokens - spare)
            missing = len(memories) - len(shown)
            notes = [_left_out(missing)] if missing else []
            lines = [f"{name}:", *notes, *map(line_of, shown)]
            return Section(name, "\n".join(lines), size_of(lines), priority, within, marks=over)
        return Section(name, "\n".join(lines), size, priority, within)

    return within(limit)


def _left_out(missing: int) -> str:
    return f"  ({missing} older left out)"
