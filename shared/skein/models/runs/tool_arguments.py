"""Arguments of tool calls as JSON: strict parsing, and a form that providers accept."""

import json
from math import isfinite
from typing import Any

from pydantic_core import from_json

MAX_REPEATED = 20_000  # characters of one call's arguments in the next request
MAX_REPEATED_TEXT = 2_000  # characters of one string, if the arguments exceed MAX_REPEATED


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object; blank text is an empty object.

    Raises:
        ValueError: The text is not a JSON object, names a member twice, or is nested too deep. NaN,
            infinity, numbers as large as 1e999 and lone surrogates are refused. The message does
            not quote the text.
    """
    text = text.strip() or "{}"
    try:
        value = from_json(text, allow_inf_nan=False)
        json.loads(text, object_pairs_hook=_named_once, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the text is wrong, not its type
    return value


def repeatable(text: str) -> str:
    """Render arguments for the next request, always as a JSON object.

    Arguments that cannot be parsed become the value of a member `unreadable`. The strings of very
    long arguments are cut.
    """
    try:
        value = json_object(text)
    except ValueError:
        return json.dumps({"unreadable": _shortened(text)}, ensure_ascii=False)
    if not text.strip():
        return "{}"
    if len(text) <= MAX_REPEATED:
        return text
    shorter = json.dumps({name: _shortened(part) for name, part in value.items()})
    if len(shorter) <= MAX_REPEATED:
        return shorter
    return json.dumps({"shortened": _shortened(text)}, ensure_ascii=False)


def _shortened(value: Any) -> Any:
    if isinstance(value, list):
        return [_shortened(part) for part in value]
    if not isinstance(value, str) or len(value) <= MAX_REPEATED_TEXT:
        return value
    missing = len(value) - MAX_REPEATED_TEXT
    return f"{value[:MAX_REPEATED_TEXT]} [{missing:,} characters are not repeated]"


def _finite(number: str) -> float:
    if not isfinite(value := float(number)):
        raise ValueError("a number is too large")
    return value


def _named_once(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) < len(members):
        raise ValueError("a field appears twice")
