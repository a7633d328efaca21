"""Checks that tests prove each guarantee: if its guard is removed from the code, they must fail.

`guards.toml` lists the guards. `make guards` removes one guard at a time from a copy of the
project, and runs the guard's tests in the copy. Each of these tests must fail with an assertion. It
is also an error if a guard's code is not found exactly once, or if its tests fail while the guard
is in place.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple
from xml.etree import ElementTree

from tools.quality.project_copy import ROOT, copy_project

TABLE = Path(__file__).with_suffix(".toml")
LAYER = Path("shared/skein")
SECONDS = 180  # for the tests of one guard, on a busy machine
# The last is how the searches tell what they found.
FOUND = ("tests.attacks.knowledge.Leak: ", "tests.stories.judge.Verdict: ")
ASSERTIONS = ("AssertionError", "assert ", "Failed: ", *FOUND)
TIMEOUT = "Failed: Timeout"  # of pytest-timeout


class Guard(NamedTuple):
    """Code that keeps a guarantee, and the tests that notice when it is gone.

    Attributes:
        name: What the guard prevents.
        guarantee: The guarantee, in the words of docs/operations.md.
        file: The module, below `shared/skein`.
        code: The code of the guard, which occurs exactly once in the module.
        without: The code that replaces it when the guard is removed.
        tests: The tests that must fail, each written as
            `unit/chats/test_post_message.py::test_name`.
        quick: Whether the short form of `make guards` includes the guard.
    """

    name: str
    guarantee: str
    file: str
    code: str
    without: str
    tests: tuple[str, ...]
    quick: bool = False

    def removed_from(self, source: str) -> str:
        """Return the source of the module without the guard.

        Raises:
            ValueError: The module does not contain the guard's code exactly once.
        """
        count = source.count(self.code)
        if count != 1:
            raise ValueError(f"{self.file} contains the guard's code {count} times")
        return source.replace(self.code, self.without)


class Result(NamedTuple):
    """The result of removing a guard; `problem` is None if all its tests failed as they must."""

    guard: Guard
    problem: str | None
    seconds: float


def guards_in(table: Path) -> tuple[Guard, ...]:
    """Read the table of guards."""
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["guard"]
    return tuple(Guard(**row | {"tests": tuple(row["tests"])}) for row in rows)


def failures_in(report: Path) -> Iterator[tuple[str, str]]:
    """Yield each failed test in a JUnit report, with the message of its failure."""
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - by pytest
        file = case.attrib["classname"].removeprefix("tests.").replace(".", "/")
        for broken in (*case.iter("failure"), *case.iter("error")):
            yield f"{file}.py::{case.attrib['name']}", broken.attrib.get("message", "")


def failures(project: Path, tests: Iterable[str]) -> dict[str, str]:
    """Run tests in a copy of the project; return the failure messages by test.

    Raises:
        RuntimeError: The tests took too long, or pytest could not run all of them.
    """
    report = project / ".guards.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-m", "", "-p", "no:randomly", "-p", "no:cacheprovider"]
    chosen = list(dict.fromkeys(tests))
    command = [sys.executable, "-m", "pytest", *options, f"--junitxml={report}"]
    command += [f"tests/{name}" for name in chosen]
    try:
        ran = subprocess.run(
            command, cwd=project, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"the tests took more than {SECONDS} seconds") from error
    if ran.returncode not in {0, 1}:
        raise RuntimeError(f"pytest ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return dict(failures_in(report))


def problem_of(project: Path, guard: Guard) -> str | None:
    """Remove a guard and run its tests; return what is wrong with their result, or None."""
    module = project / LAYER / guard.file
    source = module.read_text(encoding="utf-8")
    try:
        _write(module, guard.removed_from(source))
        found = failures(project, guard.tests)
    except (RuntimeError, ValueError) as error:
        return str(error)
    finally:
        _write(module, source)
    silent = [name for name in guard.tests if not any(_is_of(name, each) for each in found)]
    if silent:
        return f"these tests pass without it: {', '.join(silent)}"
    others = [message for message in found.values() if not _asserts(message)]
    return f"a test fails by no assertion: {others[0]}" if others else None


def _is_of(test: str, case: str) -> bool:
    """Tell whether a reported case is this test, or one of its parametrized cases."""
    return case == test or case.startswith(f"{test}[")


def _asserts(message: str) -> bool:
    return message.startswith(ASSERTIONS) and not message.startswith(TIMEOUT)


def _write(module: Path, source: str) -> None:
    """Write a module, so that Python compiles it again.

    Python would otherwise use the compiled code of a version with the same size and second.
    """
    module.write_text(source, encoding="utf-8")
    Path(cache_from_source(str(module))).unlink(missing_ok=True)


def check(guards: Sequence[Guard], workers: int) -> Iterator[Result]:
    """Remove each guard once, in copies of the project. Several copies are tested side by side.

    Raises:
        RuntimeError: Tests fail with all guards in place.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            project = Path(folder) / str(number)
            copy_project(project)
            free.put(project)

        def unchanged() -> dict[str, str]:
            project = free.get()
            try:
                return failures(project, (name for guard in guards for name in guard.tests))
            finally:
                free.put(project)

        def remove(guard: Guard) -> Result:
            project, began = free.get(), time.monotonic()
            try:
                return Result(guard, problem_of(project, guard), time.monotonic() - began)
            finally:
                free.put(project)

        before = pool.submit(unchanged)
        yield from pool.map(remove, guards)
        if failed := before.result():
            raise RuntimeError(f"with all guards in place, these fail: {', '.join(failed)}")


def arguments(given: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.quality.guards")
    parser.add_argument("only", nargs="*", help="parts of guards' names; without any, all")
    parser.add_argument("--quick", action="store_true", help="only a few guards")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    """Print a line for each guard.

    Returns:
        The exit status: 0, or 1 if no test notices that a guard is removed, or a guard's entry is
            wrong.
    """
    options, guards = arguments(given), guards_in(TABLE)
    stale = False
    for guard in guards:
        try:
            guard.removed_from((ROOT / LAYER / guard.file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            print(f"guards: {guard.name}: {error}")
            stale = True
    chosen = [
        guard
        for guard in guards
        if (guard.quick or not options.quick)
        and (not options.only or any(part in guard.name for part in options.only))
    ]
    if stale or not chosen:
        return 1
    unnoticed = 0
    try:
        for result in check(chosen, options.workers):
            unnoticed += result.problem is not None
            told = f"NOT NOTICED: {result.problem}" if result.problem else "noticed"
            print(f"{result.seconds:5.1f} s  {result.guard.name}: {told}", flush=True)
    except RuntimeError as error:
        print(f"guards: {error}")
        return 1
    print(f"guards: {len(chosen) - unnoticed} of {len(chosen)} removals noticed")
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
