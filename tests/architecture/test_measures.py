"""The tools behind `make coverage` and `make times` attribute figures to the right place."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.suite_times import suite_of
from tools.quality.branch_coverage import by_package, package_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("shared/skein/services/chats/post_message.py", "services/chats"),
        ("shared/skein/agent/prompt/budget.py", "agent/prompt"),
        ("shared/skein/agent/turn.py", "agent"),
        ("shared/skein/adapters/dynamodb/table.py", "adapters"),
        ("shared/skein/errors.py", "skein"),
        ("functions/routes/chats/chats.py", "functions"),
    ],
)
def test_coverage_of_file_counts_for_its_package(path: str, package: str) -> None:
    assert package_of(Path(path)) == package


def test_coverage_of_files_adds_up_with_total_last() -> None:
    def file(statements: int) -> dict[str, Any]:
        return {"summary": {"num_statements": statements}}

    sums = by_package({"shared/skein/errors.py": file(3), "functions/tick.py": file(4)})
    assert {package: sum_["num_statements"] for package, sum_ in sums.items()} == {
        "functions": 4,
        "skein": 3,
        "total": 7,
    }
    assert list(sums)[-1] == "total"


def test_suite_of_test_is_its_folder_below_tests() -> None:
    assert suite_of("tests/unit/chats/test_views.py::test_pages[a/b]") == "tests/unit"


def test_modules_and_tests_of_mutation_exist() -> None:
    text = (ROOT / "tools" / "quality" / "mutation.py").read_text(encoding="utf-8")
    names = re.findall(r'"([a-z]+/[a-z_/]+\.py)"', text)
    assert len(names) > 10
    folders = ROOT / "shared" / "skein", ROOT / "tests"
    missing = [name for name in names if not any((folder / name).is_file() for folder in folders)]
    assert missing == []
