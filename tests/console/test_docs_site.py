"""The web site with the docs, in a browser: its diagrams, and what it loads."""

import os
import re

import pytest
from playwright.sync_api import Page

from tools.docs_site import MERMAID_SCRIPT, ROOT, SITE

DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
DIAGRAMS = [
    (path.name, text)
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for text in DIAGRAM.findall(path.read_text(encoding="utf-8"))
]
PARSE = (
    "async text => { await window.mermaid.parse(text); await window.mermaid.render('d', text); }"
)


def built(path: str) -> None:
    """Skip a test of the built site where the site is not built."""
    if not (ROOT / path).exists():
        reason = "the site is not built: `make docs`"
        if os.environ.get("SKEIN_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


def test_diagrams_of_docs_are_valid(page: Page) -> None:
    built(f"{MERMAID_SCRIPT.relative_to(ROOT)}")
    page.add_script_tag(path=MERMAID_SCRIPT)
    failed = []
    for name, text in DIAGRAMS:
        try:
            page.evaluate(PARSE, text)
        except Exception as error:  # any error of the page is a finding
            failed.append(f"{name}: {error}")
    assert failed == []


@pytest.mark.parametrize("name", ["index.html", "docs/runs.html"])
def test_page_of_site_loads_nothing_from_other_hosts(page: Page, name: str) -> None:
    built("build/site/index.html")
    loaded: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{(SITE / name).as_uri()}", wait_until="networkidle")
    assert loaded
    assert [url for url in loaded if not url.startswith(("file:", "data:", "blob:"))] == []
    assert errors == []
