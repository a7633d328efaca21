"""Skein's services on any table, with a settable clock, queues in memory and a scripted model."""

from collections.abc import Callable
from datetime import UTC, datetime

from bench.turns.scripted import Scripted
from bench.turns.vectors import IndexedTable
from skein.adapters.system import UlidIds
from skein.ports import Clock, ModelTokens
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues
from tests.fakes.table import MemoryTable
from tests.support.builders import embeddings
from tests.support.services import AllServices, build_services

BEGUN = datetime(2026, 2, 18, 12, tzinfo=UTC)


class Stand:
    """Skein's services on a table, with a settable clock, queues in memory and a scripted model.

    Args:
        table: Makes the table, given the clock that decides when items expire.
        settings: The settings; None for the defaults.
        watched: Called with the app of each new worker, to measure its time.

    Attributes:
        ports: The ports of the workers.
    """

    def __init__(
        self,
        table: Callable[[Clock], IndexedTable | MemoryTable],
        tokens: ModelTokens,
        *,
        settings: Settings | None = None,
        watched: Callable[[AllServices], None] = lambda _: None,
    ) -> None:
        self.settings = settings or Settings()
        self.clock = FixedClock(BEGUN)
        self.table = table(self.clock)
        self.queues = MemoryQueues(self.clock)
        self.model = Scripted()
        self._watched = watched
        self.ports: dict[str, object] = {
            "table": self.table,
            "erasure_register": MemoryTable(self.clock),
            "tokens": tokens,
            "embeddings": embeddings(),
            "vocabulary": embeddings(),
            "clock": self.clock,
            "queues": self.queues,
            "model": self.model,
            "ids": UlidIds(self.clock),
            "metrics": MemoryMetrics(),
        }
        self.ports["vectors"] = (
            self.table.vectors
            if isinstance(self.table, MemoryTable)
            else self.table.index(self.clock)
        )
        self.app = self.new_app()

    def new_app(self) -> AllServices:
        """Return the app of a new container, whose caches are empty."""
        app = build_services(self.settings, **self.ports)
        self._watched(app)
        return app
