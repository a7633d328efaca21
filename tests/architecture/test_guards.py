"""The table of guards: each guarantee has one, and each entry matches the code and the tests."""

import re
from pathlib import Path

from tests.attacks.knowledge import Leak
from tests.support.each import check_each
from tools.quality.guards import ASSERTIONS, LAYER, TABLE, Guard, guards_in

ROOT = Path(__file__).resolve().parents[2]
GUARDS = guards_in(TABLE)


def test_each_guarantee_of_the_docs_has_a_guard() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.partition("\n## Guarantees\n")[2].partition("\n## ")[0]
    guarantees = set(re.findall(r"^- \*\*(.+?)\*\*", section, re.MULTILINE))
    assert guarantees == {guard.guarantee for guard in GUARDS}


def test_guard_is_found_with_its_tests() -> None:
    check_each({guard.name: guard for guard in GUARDS}, _check_found)


def _check_found(guard: Guard) -> None:
    source = (ROOT / LAYER / guard.file).read_text(encoding="utf-8")
    assert guard.removed_from(source) != source
    for file, _, test in (each.partition("::") for each in guard.tests):
        name = test.partition("[")[0]
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_leak_that_a_search_finds_counts_as_assertion() -> None:
    assert f"{Leak.__module__}.{Leak.__qualname__}: " in ASSERTIONS
