"""Checks many cases in one test, where one test for each case would take longer than the case."""

from collections.abc import Callable, Mapping
from typing import TypeVar

C = TypeVar("C")


def check_each(cases: Mapping[str, C], check: Callable[[C], None]) -> None:
    """Check every case.

    Args:
        cases: The cases by their names.
        check: Asserts what holds for a case.

    Raises:
        AssertionError: Some cases failed; it names each of them with its own error.
    """
    assert cases
    failed = {}
    for name, case in cases.items():
        try:
            check(case)
        except AssertionError as error:
            failed[name] = error
    told = "\n".join(f"{name}: {error}" for name, error in failed.items())
    assert not failed, f"{len(failed)} of {len(cases)} cases failed\n{told}"
