"""Sort keys are spelled in models only, so that a search for a prefix finds one file."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from skein.models.common import storage
from skein.models.common.storage import SortKeyPrefix
from tests.support.trees import trees

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "shared" / "skein"
CHECKED = ("shared/skein", "functions", "local", "tools")
PAGE_OF_KEYS = ROOT / "tools" / "reference" / "data.py"  # writes keys as docs/data.md shows them
NAMES = "META|MERGE|RUNNING|TOTAL|CATALOG"
SORT_KEY = re.compile(rf"(^|#)[A-Z]+#|^({NAMES})$")
IN_CODE = rf"[A-Z](?:[\"']\s*[\"'])?#|{NAMES}"  # where a sort key stands, even in two parts


def _texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """All text constants that are not docstrings, parts of f-strings included."""
    said = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node


def _spelled(paths: Iterable[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for path, tree in trees(paths, IN_CODE)
        for node in _texts(tree)
        if SORT_KEY.search(str(node.value))
    ]


def _is_model(path: Path) -> bool:
    return path.is_relative_to(PACKAGE) and "models" in path.parts


def _prefixes() -> list[SortKeyPrefix]:
    spelled = []
    models = filter(_is_model, sorted(PACKAGE.rglob("*.py")))
    for _, tree in trees(models, r"\bSortKeyPrefix\("):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "SortKeyPrefix":
                [text] = node.args
                if isinstance(text, ast.Constant):
                    spelled.append(SortKeyPrefix(text.value))
    return spelled


@pytest.mark.parametrize("folder", CHECKED)
def test_sort_key_outside_models_is_not_spelled(folder: str) -> None:
    paths = sorted({*(ROOT / folder).rglob("*.py")} - {PAGE_OF_KEYS})
    assert paths
    spelled = _spelled(path for path in paths if not _is_model(path))
    assert not spelled, "use the PREFIX of the entity, or storage.META, instead"


def test_sort_key_prefixes_in_models_are_spelled_once() -> None:
    prefixes = _prefixes()
    assert len(prefixes) > 10
    assert len(set(prefixes)) == len(prefixes)
    assert storage.ENDED not in prefixes


def test_sort_key_prefix_of_ended_items_names_the_same_kind() -> None:
    prefix = SortKeyPrefix("GOAL#")
    assert prefix.ended == "ENDED#GOAL#"
    assert prefix.kind == prefix.ended.kind == "GOAL"
    assert prefix.holds({"sk": "GOAL#1"})
    assert not prefix.holds({"sk": "ENDED#GOAL#1"})
    assert prefix < "GOAL#1" < prefix.last
