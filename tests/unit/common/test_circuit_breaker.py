"""A circuit breaker opens after five failures in 30 seconds, lets one call try, and closes."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.errors import (
    Ambiguous,
    CircuitOpen,
    Contention,
    ModelRejected,
    SkeinError,
    Throttled,
    Unavailable,
)
from skein.services.common.circuit_breaker import CircuitBreaker, State
from tests.fakes.system import FixedClock, MemoryMetrics
from tests.support.builders import NOON


class Dependency:
    """Something outside that is up or down, behind a breaker.

    Attributes:
        asked: How often it was really asked.
    """

    def __init__(self, *, slow_seconds: float | None = None) -> None:
        self.clock = FixedClock(NOON)
        self.metrics = MemoryMetrics()
        self.breaker = CircuitBreaker(
            "thing",
            clock=self.clock,
            metrics=self.metrics,
            slow_seconds=slow_seconds,
        )
        self.asked = 0

    def ask(self, error: BaseException | None = None, *, seconds: float = 0) -> str:
        def work() -> str:
            self.asked += 1
            self.clock.advance(seconds)
            if error is not None:
                raise error
            return "fine"

        return self.breaker.call(work)

    def state(self) -> State:
        return self.breaker.state

    def fail(self, times: int = 1, *, error: Callable[[str], SkeinError] = Unavailable) -> None:
        for _ in range(times):
            with pytest.raises(SkeinError) as raised:
                self.ask(error("down"))
            assert not isinstance(raised.value, CircuitOpen)


def opened() -> Dependency:
    thing = Dependency()
    thing.fail(5)
    return thing


@pytest.mark.parametrize("error", [Unavailable, Ambiguous, Throttled])
def test_circuit_opens_after_five_failures_and_rejects_calls(
    error: Callable[[str], SkeinError],
) -> None:
    thing = Dependency()
    thing.fail(4, error=error)
    assert thing.state() == "closed"
    thing.fail(error=error)
    assert thing.state() == "open"
    assert thing.metrics.counts["CircuitsOpened"] == 1
    with pytest.raises(CircuitOpen):
        thing.ask()
    assert thing.asked == 5


def test_failures_count_for_thirty_seconds() -> None:
    thing = Dependency()
    thing.fail()
    thing.clock.advance(30)
    thing.fail(4)
    assert thing.state() == "closed"
    thing.clock.advance(29.9)
    thing.fail()
    assert thing.state() == "open"


def test_successes_do_not_reset_the_failure_count() -> None:
    thing = Dependency()
    for _ in range(5):
        thing.fail()
        if thing.state() == "closed":
            assert thing.ask() == "fine"
    assert thing.state() == "open"


def test_half_open_breaker_admits_one_probe_and_closes_on_success() -> None:
    thing = opened()
    thing.clock.advance(29.9)
    assert thing.state() == "open"
    thing.clock.advance(0.1)
    assert thing.state() == "half_open"
    assert thing.ask() == "fine"
    assert thing.state() == "closed"
    thing.fail(4)
    assert thing.state() == "closed", "what failed before it closed counts no more"


def test_half_open_it_opens_again_when_the_one_call_fails() -> None:
    thing = opened()
    thing.clock.advance(30)
    thing.fail()
    assert thing.state() == "open"
    thing.clock.advance(29.9)
    with pytest.raises(CircuitOpen):
        thing.ask()
    thing.clock.advance(0.1)
    assert thing.ask() == "fine"
    assert thing.metrics.counts["CircuitsOpened"] == 1, "one outage is counted once"


def test_half_open_circuit_rejects_calls_during_the_probe() -> None:
    thing = opened()
    thing.clock.advance(30)

    def try_it() -> str:
        assert thing.state() == "open"
        with pytest.raises(CircuitOpen):
            thing.ask()
        return "back"

    assert thing.breaker.call(try_it) == "back"
    assert thing.state() == "closed"


def test_rejected_requests_do_not_open_the_circuit() -> None:
    thing = Dependency()
    for error in [ModelRejected("no"), Contention("busy")] * 5:
        with pytest.raises(type(error)):
            thing.ask(error)
    assert thing.state() == "closed"
    thing.fail(5)
    thing.clock.advance(30)
    with pytest.raises(ModelRejected):
        thing.ask(ModelRejected("no"))
    assert thing.state() == "closed"


def test_probe_with_a_bug_leaves_the_circuit_half_open() -> None:
    thing = opened()
    thing.clock.advance(30)
    with pytest.raises(ZeroDivisionError):
        thing.ask(ZeroDivisionError())
    assert thing.state() == "half_open"
    assert thing.ask() == "fine"


def test_lost_probe_does_not_keep_the_breaker_open() -> None:
    thing = opened()
    thing.clock.advance(30)

    def hang() -> str:
        thing.clock.advance(119)
        assert thing.state() == "open"
        thing.clock.advance(1)
        assert thing.state() == "half_open"
        return thing.ask()

    assert thing.breaker.call(hang) == "fine"


def test_call_from_before_opening_does_not_change_the_breaker() -> None:
    thing = Dependency()

    def late(error: SkeinError | None) -> str:
        thing.fail(5)
        thing.clock.advance(20)
        if error is not None:
            raise error
        return "late"

    assert thing.breaker.call(lambda: late(None)) == "late"
    assert thing.state() == "open"
    thing = Dependency()
    with pytest.raises(Unavailable):
        thing.breaker.call(lambda: late(Unavailable("down")))
    thing.clock.advance(10)
    assert thing.state() == "half_open"


def test_slow_calls_open_the_circuit_if_slowness_is_a_fault() -> None:
    thing = Dependency(slow_seconds=1.5)
    for _ in range(4):
        assert thing.ask(seconds=1.6) == "fine"
    assert thing.ask(seconds=1.5) == "fine"
    assert thing.state() == "closed"
    assert thing.ask(seconds=1.6) == "fine"
    assert thing.state() == "open"
    patient = Dependency()
    for _ in range(5):
        patient.ask(seconds=90)
    assert patient.state() == "closed"


@given(st.lists(st.tuples(st.floats(0, 40), st.booleans()), max_size=60))
def test_breaker_opens_exactly_after_five_failures_within_the_window(
    story: list[tuple[float, bool]],
) -> None:
    thing = Dependency()
    failures = []
    for wait, fails in story:
        thing.clock.advance(wait)
        if fails:
            thing.fail()
            failures.append(thing.clock.now())
        else:
            thing.ask()
        recent = failures[-5:]
        five = len(recent) == 5 and recent[0] > recent[-1] - timedelta(seconds=30)
        assert all(a <= b for a, b in pairwise(failures))
        assert (thing.state() == "open") == (fails and five)
        if thing.state() == "open":
            return
