"""What holds for the tests themselves. They are read as text: parsing them all takes seconds."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMPORT = re.compile(
    r"^\s*(?:from|import) tests\.(?:\S*\.)?(?:\S+ import \(?\s*)?test_\w+", re.MULTILINE
)
# A time-out, `assert time.monotonic() < give_up`, only ends a wait.
QUICK = re.compile(
    r"^\s*assert .*\b(?:monotonic|perf_counter|process_time|thread_time|time)\(\) - \w+ <=? .*",
    re.MULTILINE,
)


@cache
def sources() -> dict[str, str]:
    """The code of the tests and of all that may use them, by its path."""
    folders = (ROOT / name for name in ("tests", "bench", "tools", "local"))
    paths = (path for folder in folders for path in sorted(folder.rglob("*.py")))
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    assert len(found) > 500
    return found


def test_no_code_imports_a_test_module() -> None:
    """What several tests use is in `tests/support`, or in a module beside them."""
    found = {
        name: said[0].strip() for name, text in sources().items() if (said := IMPORT.search(text))
    }
    assert found == {}, "move what they take"


def test_no_test_asserts_how_long_code_takes() -> None:
    """Such a test fails on a busy machine: count calls, or measure in `make bench`."""
    tests = {name: text for name, text in sources().items() if name.startswith("tests/")}
    found = {name: said[0].strip() for name, text in tests.items() if (said := QUICK.search(text))}
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "from tests.unit.turn.test_spoken_text import NAMES",
        "    from tests.unit.turn import test_spoken_text",
        "import tests.unit.turn.test_spoken_text",
        "from tests.unit.turn import (\n    test_spoken_text,",
    ],
)
def test_import_of_a_test_module_is_recognized(line: str) -> None:
    assert IMPORT.search(line)
    assert not IMPORT.search(line.replace("test_spoken_text", "spoken"))


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("time.perf_counter() - began < 0.06", True),
        ("monotonic() - began <= limit, seconds", True),
        ("time.monotonic() - began >= 1.0", False),
        ("time.monotonic() < give_up", False),
    ],
)
def test_upper_bound_of_a_time_is_recognized(condition: str, *, bounds: bool) -> None:
    assert bool(QUICK.search(f"    assert {condition}")) == bounds
