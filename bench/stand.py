"""Skein on any table, with a clock that is turned, queues in memory and a scripted model."""

from collections.abc import Callable
from datetime import UTC, datetime

from bench.script import text
from skein.adapters.system import UlidIds
from skein.bootstrap import App, build_app
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage
from skein.ports import Clock, ModelTokens, Table
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues

BEGUN = datetime(2026, 2, 18, 12, tzinfo=UTC)
FIRST_ANSWER = 1_000_000  # so that no answer is alike to a message of a filled chat
NOTE = '{"lines": ["They train for a race.", "A hard week is over."], "summary": "They train."}'


class Scripted:
    """A model that answers each message at once with the next of the script.

    Attributes:
        last: The newest request, but for those for summaries.
    """

    def __init__(self) -> None:
        self.last: ModelRequest | None = None
        self._answers = 0

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """See `skein.ports.LanguageModel`."""
        usage = TokenUsage(input_tokens=10, output_tokens=5)
        if request.answer_schema is not None:
            return ModelAnswer(model=request.model, text=NOTE, usage=usage)
        self.last = request
        self._answers += 1
        return ModelAnswer(
            model=request.model, text=text(FIRST_ANSWER + self._answers), usage=usage
        )


class Stand:
    """Skein on a table, with a clock that is turned, queues in memory and a scripted model.

    Args:
        table: Makes the table that keeps everything, given the clock by which items expire.
        tokens: Counts tokens.
        settings: The defaults, if not given.
        watched: Given each new worker, to measure parts of it.

    Attributes:
        ports: What workers are made of.
    """

    def __init__(
        self,
        table: Callable[[Clock], Table],
        tokens: ModelTokens,
        *,
        settings: Settings | None = None,
        watched: Callable[[App], None] = lambda _: None,
    ) -> None:
        self.settings = settings or Settings()
        self.clock = FixedClock(BEGUN)
        self.table = table(self.clock)
        self.queues = MemoryQueues(self.clock)
        self.model = Scripted()
        self._watched = watched
        self.ports = {
            "table": self.table,
            "tokens": tokens,
            "clock": self.clock,
            "queues": self.queues,
            "model": self.model,
            "ids": UlidIds(self.clock),
            "metrics": MemoryMetrics(),
        }
        self.app = self.new_app()

    def new_app(self) -> App:
        """A container that has seen no chat yet; its connections are there."""
        app = build_app(self.settings, **self.ports)
        self._watched(app)
        return app
