"""The syntax trees and the imports of modules, for tests of the code."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# As `ruff format` writes them; a hundred times faster to find than to parse a module.
_IMPORT = re.compile(
    r"^ *(?:import (?P<module>[\w.]+)|from (?P<package>[\w.]+) import (?P<names>\([^)]*\)|.*))",
    re.MULTILINE,
)


def imported(text: str) -> Iterator[str]:
    """Yield what a module's text imports, such as `json` and `collections.abc.Iterator`."""
    for found in _IMPORT.finditer(text):
        if found["module"]:
            yield found["module"]
            continue
        listed = re.sub(r"#.*| as \w+", "", found["names"])
        yield from (f"{found['package']}.{name}" for name in re.findall(r"[\w*]+", listed))


def trees(paths: Iterable[Path], containing: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the tree of each module whose text has a match of `containing`, a pattern.

    To parse all modules takes more than a second. So name what a module must contain to matter.
    """
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if re.search(containing, text):
            yield path, ast.parse(text)
