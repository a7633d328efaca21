"""A local stack in this process whose engine, poller and clock a test can reach."""

from local.engine import Engine
from local.polling.poller import Poller
from local.stack import Stack
from local.timing.clock import TurnableClock


class WatchedStack(Stack):
    """Local stack that keeps its parts for tests."""

    engine: Engine
    poller: Poller
    clock: TurnableClock

    def _wired(self, engine: Engine, poller: Poller, clock: TurnableClock) -> None:
        self.engine, self.poller, self.clock = engine, poller, clock
