"""The generated pages of `docs/`, by file name."""

from local.template import Template
from routes import openapi
from tools.reference import alarms, calls, reasons


def pages() -> dict[str, str]:
    """Return the content of each generated page, in Markdown."""
    return {
        "alarm-list.md": alarms.page(Template.load()),
        "calls.md": calls.page(openapi.document()),
        "reasons.md": reasons.page(),
    }
