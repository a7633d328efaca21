"""Keeps what people typed inside its quotes and on its line, whatever it is."""

import json
import re

PLAIN_NAME = re.compile(r"[^\W_]+(?:[ '.\-][^\W_]+)*")


def quoted(text: str) -> str:
    """`text` as a JSON string in which every kind of line separator is escaped.

    The same holds for everything else that cannot be seen, such as marks that turn the direction
    of writing, so that what a reader sees is what was typed.
    """
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else _escaped(c) for c in plain)


def label(name: str) -> str:
    """A name as it is if it is plain words, else as a JSON string."""
    return name if PLAIN_NAME.fullmatch(name) and name != "You" else quoted(name)


def _escaped(character: str) -> str:
    """A character as JSON escapes it: one or, beyond the basic plane, two units of UTF-16."""
    return json.dumps(character)[1:-1]
