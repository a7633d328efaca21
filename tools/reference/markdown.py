"""Tables of the reference pages."""

from collections.abc import Iterable


def table(*head: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    first, *others = (f"| {' | '.join(cells)} |\n" for cells in (head, *rows))
    return f"{first}|{'---|' * len(head)}\n{''.join(others)}"
