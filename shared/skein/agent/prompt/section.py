"""One part of a prompt: rendered once, counted exactly, and able to make itself shorter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from skein.agent.prompt.budget import Frame, shortened
from skein.models.run import PromptMark
from skein.ports import TokenCounter

SEPARATOR = "\n\n"
FIXED = 100  # the priority of what is never shortened


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a prompt.

    Attributes:
        name: In capitals, as it stands in the text.
        text: The whole section, its name included.
        tokens: Its exact size, the blank line that follows it included.
        priority: Where a prompt is too long, sections of the lowest are shortened first.
        shorter: Makes the section anew in at most so many tokens, or as few as it can.
        marks: What an operator should know of how it came about.
    """

    name: str
    text: str
    tokens: int
    priority: int = FIXED
    shorter: Callable[[int], "Section"] | None = field(default=None, compare=False)
    marks: tuple[PromptMark, ...] = ()

    def within(self, tokens: int) -> "Section":
        """The section in at most so many tokens, or as few as it can."""
        if self.tokens <= tokens or self.shorter is None:
            return self
        return self.shorter(tokens)


def prose(name: str, body: str, counter: TokenCounter) -> Section:
    """A section of words that are never shortened."""
    text = f"{name}:\n{body}"
    return Section(name, text, counter.count(text + SEPARATOR))


def around(
    name: str, text: str, frame: Frame, counter: TokenCounter, *, priority: int, least: int = 0
) -> Section:
    """A section with one long text in it, which gives way where there is no room.

    Args:
        name: Of the section.
        text: What may be cut.
        frame: Gives the whole section around the text.
        counter: Counts exactly.
        priority: See `Section`.
        least: How many tokens it keeps at least.
    """

    def ended(shown: str) -> str:
        return frame(shown) + SEPARATOR

    def shorter(tokens: int) -> Section:
        shown = shortened(text, ended, max(tokens, least), counter)
        return Section(name, frame(shown), counter.count(ended(shown)), priority, shorter)

    return Section(name, frame(text), counter.count(ended(text)), priority, shorter)


def listing(
    name: str, lines: Sequence[str], limit: int, counter: TokenCounter, *, priority: int
) -> Section:
    """A section of lines, the most important first, of which as many are shown as there is room.

    Each is counted by itself, so that those that did not change are not counted anew. That is
    exact: no token reaches over the end of a line, since the next one begins with spaces.

    Args:
        name: Of the section.
        lines: Without their ends.
        limit: How many tokens there are for it.
        counter: Counts exactly.
        priority: See `Section`.
    """

    def shorter(tokens: int) -> Section:
        return listing(name, lines, tokens, counter, priority=priority)

    shown: list[str] = [f"{name}:"]
    size = counter.count(f"{name}:\n")
    spare = counter.count(_more(len(lines)) + SEPARATOR)
    for position, line in enumerate(lines):
        last = position == len(lines) - 1
        needed = counter.count(line + (SEPARATOR if last else "\n"))
        if size + needed + (0 if last else spare) > limit:
            more = _more(len(lines) - position)
            shown.append(more)
            size += counter.count(more + SEPARATOR)
            break
        shown.append(line)
        size += needed
    return Section(name, "\n".join(shown), size, priority, shorter)


def _more(missing: int) -> str:
    return f"  - and {missing} more"


def closing(section: Section, counter: TokenCounter) -> Section:
    """The section as the last one of its message: no blank line follows it."""
    last = section.text.rsplit("\n", 1)[-1]
    surplus = counter.count(last + SEPARATOR) - counter.count(last)
    return replace(section, tokens=section.tokens - surplus)


def arranged(sections: Sequence[Section], room: int) -> list[Section]:
    """The sections, in their order, so that together they take at most `room` tokens.

    Those of the lowest priority are shortened first, each as far as it goes.
    """
    size = sum(section.tokens for section in sections)
    kept = list(sections)
    for place in sorted(range(len(kept)), key=lambda place: kept[place].priority):
        if size <= room:
            break
        whole = kept[place]
        kept[place] = whole.within(max(whole.tokens - (size - room), 0))
        size += kept[place].tokens - whole.tokens
    return kept
