"""The web site with the docs has every page, and needs no other host."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.docs_site import ROOT, collect, for_mkdocs, foreign_loads

DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
KINDS = ("flowchart ", "sequenceDiagram", "stateDiagram-v2")


class Loader(yaml.SafeLoader):
    """Reads MkDocs's configuration without the Python objects that it names."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def configuration() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    return loaded


def pages(nav: Any) -> Iterator[str]:
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, str):
                yield value
            else:
                yield from pages(value)


def test_navigation_has_each_page_once() -> None:
    listed = list(pages(configuration()["nav"]))
    assert len(set(listed)) == len(listed)
    docs = {f"{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*.md")}
    assert docs == {name for name in listed if name.startswith("docs/")}


def test_page_of_navigation_is_reached_from_the_readme() -> None:
    reached = {f"{path.relative_to(ROOT)}" for path in collect(ROOT / "README.md")}
    assert set(pages(configuration()["nav"])) <= reached


def test_theme_uses_no_font_of_another_host() -> None:
    assert configuration()["theme"]["font"] is False


def test_collect_follows_links_within_the_repository(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    start = tmp_path / "README.md"
    start.write_text("[a](docs/limits.md#part) [b](https://example.com/b.md) [c](../outside.md)")
    (tmp_path / "docs" / "limits.md").write_text(
        "![d](d.png) [readme](../README.md) [e](missing.md)"
    )
    (tmp_path / "docs" / "d.png").write_bytes(b"")
    (tmp_path / "docs" / "unlinked.md").write_text("")
    names = [f"{path.relative_to(tmp_path)}" for path in collect(start, tmp_path)]
    assert names == ["README.md", "docs/d.png", "docs/limits.md"]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("Text:\n- a\n- b\n", "Text:\n\n- a\n- b\n"),
        ("- a\n  more\n- b\n", "- a\n    more\n- b\n"),
        ("1. a\n\n   more\n\n2. b\n", "1. a\n\n    more\n\n2. b\n"),
        ("- a\n  - b\n    more\n- c\n", "- a\n    - b\n        more\n- c\n"),
        ("1. a\n\n   ```\n   x\n     y\n   ```\n\nEnd.\n", None),
        ("```\n- a\n  b\n```\n", "```\n- a\n  b\n```\n"),
        ("- a\n\nText.\n    code\n", "- a\n\nText.\n    code\n"),
    ],
)
def test_page_for_mkdocs_has_its_lists(page: str, expected: str | None) -> None:
    if expected is None:
        expected = "1. a\n\n    ```\n    x\n      y\n    ```\n\nEnd.\n"
    assert for_mkdocs(page) == expected


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.html", '<script src="https://cdn.example/x.js"></script>', 1),
        ("a.html", '<link rel="stylesheet" href="//fonts.example/x.css">', 1),
        ("a.html", "<link href=https://fonts.example rel=preconnect>", 1),
        ("a.html", '<img src="https://example.com/x.png">', 1),
        ("a.css", "@import url(https://fonts.example/x.css);", 2),
        ("a.css", "src: url('https://fonts.example/x.woff')", 1),
        ("a.html", '<a href="https://example.com">read</a> <script src="x.js"></script>', 0),
    ],
)
def test_load_from_another_host_is_found(tmp_path: Path, name: str, text: str, found: int) -> None:
    (tmp_path / name).write_text(text)
    assert len(foreign_loads(tmp_path)) == found


def test_diagrams_are_of_known_kinds() -> None:
    """`make test-console` parses them with Mermaid itself."""
    for path in (ROOT / "docs").rglob("*.md"):
        for text in DIAGRAM.findall(path.read_text(encoding="utf-8")):
            assert text.startswith(KINDS), path.name
