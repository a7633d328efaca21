"""Clocks, ids and metrics: the fakes keep the same promises as the adapters."""

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest

from skein.adapters.aws.metrics import EmfMetrics
from skein.adapters.system import SystemClock, UlidIds
from skein.correlation import correlated, current
from skein.errors import Unavailable
from skein.ports import Clock, Ids
from tests.fakes.system import FixedClock, MemoryMetrics, SequentialIds

NOW = datetime(2026, 2, 18, 15, 7, 2, tzinfo=UTC)


@pytest.fixture(params=["fixed", "system"])
def any_clock(request: pytest.FixtureRequest) -> Clock:
    return FixedClock(NOW) if request.param == "fixed" else SystemClock()


@pytest.fixture(params=["sequential", "ulid"])
def ids(request: pytest.FixtureRequest) -> Ids:
    return SequentialIds() if request.param == "sequential" else UlidIds(FixedClock(NOW))


def test_a_clock_is_in_utc_and_never_goes_back(any_clock: Clock) -> None:
    before = any_clock.now()
    any_clock.sleep(0.001)
    assert before.utcoffset() == timedelta(0)
    assert any_clock.now() - before >= timedelta(milliseconds=1)


def test_within_returns_the_result_of_quick_work(any_clock: Clock) -> None:
    assert any_clock.within(20, lambda: "done") == "done"


def test_within_raises_the_error_of_failed_work(any_clock: Clock) -> None:
    def fail() -> str:
        raise Unavailable("down")

    with pytest.raises(Unavailable, match="down"):
        any_clock.within(20, fail)


def test_within_raises_timeout_for_slow_work() -> None:
    """The one thing that only real time can show; it takes as long as the machine likes."""
    end = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            SystemClock().within(0.01, end.wait)
    finally:
        end.set()


def test_on_a_fixed_clock_work_takes_as_long_as_the_clock_is_turned(clock: FixedClock) -> None:
    clock.within(3, lambda: clock.advance(3))
    with pytest.raises(TimeoutError):
        clock.within(3, lambda: clock.advance(3.1))


def test_within_work_keeps_the_correlation_id(any_clock: Clock) -> None:
    with correlated("req_1"):
        assert any_clock.within(20, current) == "req_1"


def test_a_fixed_clock_moves_only_when_turned(clock: FixedClock) -> None:
    start = clock.now()
    clock.advance(90)
    clock.sleep(0.5)
    assert clock.now() == start + timedelta(seconds=90.5)
    assert clock.slept == [0.5]
    clock.set(start)
    assert clock.now() == start


def test_ids_are_different_and_in_order_even_within_a_moment(ids: Ids) -> None:
    made = [ids.ulid() for _ in range(1000)]
    assert made == sorted(set(made))
    assert {len(ulid) for ulid in made} == {26}
    assert set("".join(made)) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def test_digits_have_their_length_and_differ(ids: Ids) -> None:
    made = [ids.digits(6) for _ in range(100)]
    assert {len(code) for code in made} == {6}
    assert set("".join(made)) == set("0123456789")
    assert len(set(made)) > 90


def test_an_id_of_a_later_moment_sorts_later(clock: FixedClock) -> None:
    ids = UlidIds(clock)
    earlier = ids.ulid()
    clock.advance(0.001)
    assert ids.ulid() > earlier


def test_an_id_carries_the_time_of_its_clock(clock: FixedClock) -> None:
    one, other = UlidIds(clock).ulid(), UlidIds(clock).ulid()
    assert one[:10] == other[:10]
    assert one != other


def test_sequential_ids_skip_forward_only() -> None:
    ids = SequentialIds()
    ids.ulid()
    ids.skip_to(1_000)
    assert int(ids.ulid()) == 1_001
    with pytest.raises(ValueError, match="1001 ids were made already"):
        ids.skip_to(1_000)


def test_metric_counts_accumulate() -> None:
    metrics = MemoryMetrics()
    metrics.count("Runs")
    metrics.count("Runs", 2)
    metrics.count("Latency", 0.5, unit="Seconds")
    assert metrics.counts == {"Runs": 3, "Latency": 0.5}
    assert metrics.units == {"Runs": "Count", "Latency": "Seconds"}


def test_metric_with_reasons_is_counted_in_all_and_by_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    memory, emf = MemoryMetrics(), EmfMetrics("skein-test")
    for metrics in (memory, emf):
        metrics.count("Rejected", reason="unknown_line")
        metrics.count("Rejected", reason="no_words")
    assert memory.counts == {"Rejected": 2}
    assert memory.reasons == {("Rejected", "unknown_line"): 1, ("Rejected", "no_words"): 1}
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [
        (line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], line.get("reason")) for line in lines
    ]
    assert found == [
        ([["service"]], None),
        ([["service", "reason"]], "unknown_line"),
        ([["service"]], None),
        ([["service", "reason"]], "no_words"),
    ]
