"""Code generators read the OpenAPI document without a warning, and their clients work."""

import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import skein
from routes.document import asyncapi
from routes.document.openapi import document
from tests.e2e.client import Client
from tests.support.scripted_openai import ScriptedOpenAI
from tools import generators
from tools.generators import NODE, PYTHON, ROOT, SOURCES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

CONVERSATION = ["1 user: Should I stretch?", "2 agent: Yes, but slowly."]
NUMBERED = re.compile(r"^(?:class|export (?:type|interface|enum)) (\w+?\d+)\b", re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    """Skip tests without the generators, which only `make generators` installs."""
    reason = generators.missing()
    if reason is None:
        return
    if os.environ.get("SKEIN_REQUIRE_GENERATORS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def described(tmp_path: Path) -> Path:
    """The OpenAPI document as a file."""
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document()), encoding="utf-8")
    return path


@pytest.fixture
def converse(
    client: Client, model: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[list[str]], list[str]]:
    """Runs a program that creates an agent, writes to it and prints the messages."""

    def conversed(command: list[str]) -> list[str]:
        model.say("Yes, but slowly.")
        monkeypatch.setenv("URL", client.url)
        monkeypatch.setenv("TOKEN", client.token("dana", "chat admin", tmp_path.name[:40]))
        return generators.run(command, tmp_path).stdout.splitlines()

    return conversed


def numbered(folder: Path) -> list[str]:
    """Return the generated types whose names end with a number."""
    files = [*folder.rglob("*.py"), *folder.rglob("*.ts")]
    return [name for path in files for name in NUMBERED.findall(path.read_text(encoding="utf-8"))]


def copy_sources(folder: Path, *names: str) -> None:
    """Copy files of `tests/e2e/generators` beside the generated code."""
    for name in names:
        shutil.copy(SOURCES / name, folder / name)


def compile_and_run(
    folder: Path, program: str, converse: Callable[[list[str]], list[str]]
) -> list[str]:
    """Check the types strictly, compile to JavaScript, and run a program."""
    copy_sources(folder, "tsconfig.json", f"{program}.ts")
    (folder / "node_modules").symlink_to(NODE / "node_modules")
    generators.node("tsc", "-p", ".", folder=folder)
    compiled = ("--noEmit", "false", "--outDir", "out", "--module", "CommonJS")
    generators.node("tsc", "-p", ".", *compiled, "--moduleResolution", "Node10", folder=folder)
    return converse(["node", f"out/{program}.js"])


def test_lint_of_the_document_has_no_problem(described: Path) -> None:
    assert generators.lint(described) == []


def test_lint_of_the_live_channel_s_document_has_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "asyncapi.json"
    path.write_text(json.dumps(asyncapi.document()), encoding="utf-8")
    assert generators.lint(path) == []


def test_spectral_lint_of_a_document_without_a_contact_warns(tmp_path: Path) -> None:
    path, info = tmp_path / "openapi.json", dict(document()["info"])
    del info["contact"]
    path.write_text(json.dumps({**document(), "info": info}), encoding="utf-8")
    [warning] = generators.lint(path)
    assert warning.startswith("info-contact")


def test_document_is_valid_openapi(described: Path, tmp_path: Path) -> None:
    command = [str(PYTHON / "python"), "-m", "openapi_spec_validator", str(described)]
    assert generators.run(command, tmp_path).stdout.strip().endswith("OK")


def test_redocly_lint_of_an_invalid_document_fails(tmp_path: Path) -> None:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps({**document(), "paths": {"/a": {"get": {}}}}), encoding="utf-8")
    with pytest.raises(generators.GeneratorError, match="operation-"):
        generators.lint(path)


def test_openapi_python_client_holds_a_conversation(
    described: Path, tmp_path: Path, converse: Callable[[list[str]], list[str]]
) -> None:
    package = tmp_path / "skein_api"
    generators.generate_python_client(described, package)
    assert numbered(package) == []
    python = str(PYTHON / "python")
    generators.run([python, "-m", "compileall", "-q", str(package)], tmp_path)
    every = "import importlib, pkgutil, skein_api as top\nfor found in pkgutil.walk_packages("
    every += "top.__path__, 'skein_api.'):\n    importlib.import_module(found.name)"
    generators.run([python, "-c", every], tmp_path)
    copy_sources(tmp_path, "converse_client.py")
    assert converse([python, "converse_client.py"]) == CONVERSATION


def test_datamodel_code_generator_holds_a_conversation(
    described: Path, tmp_path: Path, converse: Callable[[list[str]], list[str]]
) -> None:
    generators.generate_models(described, tmp_path / "skein_models.py")
    assert numbered(tmp_path) == []
    copy_sources(tmp_path, "converse_models.py")
    assert converse([str(PYTHON / "python"), "converse_models.py"]) == CONVERSATION


def test_openapi_typescript_holds_a_conversation(
    described: Path, tmp_path: Path, converse: Callable[[list[str]], list[str]]
) -> None:
    generators.generate_types(described, tmp_path / "schema.ts")
    assert numbered(tmp_path) == []
    assert compile_and_run(tmp_path, "converse_types", converse) == CONVERSATION


def test_hey_api_client_completes_the_conversation(
    described: Path, tmp_path: Path, converse: Callable[[list[str]], list[str]]
) -> None:
    generators.generate_hey_client(described, tmp_path / "hey")
    types = (tmp_path / "hey" / "types.gen.ts").read_text(encoding="utf-8")
    assert NUMBERED.findall(types) == []
    assert compile_and_run(tmp_path, "converse_hey", converse) == CONVERSATION


# ---------------------------------------------------------------------- our clients


def test_types_of_our_clients_are_those_of_the_document(described: Path) -> None:
    for path, text in generators.client_types(described).items():
        assert path.read_text(encoding="utf-8") == text, "run `make client-types`"


def test_python_client_is_built_as_a_wheel_that_can_be_published(tmp_path: Path) -> None:
    source = tmp_path / "python"
    shutil.copytree(ROOT / "clients" / "python", source)
    build = "import setuptools.build_meta as backend; backend.build_wheel('dist')"
    (source / "dist").mkdir()
    # setuptools itself warns with its own deprecations.
    generators.run([str(PYTHON / "python"), "-W", "default", "-c", build], source)
    [wheel] = (source / "dist").glob("*.whl")
    assert wheel.name == f"skein_client-{skein.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        [metadata] = [packed.read(name).decode() for name in names if name.endswith("METADATA")]
    modules = {"__init__", "api_types", "async_client", "backoff", "client", "errors"}
    assert {f"skein_client/{name}.py" for name in modules} | {"skein_client/py.typed"} <= {*names}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "License-Expression: Apache-2.0" in metadata
    for line in ("Requires-Dist: websockets", "Requires-Dist: httpx2", "Framework :: AsyncIO"):
        assert line in metadata
    assert "# skein-client" in metadata
