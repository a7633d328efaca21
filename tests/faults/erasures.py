"""A world whose erasure worker dies at given calls, so that others have to carry on."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from skein.models.outbox.jobs import ErasureJob
from tests.fakes.table import MemoryTable
from tests.faults.deployment import Strike
from tests.support.builders import LONG_INVOCATION, World
from tests.support.erasure import settle
from tests.support.fakes import Fuse, Killed, ScriptedModel

METHODS = ("get", "get_many", "query", "write", "transact")


class StruckWorld(World):
    """A world in which something is erased, with deaths at calls of the table.

    Attributes:
        MINUTES: How many minutes may pass until the work is done.
    """

    MINUTES: ClassVar = 60

    def __post_init__(self) -> None:
        self.fuse, inner, register = Fuse(), MemoryTable(), MemoryTable()
        self.overrides = {
            "table": self.fuse.guard(inner, "table", METHODS),
            "erasure_register": self.fuse.guard(register, "erasure_register", METHODS),
        }
        self.model = self.script()
        super().__post_init__()
        self.table, self.register = inner, register
        self.plant()
        self.fuse.disarm()
        self.deaths = 0
        self.calls: list[str] = []

    def script(self) -> ScriptedModel:
        """Return the model of the agents."""
        raise NotImplementedError

    def plant(self) -> None:
        """Store what the erasure is to find."""
        raise NotImplementedError

    def ask(self) -> None:
        """Request the erasure; a client repeats the request until it is answered."""
        raise NotImplementedError

    @property
    def done(self) -> bool:
        """Whether no more minutes need to pass."""
        return False

    def play(self, *strikes: Strike) -> None:
        """Ask until the request is answered; then minutes pass."""
        coming = list(strikes)
        self._arm(coming)
        while not self._survives(self.ask, coming):
            pass
        for _ in range(self.MINUTES):
            for job in self.queues.take(ErasureJob):
                deadline = self.clock.now() + LONG_INVOCATION
                self._survives(
                    partial(self.app.eraser.continue_erasure, job, deadline=deadline), coming
                )
            self._survives(self.tick, coming)
            if self.done:
                break
            self.clock.advance(60)
        self.calls = list(self.fuse.calls)
        self.fuse.disarm()
        settle(self)

    def _arm(self, coming: list[Strike]) -> None:
        if coming:
            strike = coming.pop(0)
            self.fuse.arm(strike.call, after=strike.after)
        else:
            self.fuse.disarm()

    def _survives(self, work: Callable[[], object], coming: list[Strike]) -> bool:
        try:
            work()
        except Killed:
            self.deaths += 1
            self._arm(coming)
            return False
        return True
