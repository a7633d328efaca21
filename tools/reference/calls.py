"""Content of docs/calls.md: each HTTP call, from the OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from skein.channels.registry import PROVIDERS
from tools.reference.markdown import table

Json = Mapping[str, Any]

HEAD = """# HTTP calls

Every call of the HTTP API, by subject. [api.md](api.md) has the rules for all calls and explains
how they work together. `GET /docs` of a running Skein describes each call with its parameters,
fields and examples, and `GET /openapi.json` is the OpenAPI document for code generators.

- **Operation** is the operation id, which generated clients use as the name of the call.
- **Scope** is the scope that the token needs.
- **Errors** are the statuses that are particular to the call. Calls with a token may also answer
  401, 403, 422, 429, 500 and 503 ([errors](api.md#errors)).

`make reference` writes this page.
"""
COLUMNS = ("call", "operation", "scope", "what it does", "errors")
COMMON_ERRORS = frozenset({"401", "403", "422", "429", "500", "503"})

# The headings of the page, each with the tags of the OpenAPI document that belong there.
GROUPS = {
    "The caller": ("me",),
    "Chats and their members": ("chats", "members"),
    "Messages": ("messages", "media"),
    "The live channel": ("live",),
    "Agents": ("agents",),
    "Memories and recall": ("memories", "recall"),
    "Goals, plans and threads": ("goals", "plans", "threads"),
    "Documents and skills": ("documents", "skills"),
    "Knowledge": ("sources",),
    "Web chat": ("widgets",),
    "Tools of your own": ("tools", "approvals"),
    "The desk": ("desk",),
    "Errands": ("errands",),
    "Outreach": ("outreach",),
    "People": ("users", "privacy"),
    "API keys": ("keys",),
    "Phone lines and webhook services": ("lines", "events", "services"),
    "Runs": ("runs",),
    "Trials": ("trials",),
    "Operation": ("service", "settings", "sharing", "usage", "audit"),
}
# The paths of a provider's webhooks, and what they do.
WEBHOOKS = {"sms": "Receive an inbound SMS", "status": "Receive the delivery status of an SMS"}
# Calls without a token that the OpenAPI document leaves out: what calls them, and what they do.
OTHERS = {
    "GET /openapi.json": ("anybody", "Get the OpenAPI document"),
    "GET /v1/m/{token}": ("anyone with the link", "Download an image or file from a link"),
    "GET /asyncapi.json": ("anybody", "Get the AsyncAPI document of the live channel"),
    "GET /docs": ("anybody", "Read the OpenAPI document as a page"),
    "GET /": ("anybody", "Redirect to the console"),
    "GET /console": ("anybody", "Redirect to the console"),
    "GET /console/": ("anybody", "Get the console; its files are below this path"),
    **{
        f"POST /webhooks/{name}/{path}": (f"{name.title()}, with its signature", about)
        for name in PROVIDERS
        for path, about in WEBHOOKS.items()
    },
}
OTHERS_HEADING = "Calls outside the OpenAPI document"
ORDER = ("post", "get", "put", "patch", "delete")


def page(document: Json) -> str:
    """Return docs/calls.md in Markdown.

    Raises:
        ValueError: A tag of the document is under no heading.
    """
    unplaced = {tag["name"] for tag in document["tags"]}.difference(*GROUPS.values())
    if unplaced:
        raise ValueError(f"add the tags {sorted(unplaced)} to tools/reference/calls.py")
    parts = (_part(document, heading, tags) for heading, tags in GROUPS.items())
    rows = ((f"`{call}`", caller, about) for call, (caller, about) in OTHERS.items())
    others = table("call", "caller", "what it does", rows=rows)
    return f"{HEAD}{''.join(parts)}\n## {OTHERS_HEADING}\n\n{others}"


def _part(document: Json, heading: str, tags: tuple[str, ...]) -> str:
    """Return a heading of the page and the calls with its tags, in the order of the tags."""
    found = sorted(_calls(document, tags), key=lambda call: call[:3])
    return f"\n## {heading}\n\n{table(*COLUMNS, rows=(row for *_, row in found))}"


def _calls(
    document: Json, tags: tuple[str, ...]
) -> Iterator[tuple[int, str, int, tuple[str, ...]]]:
    """Yield the rows of the calls with these tags, with keys to sort them.

    The keys are the position of the tag, the path, and the position of the method.
    """
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            [tag] = operation["tags"]
            if tag in tags:
                row = _row(method, path, operation)
                yield tags.index(tag), path, ORDER.index(method), row


def _row(method: str, path: str, operation: Json) -> tuple[str, ...]:
    scopes = " ".join(f"`{name}`" for each in operation["security"] for name in each)
    errors = [
        status
        for status in operation["responses"]
        if status >= "400" and status not in COMMON_ERRORS
    ]
    return (
        f"`{method.upper()} {path}`",
        f"`{operation['operationId']}`",
        scopes or "-",
        operation["summary"],
        " ".join(errors) or "-",
    )
