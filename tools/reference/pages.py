"""The generated pages of `docs/`, by file name."""

from collections.abc import Callable, Mapping

from local.template import Template
from routes.document import openapi
from tools.reference import alarms, calls, reasons

PAGES: Mapping[str, Callable[[], str]] = {
    "alarm-list.md": lambda: alarms.page(Template.load()),
    "calls.md": lambda: calls.page(openapi.document()),
    "reasons.md": reasons.page,
}


def pages() -> dict[str, str]:
    """Return the content of each generated page, in Markdown."""
    return {name: generate() for name, generate in PAGES.items()}
