"""A local stack in this process whose engine, poller and clock a test can reach."""

from local.polling.poller import Poller
from local.sqlite.engine import SqliteEngine
from local.stack import Stack
from local.timing.clock import TurnableClock


class WatchedStack(Stack):
    """Local stack that keeps its parts for tests."""

    engine: SqliteEngine
    poller: Poller
    clock: TurnableClock

    def _wired(self, engine: SqliteEngine, poller: Poller, clock: TurnableClock) -> None:
        self.engine, self.poller, self.clock = engine, poller, clock
