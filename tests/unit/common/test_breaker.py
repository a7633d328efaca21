"""The circuit breaker that is stored: when it opens, and what its probe decides."""

from datetime import datetime, timedelta

from skein.models.common.breaker import CLOSED, MAX_FAILURES, PAUSE, WINDOW, Breaker
from tests.support.builders import NOON

SECOND = timedelta(seconds=1)


def failing(times: int, *, at: datetime = NOON) -> Breaker:
    """The breaker after failures, one a second; the last one is at `at`."""
    breaker = CLOSED
    for number in range(times):
        breaker = breaker.failed(at - (times - 1 - number) * SECOND)
    return breaker


def test_breaker_opens_with_the_fifth_failure_and_passes_one_probe_after_its_pause() -> None:
    assert failing(MAX_FAILURES - 1).state(NOON) == "closed"
    opened = failing(MAX_FAILURES)
    assert opened.state(NOON + PAUSE - SECOND) == "open"
    later = NOON + PAUSE
    assert opened.state(later) == "half_open"
    probed = opened.probed(later + 10 * SECOND)
    assert probed.state(later) == "open"
    assert probed.state(later + 10 * SECOND) == "half_open", "the probe is lost"
    assert probed.unprobed(later).state(later) == "half_open"


def test_old_failures_do_not_count() -> None:
    old = failing(MAX_FAILURES - 1, at=NOON - WINDOW)
    assert old.failed(NOON).state(NOON) == "closed"


def test_failed_probes_double_the_pause_up_to_the_longest() -> None:
    breaker, now = failing(MAX_FAILURES), NOON
    pauses = []
    for _ in range(4):
        now = breaker.open_until or now
        breaker = breaker.probed(now + SECOND).failed(now, longest=timedelta(minutes=3))
        assert breaker.open_until is not None
        pauses.append((breaker.open_until - now) / PAUSE)
    assert pauses == [2, 4, 6, 6]


def test_call_that_began_before_the_breaker_opened_prolongs_no_pause() -> None:
    opened = failing(MAX_FAILURES)
    assert opened.failed(NOON + SECOND) == opened


def test_breaker_round_trips_through_json() -> None:
    for breaker in (CLOSED, failing(2), failing(MAX_FAILURES).probed(NOON + SECOND)):
        assert Breaker.model_validate(breaker.model_dump(mode="json")) == breaker
