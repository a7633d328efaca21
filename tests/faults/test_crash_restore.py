"""The erasure register is applied to a restored table, with a death at every call on the way."""

from functools import cache

from skein.models.common.storage import Item, Key, Put
from tests.faults.deployment import Strike, deaths, named
from tests.faults.erasures import METHODS, Erasing
from tests.faults.sampling import FaultShare
from tests.support.api_client import everything
from tests.support.builders import World
from tests.support.erasure import restoration, settle, traces
from tests.support.fakes import Fuse, Killed


@cache
def erased() -> tuple[Erasing, dict[Key, Item]]:
    """The stack after an erasure, and a backup of the table from before."""
    world = Erasing()
    items = dict(everything(world))
    world.play()
    return world, items


class Restoring(World):
    """A restored table, to which an operator applies the register until it is done."""

    def __post_init__(self) -> None:
        old, items = erased()
        self.fuse = Fuse()
        super().__post_init__()
        self.clock.advance((old.clock.now() - self.clock.now()).total_seconds())
        for key, item in items.items():
            self.table.write(Put(key, item))
        ports = self.app.ports
        self.overrides = {
            "table": self.fuse.guard(ports.table, "table", METHODS),
            "erasure_register": self.fuse.guard(old.register, "erasure_register", METHODS),
        }
        stored = self.table
        super().__post_init__()
        self.clock.advance((old.clock.now() - self.clock.now()).total_seconds())
        self.table = stored
        self.table._clock = self.clock
        self.deaths = 0

    def play(self, strike: Strike | None) -> None:
        if strike is not None:
            self.fuse.arm(strike.call, after=strike.after)
        while True:
            try:
                assert restoration(self).run() == {"done": 1}
            except Killed:
                self.deaths += 1
                self.fuse.disarm()
                continue
            break
        self.calls = list(self.fuse.calls)
        self.fuse.disarm()
        settle(self)

    def check(self) -> None:
        assert traces(self) == {}


@cache
def undisturbed() -> Restoring:
    """Apply the register without a fault."""
    world = Restoring()
    assert traces(world)
    world.play(None)
    return world


def test_register_applied_without_fault_leaves_no_trace() -> None:
    undisturbed().check()


def test_register_application_that_dies_is_completed_by_the_next_one(share: FaultShare) -> None:
    for strike in share.of(deaths(undisturbed().calls)):
        world = Restoring()
        with named(strike, calls=undisturbed().calls):
            world.play(strike)
            assert world.deaths == 1
            world.check()
