"""Quoting for prompts, so that no text can leave its quotes or its line."""

import json
import re
import unicodedata
from datetime import datetime
from typing import Any

from skein.models.common.base import to_utc

PLAIN_ID = re.compile(r"[A-Za-z0-9_.@|\-]+")
BAR = "|"


def quoted(text: str) -> str:
    """Return `text` as a JSON string with every unprintable character escaped.

    That includes line separators and marks that change the direction of writing, so that a reader
    sees exactly the typed text.
    """
    return quoted_json(text)


def quoted_json(value: Any) -> str:
    """Return a JSON value on one line, with its strings quoted as by `quoted`."""
    return escaped(json.dumps(value, ensure_ascii=False))


def escaped(text: str) -> str:
    """Return `text` with every unprintable character escaped as in JSON."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def on_one_line(text: str) -> str:
    """Return `text` on one line, with each run of white space as one space.

    Invisible marks, such as those that change the direction of writing, are removed.
    """
    return " ".join("".join(map(_visible, text)).split())


def behind_bars(text: str) -> str:
    """Prefix each line of `text` with a bar.

    No entry, section or list item starts with a bar.

    Lines end at any Unicode line separator (`str.splitlines`).
    """
    return "\n".join(map(_barred, text.splitlines()))


def further_lines_behind_bars(text: str) -> str:
    """Prefix each line but the first with a bar, for text after a speaker's name."""
    first, *further = text.splitlines() or [""]
    return "\n".join([first, *map(_barred, further)])


def bracket_lines_behind_bars(text: str) -> str:
    """Prefix the lines that start with a square bracket with a bar.

    White space and invisible characters before the bracket are skipped. Full-width and vertical
    forms of the bracket count as brackets; other look-alikes do not.
    """
    lines = text.splitlines()
    return "\n".join(_barred(line) if _opens_with_bracket(line) else line for line in lines)


def quoted_id(identifier: str) -> str:
    """Return an id of plain characters unchanged, and any other id as a JSON string."""
    return identifier if PLAIN_ID.fullmatch(identifier) else quoted(identifier)


def minute_of(moment: datetime) -> str:
    """Format a time for prompts, in UTC to the minute: `2026-02-18 14:50 UTC`."""
    return f"{to_utc(moment):%Y-%m-%d %H:%M} UTC"


def _barred(line: str) -> str:
    return f"{BAR} {line}" if line else BAR


def _opens_with_bracket(line: str) -> bool:
    seen = (one for one in line if one.isprintable() and not one.isspace())
    return unicodedata.normalize("NFKC", next(seen, "")) == "["


def _visible(character: str) -> str:
    """Return the character, a space for white space and controls, or nothing if invisible."""
    if character.isprintable():
        return character
    return " " if character.isspace() or unicodedata.category(character) == "Cc" else ""


def _escaped(character: str) -> str:
    """Escape a character as in JSON: one UTF-16 unit, or two beyond U+FFFF."""
    return json.dumps(character)[1:-1]
