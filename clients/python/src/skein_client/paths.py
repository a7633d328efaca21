"""Paths of the API."""

from urllib.parse import quote


def path(template: str, *values: str | int) -> str:
    """Return a path with percent-encoded values in place of its braces."""
    return template.format(*(quote(str(value), safe="") for value in values))
