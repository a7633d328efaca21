"""Calls of the local stack as `docs/local.md` describes them."""

import re
from dataclasses import dataclass

from local.template import ROOT

HEADING = re.compile(r"^### `(GET|POST) /local/(\w+)`$", flags=re.MULTILINE)
NAMES = re.compile(r"^- (Request|Query|Response): (.*\n(?:  .*\n)*)", re.MULTILINE)
EXAMPLE = re.compile(r"^```sh\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class DocumentedCall:
    """One call of the page.

    Attributes:
        names: The fields of the body or the parameters of the query.
        response: The fields of the response, such as `items[].sid`.
        example: The shell command that makes the call.
    """

    names: tuple[str, ...]
    response: frozenset[str]
    example: str


def page() -> str:
    """Return the text of the page."""
    return (ROOT / "docs" / "local.md").read_text(encoding="utf-8")


def documented_calls() -> dict[tuple[str, str], DocumentedCall]:
    """Parse the page's calls, by method and name."""
    text = page()
    headings = list(HEADING.finditer(text))
    return {(found[1], found[2]): _call(_section(text, found.end())) for found in headings}


def _section(text: str, start: int) -> str:
    return re.split(r"^##", text[start:], maxsplit=1, flags=re.MULTILINE)[0]


def _call(section: str) -> DocumentedCall:
    lists = {
        found[1]: tuple(re.findall("`([^`]+)`", found[2])) for found in NAMES.finditer(section)
    }
    [example] = EXAMPLE.findall(section)
    return DocumentedCall(
        names=lists.get("Request", ()) + lists.get("Query", ()),
        response=frozenset(lists["Response"]),
        example=example,
    )
