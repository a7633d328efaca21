"""Reads the JSON that a model was asked for, however it was wrapped."""

import json
from collections.abc import Collection
from typing import Any

_DECODER = json.JSONDecoder()


def json_object_in(text: str, having: Collection[str]) -> dict[str, Any] | None:
    """The first JSON object in `text`: alone, in a fenced block, or with words around it.

    Args:
        text: What a model said; words before the answer may hold other objects.
        having: The object has at least one of these keys.

    Returns:
        The object; None when there is none that can be read.
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
