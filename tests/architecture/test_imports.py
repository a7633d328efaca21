"""Imports run one way, and importing reads and opens nothing.

The contracts are in `pyproject.toml` (`[tool.importlinter]`).
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.support.each import check_each
from tests.support.trees import imported
from tools.quality.figures import circles

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "shared" / "skein"
LINT = "from importlinter.cli import lint_imports; exit(lint_imports(no_cache=True))"
OUTSIDE = {"boto3", "botocore", "openai", "tiktoken", "twilio", "xllamacpp"}


@cache
def _files(*folders: Path) -> list[Path]:
    found = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    assert found
    return found


@cache
def _imports(path: Path) -> tuple[str, ...]:
    names = tuple(imported(path.read_text(encoding="utf-8")))
    assert not [name for name in names if name[0] == "."], f"{path}: relative imports hide the way"
    return names


def test_imports_keep_the_contracts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "shared"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_functions_import_neither_adapters_nor_external_libraries() -> None:
    for path in _files(ROOT / "functions"):
        names = list(_imports(path))
        assert not [name for name in names if name.startswith("skein.adapters")], path
        assert not {name.split(".")[0] for name in names} & OUTSIDE, path


@pytest.mark.parametrize("folder", ["shared", "functions"])
def test_deployed_code_imports_nothing_that_stays_behind(folder: str) -> None:
    """The fakes and the engine are in `tests`, which no build contains."""
    behind = {"tests", "bench", "local", "tools"}
    for path in _files(ROOT / folder):
        assert not {name.split(".")[0] for name in _imports(path)} & behind, path


def test_the_local_stack_imports_no_tests() -> None:
    """Reference pages measure what the tests play, and proofs of a build use their fake servers."""
    tools = ROOT / "tools"
    proofs = {tools / "rehearsal.py", tools / "lambda_runtime.py"}
    for path in _files(ROOT / "local", tools):
        if path in proofs or path.is_relative_to(tools / "reference"):
            continue
        assert not [name for name in _imports(path) if name.startswith("tests")], path


LAYERS = {PACKAGE / name for name in ("adapters", "agent", "bootstrap", "models", "services")}
PACKAGES = sorted(
    init.parent
    for init in PACKAGE.glob("*/**/__init__.py")
    if init.parent not in LAYERS and not {"adapters", "tools"} & set(init.parts)
)


def test_packages_name_the_modules_that_others_use() -> None:
    """`__all__` of a package lists its modules that are imported from outside it, and no others."""
    check_each({str(path.relative_to(PACKAGE)): path for path in PACKAGES}, _check_modules_named)


def _check_modules_named(package: Path) -> None:
    name = ".".join(package.relative_to(ROOT / "shared").parts)
    used = {
        module[len(name) + 1 :].split(".")[0]
        for path in _files(PACKAGE, ROOT / "functions", ROOT / "local", ROOT / "bench")
        for module in _imports(path)
        if module.startswith(f"{name}.") and not path.is_relative_to(package)
    }
    tree = ast.parse((package / "__init__.py").read_text())
    said = re.search(r"^__all__ = \[(.*?)\]", ast.unparse(tree), flags=re.MULTILINE)
    assert set(re.findall(r"'(\w+)'", said[1] if said else "")) == used
    assert ast.get_docstring(tree)


@pytest.mark.check  # in a process
def test_importing_everything_reads_no_environment_and_opens_no_connection() -> None:
    modules = [
        ".".join(path.relative_to(ROOT / "shared").with_suffix("").parts)
        for path in _files(PACKAGE)
        if path.name != "__init__.py"
    ]
    code = (
        "import os, socket\n"
        "def refuse(*args, **kwargs): raise AssertionError('a connection at import')\n"
        "socket.socket.connect = refuse\n"
        "asked = []\n"
        "get = os.environ.__class__.__getitem__\n"
        "def spy(self, key):\n"
        "    if key.startswith(('SKEIN_', 'OPENAI_', 'TWILIO_')): asked.append(key)\n"
        "    return get(self, key)\n"
        "os.environ.__class__.__getitem__ = spy\n"
        f"import {', '.join(modules)}\n"
        "assert not asked, asked\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={
            "PYTHONPATH": str(ROOT / "shared"),
            "PATH": "/usr/bin:/bin",
            "SKEIN_TABLE_NAME": "t",
            "OPENAI_API_KEY": "k",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_no_module_imports_itself_in_a_circle_not_even_by_its_package() -> None:
    """The contract `circles` compares siblings only, so it misses a module and its package."""
    assert circles() == []
