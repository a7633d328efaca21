"""Keeps what people typed inside its quotes and on its line, whatever it is."""

import json
import re
import unicodedata
from datetime import datetime
from typing import Any

from skein.models.base import to_utc

PLAIN_NAME = re.compile(r"[^\W_]+(?:[ '.\-][^\W_]+)*")
PLAIN_ID = re.compile(r"[A-Za-z0-9_.@|\-]+")
BAR = "|"
BRACKETS = str.maketrans({"[": "\\u005b", "]": "\\u005d"})


def quoted(text: str) -> str:
    """`text` as a JSON string in which every kind of line separator is escaped.

    The same holds for everything else that cannot be seen, such as marks that turn the direction
    of writing, so that what a reader sees is what was typed.
    """
    return quoted_json(text)


def quoted_json(value: Any) -> str:
    """Any JSON value on one line, every text in it quoted as `quoted` does."""
    plain = json.dumps(value, ensure_ascii=False)
    if plain.isprintable():
        return plain
    return "".join(c if c.isprintable() else _escaped(c) for c in plain)


def on_one_line(text: str) -> str:
    """`text` as it is, but on one line: every kind of white space and line end becomes a space.

    Marks that cannot be seen, such as those that turn the direction of writing, are left out.
    """
    return " ".join("".join(map(_visible, text)).split())


def behind_bars(text: str) -> str:
    """Put each line of `text` behind a bar; no entry, section or list item begins with one.

    Lines end where any Unicode line separator stands (`str.splitlines`).
    """
    return "\n".join(map(_barred, text.splitlines()))


def further_lines_behind_bars(text: str) -> str:
    """Put each line but the first behind a bar, for text that follows its speaker on a line."""
    first, *further = text.splitlines() or [""]
    return "\n".join([first, *map(_barred, further)])


def bracket_lines_behind_bars(text: str) -> str:
    """Put each line that begins with a square bracket behind a bar, and keep the others.

    White space and invisible characters before the bracket do not count, and a bracket in its
    full-width or vertical form is a bracket. Other look-alikes are not.
    """
    lines = text.splitlines()
    return "\n".join(_barred(line) if _opens_with_bracket(line) else line for line in lines)


def label(name: str) -> str:
    """A name as it is if it is plain words, else as a JSON string; nobody else is called You."""
    plain = PLAIN_NAME.fullmatch(name) is not None and name.casefold() != "you"
    return name if plain else quoted(name)


def bracketed(name: str) -> str:
    """A label that may stand in square brackets, since it holds none."""
    return label(name).translate(BRACKETS)


def quoted_id(identifier: str) -> str:
    """An id as it is, or as a JSON string if it holds anything but plain characters."""
    return identifier if PLAIN_ID.fullmatch(identifier) else quoted(identifier)


def time_of(moment: datetime) -> str:
    """The moment to the second, as agents are told of it: `2026-02-18T14:50:00Z`."""
    return f"{to_utc(moment):%Y-%m-%dT%H:%M:%SZ}"


def _barred(line: str) -> str:
    return f"{BAR} {line}" if line else BAR


def _opens_with_bracket(line: str) -> bool:
    seen = (one for one in line if one.isprintable() and not one.isspace())
    return unicodedata.normalize("NFKC", next(seen, "")) == "["


def _visible(character: str) -> str:
    """The character; a space for what may end a line, and nothing for what cannot be seen."""
    if character.isprintable():
        return character
    return " " if character.isspace() or unicodedata.category(character) == "Cc" else ""


def _escaped(character: str) -> str:
    """A character as JSON escapes it: one or, beyond the basic plane, two units of UTF-16."""
    return json.dumps(character)[1:-1]
