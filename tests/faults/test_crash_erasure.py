"""A person is erased, with a death at every call to the outside on the way."""

from functools import cache

from tests.faults.deployment import Strike, deaths, named
from tests.faults.erasures import Erasing
from tests.faults.sampling import FaultShare, pairs
from tests.support.erasure import traces

PAIRS = 25


@cache
def undisturbed() -> Erasing:
    """Erase without a fault."""
    world = Erasing()
    world.play()
    return world


def strikes() -> list[Strike]:
    """List the deaths of an erasure."""
    return deaths(undisturbed().calls)


def test_erasure_without_fault_leaves_no_trace() -> None:
    assert {"RECALL", "WORD"} <= {key.split("sk='")[1].split("#")[0] for key in traces(Erasing())}
    undisturbed().check(undisturbed().left())
    assert len(strikes()) > 50


def test_erasure_death_is_completed_by_another_worker(share: FaultShare) -> None:
    left = undisturbed().left()
    for strike in share.of(strikes()):
        world = Erasing()
        with named(strike, calls=undisturbed().calls):
            world.play(strike)
            assert world.deaths == 1
            world.check(left)


def test_erasure_second_death_during_recovery_is_completed(share: FaultShare) -> None:
    left = undisturbed().left()
    again = [Strike(call, after) for call in range(1, 200) for after in (False, True)]
    for first, second in share.of(pairs(strikes(), PAIRS, seed="erasure", then=again)):
        world = Erasing()
        with named(first, second, calls=undisturbed().calls):
            world.play(first, second)
            world.check(left)
