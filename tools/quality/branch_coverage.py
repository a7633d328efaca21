"""Print the branch coverage of each package that `make coverage` measured.

A package in this sense is a folder for one subject (`services/chats`), another part of
`shared/skein` (`adapters`), or all functions.
"""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from coverage import Coverage
from coverage.exceptions import NoDataError

LAYER = Path("shared/skein")
SPLIT = {"agent", "models", "services"}  # layers with one package per subject


def package_of(path: Path) -> str:
    """Return the name of a file's package.

    Args:
        path: The file, relative to the root of the project.
    """
    if not path.is_relative_to(LAYER):
        return path.parts[0]
    folders = path.relative_to(LAYER).parts[:-1]
    if not folders:
        return "skein"
    return "/".join(folders[:2]) if folders[0] in SPLIT else folders[0]


def by_package(files: dict[str, dict[str, Any]]) -> dict[str, Counter[str]]:
    """Add up the figures of files by package, and those of all files as `total`.

    Args:
        files: The `files` of coverage's JSON report.
    """
    packages: dict[str, Counter[str]] = {}
    for name, file in sorted(files.items()):
        for package in (package_of(Path(name)), "total"):
            packages.setdefault(package, Counter()).update(file["summary"])
    packages["total"] = packages.pop("total")
    return packages


def main() -> int:
    """Print one line per package.

    Returns:
        The exit status: 0, or 2 if nothing was measured.
    """
    coverage = Coverage()
    coverage.load()
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        try:
            coverage.json_report(outfile=report.name)
        except NoDataError:
            print("branch_coverage: nothing is measured; run `make coverage`", file=sys.stderr)
            return 2
        files = json.loads(Path(report.name).read_text(encoding="utf-8"))["files"]
    print(f"{'package':<28}{'statements':>16}{'branches':>16}{'both':>9}")
    for package, sums in by_package(files).items():
        lines, branches = sums["num_statements"], sums["num_branches"]
        if not lines:
            continue
        hit = sums["covered_lines"], sums["covered_branches"]
        share = 100 * sum(hit) / max(lines + branches, 1)
        print(
            f"{package:<28}{f'{hit[0]}/{lines}':>16}{f'{hit[1]}/{branches}':>16}{share:>8.2f}%",
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
