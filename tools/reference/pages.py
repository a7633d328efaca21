"""The generated pages of `docs/`, by file name."""

from routes import openapi
from tools.reference import calls, reasons


def pages() -> dict[str, str]:
    """Return the content of each generated page, in Markdown."""
    return {"calls.md": calls.page(openapi.document()), "reasons.md": reasons.page()}
