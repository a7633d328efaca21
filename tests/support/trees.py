"""The syntax trees of modules, for tests of the code."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path


def trees(paths: Iterable[Path], containing: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the tree of each module whose text has a match of `containing`, a pattern.

    To parse all modules takes more than a second. So name what a module must contain to matter.
    """
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if re.search(containing, text):
            yield path, ast.parse(text)
