"""Files for contributors: licences, walks and the version number."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import skein
from routes.document import openapi
from tools import notices

ROOT = Path(__file__).resolve().parents[2]


def test_notice_lists_each_shipped_package_with_its_licence() -> None:
    written = notices.NOTICE.read_text(encoding="utf-8")
    assert written == notices.notice(), "run .venv/bin/python -m tools.notices"


def test_package_without_a_licence_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = SimpleNamespace(json={"name": "unknown"})
    monkeypatch.setattr("tools.notices.metadata.metadata", lambda _: silent)
    with pytest.raises(ValueError, match="declares no licence"):
        notices.licence("unknown")


def test_licence_is_the_apache_license() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0"


def test_skein_has_one_version_number() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "skein.__version__"}
    assert openapi.document()["info"]["version"] == skein.__version__


def test_skein_ships_its_types() -> None:
    assert (ROOT / "shared" / "skein" / "py.typed").is_file()


def test_examples_of_the_walks_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    examples = re.findall(r"^Example: `(\w+)` in `([\w/.]+)`", text, flags=re.MULTILINE)
    assert len(examples) == 3
    for name, path in examples:
        assert re.search(rf"^\s*(?:def )?{name}\b", (ROOT / path).read_text("utf-8"), re.MULTILINE)


def test_each_release_of_the_changelog_has_each_heading_once() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert releases[0].startswith("[Unreleased]")
    for release in releases:
        headings = re.findall(r"^### (\w+)$", release, flags=re.MULTILINE)
        assert len(set(headings)) == len(headings), release.splitlines()[0]
        known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
        assert set(headings) <= known
