"""The verdict on a case, from all its plays with two versions of an agent.

A single play depends on chance, like the toss of a coin. So a case is played several times for each
version and, if the candidate seems to be worse, eight times. `docs/trials.md` lists the resulting
error rates.
"""

from collections.abc import Sequence
from typing import Literal

Verdict = Literal["held", "improved", "flaky", "regressed", "gone", "broken", "not_comparable"]

PLAYS_IF_WORSE = 8  # of each version, once the candidate seems to be worse
SURE, RARE = 7, 2  # passes of the baseline at least, and of the candidate at most, that regress


def passes(plays: Sequence[bool]) -> bool:
    """Return whether at least two thirds of the plays passed."""
    return 3 * sum(plays) >= 2 * len(plays)


def fails(plays: Sequence[bool]) -> bool:
    """Return whether at most one third of the plays passed."""
    return 3 * sum(plays) <= len(plays)


def plays_wanted(baseline: Sequence[bool], candidate: Sequence[bool], repeats: int) -> int:
    """Return how many plays of each version the verdict needs, judging by the plays so far.

    Args:
        baseline: Whether the plays of the baseline passed, in order.
        candidate: Whether the plays of the candidate passed, in order.
        repeats: How many plays each version has at first.
    """
    first, second = baseline[:repeats], candidate[:repeats]
    complete = len(first) == len(second) == repeats
    return PLAYS_IF_WORSE if complete and passes(first) and fails(second) else repeats


def verdict(baseline: Sequence[bool], candidate: Sequence[bool], repeats: int) -> Verdict | None:
    """Return the verdict of all plays; None while more plays are needed."""
    wanted = plays_wanted(baseline, candidate, repeats)
    if len(baseline) < wanted or len(candidate) < wanted:
        return None
    if wanted == PLAYS_IF_WORSE:
        regressed = sum(baseline) >= SURE and sum(candidate) <= RARE
        return "regressed" if regressed else "flaky"
    if passes(candidate):
        return "held" if passes(baseline) else "improved"
    if fails(baseline) and fails(candidate):
        return "broken"  # the case's fault: neither version meets it
    return "flaky"
