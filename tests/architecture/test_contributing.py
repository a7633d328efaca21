"""Files for contributors: licences, walks and the version number."""

import csv
import re
import tomllib
from pathlib import Path

import skein
from routes.document import openapi

ROOT = Path(__file__).resolve().parents[2]


def test_licences_are_those_of_the_packages_that_are_shipped() -> None:
    with (ROOT / "THIRD_PARTY_LICENSES.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    shipped = (ROOT / "requirements" / "layer.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9._-]+)==(\S+)", shipped, flags=re.MULTILINE)
    listed = {(row["Name"].lower().replace("_", "-"), row["Version"]) for row in rows}
    assert listed == set(pins), "run `make licences`"
    assert not [row["Name"] for row in rows if row["License"] in {"", "UNKNOWN"}]


def test_licence_is_the_apache_license() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0"


def test_skein_has_one_version_number() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["dependencies", "version"]
    assert project["tool"]["hatch"]["version"] == {"path": "shared/skein/__init__.py"}
    assert openapi.document()["info"]["version"] == skein.__version__


def test_package_is_marked_as_typed() -> None:
    assert (ROOT / "shared" / "skein" / "py.typed").is_file()


def test_examples_of_the_walks_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    examples = re.findall(r"^Example: `(\w+)` in `([\w/.]+)`", text, flags=re.MULTILINE)
    assert len(examples) == 5
    for name, path in examples:
        assert re.search(
            rf"^\s*(?:def |class )?{name}\b", (ROOT / path).read_text("utf-8"), re.MULTILINE
        )


def test_each_release_of_the_changelog_has_each_heading_once() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert releases[0].startswith("[Unreleased]")
    for release in releases:
        headings = re.findall(r"^### (\w+)$", release, flags=re.MULTILINE)
        assert len(set(headings)) == len(headings), release.splitlines()[0]
        known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
        assert set(headings) <= known
