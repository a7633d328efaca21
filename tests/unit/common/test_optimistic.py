"""Retries of writes whose condition failed."""

import pytest

from skein.errors import ConditionFailed, Contention
from skein.services.common.optimistic import LOCK_RETRY, known_first, optimistic
from tests.fakes.system import FixedClock
from tests.support.builders import NOON


def refuse() -> None:
    raise ConditionFailed(frozenset({0}))


def test_optimistic_condition_fails_twice_third_try_holds() -> None:
    read = known_first("known", iter(["second", "third"]).__next__)

    def attempt() -> str:
        reading = read()
        if reading != "third":
            refuse()
        return reading

    assert optimistic(FixedClock(NOON), attempt) == "third"


def test_optimistic_condition_always_fails_ends_in_contention() -> None:
    tries: list[None] = []

    def attempt() -> None:
        tries.append(None)
        refuse()

    with pytest.raises(Contention, match=str(LOCK_RETRY.max_tries)):
        optimistic(FixedClock(NOON), attempt)
    assert len(tries) == LOCK_RETRY.max_tries


def test_known_first_nothing_known_reads_at_once() -> None:
    read = known_first(None, iter(["first", "second"]).__next__)
    assert [read(), read()] == ["first", "second"]
