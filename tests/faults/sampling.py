"""Choose the faults that a sweep tries: a sample in `make test`, all of them in `make test-slow`.

The sample depends on the test and on the seed of the run. pytest prints that seed, and
`make test ARGS="--randomly-seed=<seed>"` draws the same sample again.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest

T = TypeVar("T")

BLOCK = 120  # neighbouring faults of which a sample tries one
PARTS = 10  # tests that share a whole sweep, so that workers run them side by side
SAMPLE = "sample"
SHARES = (
    SAMPLE,
    pytest.param(0, marks=pytest.mark.check),
    *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS)),
)


@dataclass(frozen=True)
class FaultShare:
    """The faults that one test of a sweep tries.

    Attributes:
        part: The number of a part of the whole sweep; None for a sample.
        seed: The seed of the sample.
    """

    part: int | None
    seed: str

    def of(self, faults: Sequence[T]) -> Sequence[T]:
        """Choose this test's faults, in their order.

        A sample has one random fault of each block of neighbours. So it covers a story from its
        first call to its last, and a fault is tried in one run of `BLOCK` on average.
        """
        if self.part is not None:
            return faults[self.part :: PARTS]
        chance = random.Random(self.seed)
        blocks = (faults[start : start + BLOCK] for start in range(0, len(faults), BLOCK))
        return [chance.choice(block) for block in blocks]


def share_of(request: pytest.FixtureRequest) -> FaultShare:
    """Return the share of the test that asks."""
    if request.param != SAMPLE:
        return FaultShare(part=request.param, seed="")
    seed = request.config.getoption("randomly_seed", default=0)
    return FaultShare(part=None, seed=f"{seed} {request.node.nodeid}")


def pairs(
    faults: Sequence[T], count: int, *, seed: str, then: Sequence[T] = ()
) -> list[tuple[T, T]]:
    """Draw pairs of faults at random; the second, from `then` if given, strikes after the first."""
    chance = random.Random(seed)
    return [(chance.choice(faults), chance.choice(then or faults)) for _ in range(count)]
