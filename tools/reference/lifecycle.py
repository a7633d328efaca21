"""The diagram and the table in docs/runs.md that show the life of a run."""

from skein.services.runs.lifecycle import LIFECYCLE, Event
from tools.reference.markdown import table

DIAGRAM, TABLE = "```mermaid\nstateDiagram-v2\n", "| event | status |"


def with_lifecycle(page: str) -> str:
    """Return docs/runs.md with the diagram and the table that `LIFECYCLE` describes.

    Raises:
        ValueError: The page has no such diagram or table.
    """
    for start, end, content in ((DIAGRAM, "```\n", diagram()), (TABLE, "\n\n", events())):
        before, found, after = page.partition(start)
        if not found:
            raise ValueError(f"docs/runs.md has no {start!r}")
        page = before + content + after[after.index(end) + (end == "\n\n") :]
    return page


def diagram() -> str:
    """Return a diagram of the statuses, with the events between them, in Mermaid's notation."""
    names: dict[tuple[str, str], list[str]] = {}
    for event in LIFECYCLE:
        for before in event.before or ("[*]",):
            if event.after is not None and event.after != before:
                names.setdefault((before, event.after), []).append(event.name)
    arrows = (f"    {a} --> {b}: {', '.join(events)}\n" for (a, b), events in names.items())
    return DIAGRAM + "".join(arrows)


def events() -> str:
    """Return the events of a run as a table in Markdown."""
    return table("event", "status", "written together", "by", "reasons", rows=map(_row, LIFECYCLE))


def _row(event: Event) -> tuple[str, ...]:
    after = event.after or "the same"
    return (
        event.name,
        f"{' or '.join(event.before) or 'none'} → {after}",
        event.written,
        ", ".join(f"`{each}`" for each in event.writes.split(", ")),
        ", ".join(f"`{each}`" for each in event.reasons) or "-",
    )
