"""The verdict on a case: the rule, and how often it is wrong."""

from itertools import product
from math import comb, prod

import pytest

from skein.trials.verdicts import PLAYS_IF_WORSE, plays_wanted, verdict

Y, N = True, False


@pytest.mark.parametrize(
    ("baseline", "candidate", "found"),
    [
        ([Y, Y, Y], [Y, Y, N], "held"),
        ([N, N, Y], [Y, Y, N], "improved"),
        ([N, N, N], [N, Y, N], "broken"),
        ([Y, Y, N], [N, N, Y], None),
        ([Y] * 8, [N] * 8, "regressed"),
        ([Y] * 7 + [N], [N] * 6 + [Y] * 2, "regressed"),
        ([Y] * 6 + [N] * 2, [N] * 8, "flaky"),
        ([Y] * 8, [N] * 5 + [Y] * 3, "flaky"),
        ([Y, Y], [N, N], None),
        ([], [], None),
    ],
)
def test_verdict_follows_from_the_plays(
    baseline: list[bool], candidate: list[bool], found: str | None
) -> None:
    assert verdict(baseline, candidate, 3) == found


def test_single_plays_are_repeated_before_a_case_is_blamed() -> None:
    assert plays_wanted([Y], [N], 1) == PLAYS_IF_WORSE
    assert verdict([Y], [N], 1) is None
    assert verdict([Y], [Y], 1) == "held"
    assert verdict([Y, N], [N, Y], 2) == "flaky"


def chance(baseline: float, candidate: float) -> float:
    """The chance that the rule blames a case, exactly."""
    total = 0.0
    for plays in product([Y, N], repeat=6):
        first, second = list(plays[:3]), list(plays[3:])
        weight = prod(baseline if each else 1 - baseline for each in first)
        weight *= prod(candidate if each else 1 - candidate for each in second)
        if plays_wanted(first, second, 3) == 3:
            continue
        for more, others in product(range(6), repeat=2):
            extended = [*first, *[Y] * more, *[N] * (5 - more)]
            worse = [*second, *[Y] * others, *[N] * (5 - others)]
            if verdict(extended, worse, 3) == "regressed":
                of_more = comb(5, more) * baseline**more * (1 - baseline) ** (5 - more)
                of_others = comb(5, others) * candidate**others * (1 - candidate) ** (5 - others)
                total += weight * of_more * of_others
    return total


def blames(cases: int, rate: float) -> float:
    """The chance that an unchanged agent is blamed in a trial."""
    return 1 - (1 - chance(rate, rate)) ** cases


def test_unchanged_agent_is_rarely_blamed_and_a_break_is_found() -> None:
    single = 1 - (1 - 0.95 * 0.05) ** 30
    assert round(single, 2) == 0.77
    assert blames(30, 0.80) == pytest.approx(0.017, abs=0.001)
    assert blames(30, 0.95) < 0.0001
    assert chance(0.95, 0) == pytest.approx(0.94, abs=0.005)
    assert 1 - (1 - chance(0.95, 0.95)) ** 1_000 < 0.001
