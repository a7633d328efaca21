"""The generated pages of `docs/`, by file name."""

from collections.abc import Callable, Mapping

from routes.document import openapi
from skein.adapters.tokens import Tokens
from tests.support.template import deployed_template, ops_template
from tools.reference import (
    calls,
    channels,
    cost,
    data,
    prompts,
    reasons,
    settings,
    stack,
    tools,
)

PAGES: Mapping[str, Callable[[], str]] = {
    "calls.md": lambda: calls.page(openapi.document()),
    "channels.md": channels.page,
    "cost.md": cost.page,
    "data.md": data.page,
    "prompts.md": prompts.page,
    "reasons.md": reasons.page,
    "settings.md": settings.page,
    "stack.md": lambda: stack.page(deployed_template(), ops_template()),
    "tools.md": lambda: tools.page(Tokens()),
}


def pages() -> dict[str, str]:
    """Return the content of each generated page, in Markdown."""
    return {name: generate() for name, generate in PAGES.items()}
