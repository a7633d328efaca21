"""The web site with the docs has every page, and needs no other host."""

from collections.abc import Iterator
from typing import Any

import yaml

from tools.docs_site import ROOT, collect


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
