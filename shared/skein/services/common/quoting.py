"""Quote text in prompts and questions, so that it cannot break out of its quotes or its line."""

import json
import re
import unicodedata
from datetime import datetime
from typing import Any

from skein.models.common.base import to_utc
from skein.models.common.characters import is_visible, on_one_line

PLAIN_ID = re.compile(r"[A-Za-z0-9_.@|\-]+")
BAR = "|"
# Characters that look like a double quotation mark, and apostrophes that do so in a row.
QUOTATION_MARKS = re.compile(
    '["\u02ba\u02dd\u02ee\u05f4\u201c-\u201f\u2033\u2034\u2036\u2037\u2057\u275d\u275e\u2e42\u3003\u301d-\u301f\uff02'
    "\U0001f676-\U0001f678]|(?<!\\w)[\u030b\u030e\u030f]"
    "|['`\u00b4\u02b9\u02bb-\u02bd\u02c8\u02ca\u02cb\u2018-\u201b\u2032\u2035\u275b\u275c\uff07]{2,}"
)
# Where a phone detects a link.
LINK = re.compile("(?<=\\S)[.\u3002\uff0e\uff61](?=\\w)|:(?=//)")
# Markdown and HTML that would hide an address or a character. A space makes them plain text.
HIDING = re.compile(r"(?<=\])(?=[(\[:])|(?<=<)(?=[A-Za-z/!?])|(?<=&)(?=#?\w+;)")


def quoted(text: str) -> str:
    """Return `text` as a JSON string with every unprintable character escaped.

    Line separators and the marks that change the direction of writing are escaped, too, so a reader
    sees exactly the text that was typed.
    """
    return quoted_json(text)


def quoted_json(value: Any) -> str:
    """Return a value as JSON on one line, with every unprintable character escaped."""
    return escaped(json.dumps(value, ensure_ascii=False))


def escaped(text: str) -> str:
    """Return `text` with every unprintable character escaped as in JSON."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def exact_json(value: Any) -> str:
    """Return a value as one line of JSON that shows each character and parses to the same value.

    Unlike `quoted_json`, this function also escapes invisible characters that Unicode counts as
    printable, and the second of two spaces. So no client or channel can change the value that the
    reader sees.

    Raises:
        ValueError: The value contains a number that JSON cannot express, such as infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    shown = "".join(c if is_visible(c) else _escaped(c) for c in text)
    return shown.replace("  ", " \\u0020")


def quotable(text: str) -> str:
    """Return `text` in a form that is safe between quotation marks.

    The result is one line without invisible marks. Quotation marks become apostrophes, so that the
    text cannot close the quotation. Markdown and HTML that could hide an address or a character are
    broken up by spaces.
    """
    return HIDING.sub(" ", QUOTATION_MARKS.sub("'", on_one_line(text)))


def without_links(text: str) -> str:
    """Return `text` with spaces in web addresses, so that phones do not turn them into links.

    `https://a.example` becomes `https: //a. example`.
    """
    return LINK.sub(r"\g<0> ", text)


def in_quotes(text: str) -> str:
    """Return `text` as a quotation for people: `"I am late"`. See `quotable`."""
    return f'"{quotable(text)}"'


def behind_bars(text: str) -> str:
    """Prefix each line of `text` with a bar.

    In a prompt, no entry, section or list item starts with a bar, so none of these lines can be
    mistaken for the start of an entry, a section or a list item.

    Lines end at any Unicode line separator (`str.splitlines`).
    """
    return "\n".join(map(_barred, text.splitlines()))


def further_lines_behind_bars(text: str) -> str:
    """In a text that follows a speaker's name, put a bar before each line except the first."""
    first, *further = text.splitlines() or [""]
    return "\n".join([first, *map(_barred, further)])


def bracket_lines_behind_bars(text: str) -> str:
    """Put a bar before each line that starts with a square bracket.

    A line also counts if only white space and invisible characters precede the bracket. Full-width
    and vertical forms of the bracket count as brackets; other look-alikes do not.
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


def _escaped(character: str) -> str:
    """Escape a character as in JSON: one UTF-16 unit, or two beyond U+FFFF."""
    return json.dumps(character)[1:-1]
