"""pytest plugin that prints the CPU time of each suite; `make times` loads it.

CPU time says what a suite costs, however busy the machine is. A worker's start and the collection
of the tests count as a suite of their own. So does a process that a test started, once it ended.
"""

import os
from collections import Counter
from collections.abc import Generator
from pathlib import PurePosixPath

import pytest

START = "start and collection"


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def suite_of(nodeid: str) -> str:
    """Return the folder of a test below `tests`."""
    return "/".join(PurePosixPath(nodeid.split("::", maxsplit=1)[0]).parts[:2])


class SuiteTimes:
    """Adds up what each test costs, from the end of the one before to its own end."""

    def __init__(self) -> None:
        self._last = 0.0  # CPU seconds when the last test of this process ended
        self._seconds: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()

    def pytest_collection_finish(self) -> None:
        self._start, self._last = cpu_seconds(), cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            now = cpu_seconds()
            costs = {suite_of(report.nodeid): now - self._last, START: self._start}
            report.cpu_seconds = costs  # type: ignore[attr-defined]  # goes with it to the main process
            self._last, self._start = now, 0.0
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._seconds.update(report.cpu_seconds)
            self._tests[suite_of(report.nodeid)] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("CPU seconds by suite")
        for suite, seconds in self._seconds.most_common():
            tests = self._tests[suite] or ""
            terminalreporter.write_line(f"{suite:<24}{seconds:>8.1f}{tests:>8}")
        total = self._seconds.total()
        terminalreporter.write_line(f"{'total':<24}{total:>8.1f}{self._tests.total():>8}")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin."""
    config.pluginmanager.register(SuiteTimes(), "suite-times")
