"""Find JSON in a model's answer, even if there is text around the JSON."""

import json
from collections.abc import Collection
from typing import Any

_DECODER = json.JSONDecoder()


def json_object_in(text: str, having: Collection[str]) -> dict[str, Any] | None:
    """Return the first JSON object in `text` that has one of the keys in `having`.

    The object may stand alone, in a fenced block, or between words.

    Args:
        text: A model's answer; other JSON objects may come first.
        having: The keys, of which the object must have at least one.

    Returns:
        The object; None if `text` contains no valid object with one of the keys.
    """
    position = text.find("{")
    while position >= 0:
        try:
            found, _ = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and any(key in found for key in having):
            return found
        position = text.find("{", position + 1)
    return None
