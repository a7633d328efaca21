"""Reads the JSON that a model was asked for, however it was wrapped."""

import json
from typing import Any

_DECODER = json.JSONDecoder()


def json_object_in(text: str) -> dict[str, Any] | None:
    """The first JSON object in `text`: alone, in a fenced block, or with words around it.

    Returns:
        The object; None when there is none that can be read.
    """
    position = text.find("{")
    while position >= 0:
        try:
            found, _ = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        position = text.find("{", position + 1)
    return None
