"""The load test fails if a tenant that does its worst slows down another one too much."""

import io

import pytest
from PIL import Image

from bench.load.probes import PROBES
from bench.load.worst import ProbeTimes, Size, WorstOutcome, figures, page
from bench.load.worst_tenant import SCAN, scan_bomb

PROBE = next(iter(PROBES))


@pytest.mark.parametrize(
    ("quiet", "worst", "holds"),
    [(0.2, 1.2, True), (0.2, 1.3, False), (3.0, 6.0, True), (3.0, 6.1, False)],
)
def test_median_may_double_or_grow_by_a_second(quiet: float, worst: float, *, holds: bool) -> None:
    times = ProbeTimes(PROBE, [quiet] * 3, [0.0, worst, 60.0], least=3)
    assert times.verdict.holds == holds


def test_too_few_probes_fail_the_check() -> None:
    assert not ProbeTimes(PROBE, [1.0] * 3, [1.0] * 2, least=3).verdict.holds
    assert not ProbeTimes(PROBE, [], [], least=3).verdict.holds


def test_page_names_each_queue_and_what_failed() -> None:
    probes = [ProbeTimes(name, [1.0], [9.0], least=1) for name in PROBES]
    outcome = WorstOutcome(Size(), probes, {"scan bombs": 7}, busy=1.5)
    rows = figures(outcome)[1:]
    assert {row[1] for row in rows} == {*PROBES.values()}
    assert {row[-1] for row in rows} == {"FAIL"}
    assert "| scan bombs | 7 |" in page(outcome)


def test_scan_bomb_is_a_picture_with_so_many_scans() -> None:
    bomb = scan_bomb(101)
    assert bomb.count(SCAN) == 101
    with Image.open(io.BytesIO(bomb)) as picture:
        assert picture.size == (640, 480)
