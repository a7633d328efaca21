"""Copies the project into a folder, in which the code may be changed."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".*", "build", "__pycache__", "node_modules")


def copy_project(target: Path) -> None:
    """Copy all files that the tests need."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
    # The tokenizers' ranks and the embeddings, which no change of the code affects.
    (target / ".cache").symlink_to(ROOT / ".cache")
