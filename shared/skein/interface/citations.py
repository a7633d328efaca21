"""The marks with which a model cites passages, such as `[K2]`: read and remove them."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from skein.models.runs.provenance import MarkedCitation
from skein.models.visibility.provenance import MAX_CITED, Citation

MARK = re.compile(r"K[1-9][0-9]{0,3}")
_MARKS = re.compile(rf"[ \t]*[\[\u3010](?:{MARK.pattern})(?:[ ,;]+(?:{MARK.pattern}))*[\]\u3011]")
_BEGUN = re.compile(r"[ \t]*(?:[\[\u3010](?:K[0-9K ,;]*)?)?$")


class CitedText(NamedTuple):
    """A text without marks, and the passages that its marks have named."""

    text: str
    sources: tuple[Citation, ...]


def mark_of(number: int) -> str:
    return f"K{number}"


def cited(text: str, known: Iterable[MarkedCitation]) -> CitedText:
    """Remove the marks from a text, and return the passages that they name.

    A mark that the model was not shown is removed, too, but names no passage.

    Args:
        known: The passages that the model was shown.
    """
    by_mark = {each.mark: each.plain for each in known}
    marks = [mark for found in _MARKS.findall(text) for mark in MARK.findall(found)]
    sources = dict.fromkeys(by_mark[mark] for mark in marks if mark in by_mark)
    return CitedText(_MARKS.sub("", text).strip(), tuple(sources)[:MAX_CITED])


def shown_start(text: str) -> str:
    """Return the text of an answer so far, without marks or an unfinished mark at its end."""
    return _BEGUN.sub("", _MARKS.sub("", text))
