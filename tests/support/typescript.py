"""Our client for TypeScript, built from its sources."""

import os
import shutil
from pathlib import Path

import pytest

from tools import generators

ROOT = Path(__file__).resolve().parents[2]
TYPESCRIPT = ROOT / "clients" / "typescript"


def skip_without_generators() -> None:
    """Skip a test if the generators are not installed, which include TypeScript."""
    reason = generators.missing()
    if reason is not None:
        if os.environ.get("SKEIN_REQUIRE_GENERATORS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


def build_typescript(folder: Path) -> Path:
    """Build the client for TypeScript in a folder, and return the package."""
    package = folder / "package"
    shutil.copytree(TYPESCRIPT, package, ignore=shutil.ignore_patterns("dist", "node_modules"))
    (package / "node_modules").symlink_to(generators.NODE / "node_modules")
    generators.node("tsc", "-p", ".", folder=package)
    return package
