"""The rooms of the house, and which way its doors open."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "shared" / "skein"

# Each room may import itself and what stands to its right.
ORDER = ["functions", "bootstrap", "agent", "services", "ports", "models", "errors"]
BESIDE = {  # what stands beside the row, and from where it may be imported
    "correlation": {"logs", "agent", "services"},
    "masking": {"functions", "logs", "agent", "services"},
    "prompts": {"agent", "services"},
    "settings": {"functions", "bootstrap", "agent", "services", "adapters", "local"},
    "adapters": {"bootstrap", "local"},
    "http": {"functions"},
    "invocations": {"functions"},
    "sqs_events": {"functions"},
    "logs": {"functions", "local"},
}
OUTSIDE = {"boto3", "botocore", "openai", "tiktoken", "twilio", "xllamacpp", "ministack"}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the way"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room(path: Path) -> str:
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return path.relative_to(ROOT).parts[0]


def _files(*folders: Path) -> list[Path]:
    found = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    assert found
    return found


@pytest.mark.parametrize(
    "path", _files(PACKAGE, ROOT / "functions"), ids=lambda p: str(p.relative_to(ROOT))
)
def test_imports_run_one_way(path: Path) -> None:
    room = _room(path)
    for name in _imports(path):
        parts = name.split(".")
        if parts[0] != "skein" or len(parts) < 2:
            continue
        target = parts[1]
        if target == room:
            continue
        if target in BESIDE:
            assert room in BESIDE[target], f"{room} may not import {name}"
        elif room in ORDER:
            assert ORDER.index(room) < ORDER.index(target), f"{room} may not import {name}"
        else:
            allowed = {"ports", "models", "errors"} | ({"bootstrap"} if room == "logs" else set())
            assert target in allowed, f"{room} may not import {name}"


@pytest.mark.parametrize(
    "path", _files(PACKAGE, ROOT / "functions"), ids=lambda p: str(p.relative_to(ROOT))
)
def test_only_adapters_touch_the_outside(path: Path) -> None:
    if _room(path) != "adapters":
        assert not {name.split(".")[0] for name in _imports(path)} & OUTSIDE


def test_only_the_composition_root_and_the_local_stack_know_adapters() -> None:
    for path in _files(PACKAGE, ROOT / "functions"):
        if _room(path) not in {"bootstrap", "adapters"}:
            assert not any(name.startswith("skein.adapters") for name in _imports(path)), path


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
