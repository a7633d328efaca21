"""What is installed is pinned, hashed and the same everywhere."""

import ast
import re
import sys
import tomllib
from collections.abc import Collection
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from local.template import ROOT, TEMPLATE
from tests.support.template import deployed_template
from tests.support.trees import imported, trees

FOLDER = ROOT / "requirements"
LOCKED = sorted(FOLDER.glob("*.txt"))
EXTRAS = r"(?:\[[^\]]*\])?"


def pins(name: str) -> dict[str, str]:
    text = (FOLDER / name).read_text(encoding="utf-8")
    return dict(re.findall(rf"^([a-z0-9._-]+){EXTRAS}==([^ ;\\]+)", text, re.MULTILINE))


def test_every_list_is_locked() -> None:
    lists = {path.stem for path in FOLDER.glob("*.in")}
    assert {path.stem for path in LOCKED} == lists - {"runtime"}  # which layer.in includes


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_every_pin_has_a_hash_and_names_no_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    requirements = [line for line in text.splitlines() if re.match(r"[a-z0-9]", line)]
    assert requirements
    assert all(re.match(rf"[a-z0-9._-]+{EXTRAS}==\S+.* \\$", line) for line in requirements)
    assert text.count(" \\\n    --hash=sha256:") >= len(requirements)
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted|file:|^\s*#.*/\w+/", text)


def test_tests_run_with_the_versions_that_are_deployed() -> None:
    deployed, tested = pins("layer.txt"), pins("dev.txt")
    assert deployed
    assert {name: tested[name] for name in deployed} == deployed


@pytest.mark.parametrize(
    ("fewer", "more"),
    [
        ("layer.txt", "dev.txt"),
        ("run.txt", "dev.txt"),
    ],
)
def test_larger_list_has_the_same_versions(fewer: str, more: str) -> None:
    assert pins(fewer).items() <= pins(more).items()


def test_run_list_has_no_emulator_sdk_or_linter() -> None:
    assert (
        not {"boto3", "botocore", "ministack", "moto", "mypy", "pytest", "ruff"}
        & pins("run.txt").keys()
    )


def test_local_stack_imports_only_packages_of_its_run_list() -> None:
    client = ROOT / "clients" / "python" / "src"
    files = [*(ROOT / "local").rglob("*.py"), *client.rglob("*.py")]
    functions = {path.stem for path in (ROOT / "functions").iterdir()}
    ours = {"local", "skein", "skein_client", "tools", *functions}
    found = {name for path in files for name in imports(path)} - ours - sys.stdlib_module_names
    assert found & pins("run.txt").keys()
    assert not not_among(found, pins("run.txt"))


def not_among(packages: set[str], pinned: Collection[str]) -> set[str]:
    """The imported packages whose distributions are not among the pinned ones."""
    distributions = packages_distributions()
    return {
        name
        for name in packages
        if not {d.lower().replace("_", "-") for d in distributions.get(name, [])} & set(pinned)
    }


def test_wheel_has_one_package_with_all_that_runs_and_needs_the_run_list() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    assert hatch["metadata"]["hooks"]["requirements_txt"] == {"files": ["requirements/run.txt"]}
    wheel = hatch["build"]["targets"]["wheel"]
    included = wheel["force-include"]
    assert wheel["only-include"] == ["requirements/skein.pth"]
    assert included == {path: f"skein_stack/{path}" for path in included}
    assert all((ROOT / path).exists() for path in included)
    on_path = (FOLDER / "skein.pth").read_text(encoding="utf-8").split()
    assert {
        path for folder in on_path for path in included.values() if path.startswith(folder)
    } == {
        "skein_stack/clients/python/src/skein_client",
        "skein_stack/shared/skein",
    }
    read = {each.code for each in deployed_template().functions} | {ROOT / "shared", TEMPLATE}
    assert not [path for path in read if not _is_in(path, included)]


def _is_in(path: Path, included: Collection[str]) -> bool:
    places = [ROOT / each for each in included]
    return any(path.is_relative_to(each) or each.is_relative_to(path) for each in places)


def test_layer_has_the_aws_sdk_and_no_other_package_that_the_local_stack_does_not_need() -> None:
    more = pins("layer.txt").keys() - pins("run.txt").keys()
    assert "botocore" in more
    assert more <= {"botocore", "jmespath", "python-dateutil", "six"}


def test_deployed_code_imports_declared_packages_only() -> None:
    functions = ROOT / "functions"
    files = [*(ROOT / "shared").rglob("*.py"), *functions.rglob("*.py")]
    ours = {"skein", *(path.stem for path in functions.iterdir())}
    found = {name for path in files for name in imports(path)} - ours - sys.stdlib_module_names
    declared = {
        line.partition("[")[0]
        for name in ("layer.in", "runtime.in")
        for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()
    }
    assert found
    assert not not_among(found, declared)


def test_private_modules_of_libraries_are_those_that_contract_tests_pin() -> None:
    """An update may change them without notice; tests/contract/test_mcp_client.py calls this."""
    files = [
        path
        for folder in ("shared", "functions", "local")
        for path in (ROOT / folder).rglob("*.py")
    ]
    nodes = (node for _, tree in trees(files, r"from (?:_|\S*\._)") for node in ast.walk(tree))
    modules = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    private = {name for name in modules if re.search(r"(?:^|\.)_(?!_)", name)}
    assert private - {"_typeshed.wsgi"} == {"mcp.client._probe"}


def imports(path: Path) -> set[str]:
    """The packages that a file imports when it runs, wherever in it; not those for types alone."""
    text = re.sub(r"(?m)^( *)if TYPE_CHECKING:.*\n(?:\1 .*\n|\n)+", "", path.read_text("utf-8"))
    return {name.split(".")[0] for name in imported(text)}
