"""Passages: parts of a few sentences, into which long messages are split for search and display."""

from collections.abc import Iterable
from dataclasses import dataclass

from skein.channels.text_cuts import cut_position

PASSAGE = 500  # characters at most
MAX_VECTORS = 12  # per message; later passages are found by rare words and neighbours


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a message.

    Attributes:
        start: The position of the part's first character in the message.
    """

    start: int
    text: str

    @property
    def stop(self) -> int:
        """The position after the part's last character."""
        return self.start + len(self.text)


def passages_of(text: str, longest: int = PASSAGE) -> list[Passage]:
    """Split a text into consecutive passages. A short text is one passage.

    Args:
        longest: The maximum number of characters of a passage.
    """
    found: list[Passage] = []
    start = 0
    while start < len(text):
        rest = text[start : start + longest + 1]
        stop = start + (len(rest) if len(rest) <= longest else cut_position(rest, longest))
        found.append(Passage(start, text[start:stop]))
        start = stop
    return found


def joined_parts(text: str, parts: Iterable[Passage], *, gap: str = "[...]") -> str:
    """Return the parts of a text in order, with a mark wherever text is left out."""
    shown, end = "", 0
    for part in sorted(parts, key=lambda one: one.start):
        if text[end : part.start].strip():
            shown = f"{shown.rstrip()} {gap} ".lstrip() + part.text.lstrip()
        else:
            shown += text[end : part.stop]
        end = max(end, part.stop)
    return shown.strip() + (f" {gap}" if text[end:].strip() else "")
