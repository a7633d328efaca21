"""The load test sorts answers by the noise, and fails if the noisy tenant makes others wait."""

from typing import Any

from bench.load.noise import MIN_ANSWERS, Noise, noise_of


def _answered(number: int, at: float, seconds: float) -> list[dict[str, Any]]:
    return [
        {"what": "message", "who": "p001", "marker": f"p001-{number}-1", "at": at},
        {"what": "answered", "who": "p001", "burst": number, "seconds": seconds},
    ]


def test_answers_are_sorted_by_the_beginning_of_their_burst() -> None:
    ledger = [*_answered(1, 105, 1.0), *_answered(2, 120, 2.0), *_answered(3, 190, 3.0)]
    noise = noise_of(ledger, begun=100, noise_at=190, runs=7, patience=60)
    assert (noise.quiet, noise.noisy, noise.runs) == ([2.0], [3.0], 7)


def test_burst_without_an_answer_counts_with_the_time_that_its_person_waited() -> None:
    said, _ = _answered(1, 190, 0.0)
    unanswered = {"what": "unanswered", "who": "p001", "burst": 1}
    noise = noise_of([said, unanswered], begun=100, noise_at=190, runs=0, patience=60.0)
    assert noise.noisy == [60.0]


def test_p95_that_rises_by_more_than_half_fails_the_check() -> None:
    quiet = [2.0] * MIN_ANSWERS
    assert Noise(quiet, [3.0] * MIN_ANSWERS, 200).verdict.holds
    assert not Noise(quiet, [3.1] * MIN_ANSWERS, 200).verdict.holds


def test_too_few_answers_fail_the_check() -> None:
    assert not Noise([2.0] * (MIN_ANSWERS - 1), [2.0] * MIN_ANSWERS, 200).verdict.holds
