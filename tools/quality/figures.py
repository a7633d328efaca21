"""Prints the figures of the code's structure with their goals: `python -m tools.quality.figures`.

The length of a function does not count its docstring. A move is a call from one module into
another; the moves are counted while one SMS is received, answered and delivered
(`tools/reference/one_sms.py`).
"""

import ast
import logging
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TypeAlias

import grimp

from skein.agent.turn import Turns
from tools.reference.markdown import table
from tools.reference.one_sms import walk

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "shared" / "skein"
SHIPPED = (ROOT / "shared", ROOT / "functions")
CORE = (PACKAGE / "models", PACKAGE / "services")
LOOPS = (PACKAGE / "agent", PACKAGE / "inbound")
SUBJECTS = re.compile(
    r"skein\.(?:account_linking|desk|errands|events|feed|identity|inbound|knowledge|live|media|"
    r"memory|outreach|own_tools|planning|privacy|recall|sharing|summaries|trials|web_chat|workspace)\b"
)
# Nouns of subjects in the names that code gives to branches and fields.
NOUNS = re.compile(r"errand|meeting|outreach|forgetting", re.IGNORECASE)
# Closed typed lists, which may name subjects.
LISTS = ("common/reason.py", "outbox/due.py", "outbox/jobs.py", "models/api/", "services/config/")
# Waits by themselves; a `Retry` says with its waits when to give up, and a header waits for nobody.
WAITS = re.compile(
    r"^(?:BACKOFF\w*|RETRY\w*|FIRST_PAUSE|(?:FIRST|MAX)_WAIT_SECONDS)\b.*= (?!Retry\(|\{)",
    re.MULTILINE,
)
# `typed_changes.py` checks each `model_copy`; `model_construct` would store anything.
UNTYPED = re.compile(r"\bmodel_construct\(")
RAW = re.compile(r"(?<!\bcls)\.from_item\b")  # by callers, not by the typed reads themselves
FENCED = re.compile(r"Is\(\s*\"fence\"")
MOST_LINES = 40  # of a function

Row: TypeAlias = tuple[str, object, object]
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


@cache
def sources(*folders: Path) -> dict[Path, str]:
    """Return the text of each module below the folders, by path."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return {path: path.read_text(encoding="utf-8") for path in paths}


def matches(pattern: re.Pattern[str]) -> dict[Path, int]:
    """Return how often a pattern occurs in each shipped module that contains it."""
    found = {path: len(pattern.findall(text)) for path, text in sources(*SHIPPED).items()}
    return {path: n for path, n in found.items() if n}


def definitions(*folders: Path) -> Iterator[tuple[Path, Definition]]:
    """Yield the modules, classes and functions below the folders."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    for path, text in sources(*folders).items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, kinds):
                yield path, node


def docstring_lines(node: Definition) -> int:
    """Return the number of lines of a definition's own docstring; 0 if it has none."""
    if ast.get_docstring(node, clean=False) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def lengths() -> list[tuple[int, str]]:
    """Return the length and the name of each function in the code of turns and inbound messages."""
    return sorted(
        (
            (node.end_lineno or 0) - node.lineno + 1 - docstring_lines(node),
            f"{path.stem}.{node.name}",
        )
        for path, node in definitions(*LOOPS)
        if isinstance(node, ast.FunctionDef)
    )


def naming_subjects() -> list[Path]:
    """Return the modules of the core that import a subject such as memory, or name one."""
    found = []
    for path, text in sources(*CORE).items():
        inside = path.relative_to(PACKAGE).as_posix()
        if not any(part in inside for part in LISTS) and _names_subject(ast.parse(text)):
            found.append(path)
    return found


def _names_subject(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if SUBJECTS.match(module):
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                if NOUNS.search(name):
                    return True
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.alias(name=name):
                if NOUNS.search(name):
                    return True
    return False


def circles() -> list[frozenset[str]]:
    """Return the largest sets of modules that import each other in circles."""
    graph = grimp.build_graph("skein", cache_dir=None)
    found = set()
    for module in graph.modules:
        if graph.find_modules_directly_imported_by(module):
            above = graph.find_downstream_modules(module)
            circle = above & graph.find_upstream_modules(module)
            if circle:
                found.add(frozenset(circle | {module}))
    return sorted(found, key=sorted)


def unseen_copies() -> int:
    """Return how many methods that return `Self` call `self.model_copy`.

    The project's mypy plugin does not check these calls.
    """
    return sum(
        isinstance(node, ast.FunctionDef)
        and "Self" in ast.unparse(node.returns or ast.Constant(None))
        and "self.model_copy(" in ast.unparse(node)
        for _, node in definitions(*SHIPPED)
    )


def rows() -> list[Row]:
    """Return each figure with its goal. The goal is None for figures that are only reported."""
    sms, longest = walk(), lengths()[-1]
    lines = {
        folder: sum(text.count("\n") for text in sources(*paths).values())
        for folder, paths in {"shipped": SHIPPED, "tests": (ROOT / "tests",)}.items()
    }
    docstrings = sum(docstring_lines(node) for _, node in definitions(*SHIPPED))
    return [
        ("modules of one SMS", len(sms.modules), 150),
        ("moves of one SMS", sms.moves, 2_650),
        ("core files with a branch, field or import of a subject", len(naming_subjects()), 0),
        ("circles of modules", len(circles()), 0),
        ("fields of `Turns`", len(fields(Turns)), 8),
        (f"longest function of the loops (`{longest[1]}`)", longest[0], MOST_LINES),
        ("changes that mypy does not check", sum(matches(UNTYPED).values()) + unseen_copies(), 0),
        ("raw reads by `from_item`", sum(matches(RAW).values()), 100),
        ("modules with a condition of a lease", len(matches(FENCED)), 1),
        ("modules with waiting times of their own", len(matches(WAITS)), 1),
        ("lines of shared and functions", f"{lines['shipped']:,}", "fewer"),
        ("lines of tests", f"{lines['tests']:,}", "fewer"),
        ("docstrings", f"{docstrings / lines['shipped']:.1%}", "fewer"),
    ]


if __name__ == "__main__":
    logging.disable()
    print(table("figure", "now", "goal", rows=[tuple(map(str, row)) for row in rows()]))
    if "--list" in sys.argv:
        print("Core files that name a subject:")
        print(*(path.relative_to(ROOT) for path in naming_subjects()), sep="\n")
        print(f"\nLonger than {MOST_LINES} lines:")
        print(*(f"{n:3} {name}" for n, name in lengths() if n > MOST_LINES), sep="\n")
        print("\nCircles:")
        print(*(", ".join(sorted(circle)) for circle in circles()), sep="\n")
