"""Render the payload of a webhook as lines that each begin with a bar.

A payload can contain any text. A JSON payload is indented, but not quoted again. All unprintable
characters are escaped, so that no string can begin a new line. Numbers keep their digits, and a
name that occurs twice in an object is shown twice.
"""

import json
from typing import Any, NamedTuple, NoReturn

from skein.services.common.quoting import behind_bars, escaped, quoted

WIDTH = 80  # an object or array of at most this many characters stays on one line
DEEPEST = 8  # levels of indentation; deeper values stay on one line
INDENT = "  "


class _Number(str):
    """A JSON number, as it was written."""

    __slots__ = ()


class _Object(NamedTuple):
    """The names and values of a JSON object, as they were written."""

    pairs: list[tuple[str, Any]]


def payload_block(payload: str) -> str:
    """Render a payload: its kind, then its lines, each of which begins with a bar.

    JSON is indented. Any other text is shown line by line.
    """
    try:
        value = json.loads(
            payload,
            object_pairs_hook=_Object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refused,
        )
        kind, lines = "JSON", _lines(value, 0)
    except (ValueError, RecursionError):
        kind, lines = "text", [escaped(line) for line in payload.splitlines()]
    return f"{kind}\n{behind_bars(chr(10).join(lines))}"


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _lines(value: Any, level: int) -> list[str]:
    """Render a value as lines. A short or very deep value has one line."""
    flat = _flat(value)
    if len(flat) <= WIDTH or level == DEEPEST:
        return [flat]
    if isinstance(value, _Object):
        opening, closing = "{}"
        parts = [(f"{quoted(name)}: ", each) for name, each in value.pairs]
    elif isinstance(value, list):
        opening, closing = "[]"
        parts = [("", each) for each in value]
    else:
        return [flat]
    lines = [opening]
    for name, each in parts:
        first, *further = _lines(each, level + 1)
        lines += [f"{INDENT}{name}{first}", *(f"{INDENT}{line}" for line in further)]
        lines[-1] += ","
    lines[-1] = lines[-1].removesuffix(",")
    return [*lines, closing]


def _flat(value: Any) -> str:
    """Render a value on one line."""
    if isinstance(value, _Object):
        pairs = (f"{quoted(name)}: {_flat(each)}" for name, each in value.pairs)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flat, value))}]"
    if isinstance(value, _Number):
        return str(value)
    return quoted(value) if isinstance(value, str) else json.dumps(value)
