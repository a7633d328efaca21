"""Split the text of a source into passages, each under its headings."""

import csv
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from skein.recall.passages import passages_of

PASSAGE = 900  # characters at most
MAX_PLACE = 200  # characters
PAGE_END = "\f"  # between the pages of a PDF
DEEPER = " > "  # between a heading and the headings under it
FENCE = re.compile(r"\s*(```|~~~)")
HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
NO_DELIMITER = ","


class SourcePassage(NamedTuple):
    """A part of a source.

    Attributes:
        place: Where the part is in the source: its headings, its page or its row; may be empty.
        text: The text of the part, at most 900 characters.
        url: The address of the web page; None for other sources.
    """

    place: str
    text: str
    url: str | None = None

    @property
    def searched(self) -> str:
        """The text by which the passage is found."""
        return f"{self.place}\n{self.text}" if self.place else self.text


def passages_of_markdown(text: str, url: str | None = None) -> list[SourcePassage]:
    """Split a text at its headings and at the ends of its pages, then at 900 characters."""
    pages = text.split(PAGE_END)
    found: list[SourcePassage] = []
    for number, page in enumerate(pages, 1):
        for headings, body in _sections(page):
            page_number = f"page {number}" if len(pages) > 1 else ""
            found += _cut(DEEPER.join(filter(None, [page_number, headings])), body, url)
    return found


def passages_of_rows(text: str) -> list[SourcePassage]:
    """Return a passage for each row of a CSV file, with the names of its columns.

    Raises:
        csv.Error: The text is no CSV file.
    """
    lines = text.splitlines()
    delimiter = max(",;\t", key=lines[0].count) if lines else NO_DELIMITER
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    names = next(rows, [])
    found: list[SourcePassage] = []
    for number, row in enumerate(rows, 2):
        cells = (
            f"{name.strip()}: {cell.strip()}"
            for name, cell in zip(names, row, strict=False)
            if cell.strip()
        )
        found += _cut(f"row {number}", "\n".join(cells))
    return found


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a Markdown text between headings, each with its headings."""
    headings: dict[int, str] = {}
    body: list[str] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= FENCE.match(line) is not None
        heading = None if fenced else HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        yield _place(headings.values()), "\n".join(body)
        level = len(heading[1])
        headings = {each: title for each, title in headings.items() if each < level}
        headings[level], body = heading[2], []
    yield _place(headings.values()), "\n".join(body)


def _place(headings: Iterable[str]) -> str:
    return DEEPER.join(headings)[-MAX_PLACE:]


def _cut(place: str, text: str, url: str | None = None) -> list[SourcePassage]:
    parts = (part.text.strip() for part in passages_of(text.strip(), PASSAGE))
    return [SourcePassage(place, part, url) for part in parts if part]
