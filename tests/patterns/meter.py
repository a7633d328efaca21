"""Measures what something costs: calls of the table, rounds of them, and the queues used."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from skein.adapters.sqlite_table.calls import Call
from tests.support.builders import World

HELPERS = "ThreadPoolExecutor"  # how the library calls threads that nobody names


class Log(list[Call]):
    """A table's log that remembers who asked, since calls at once are one round.

    Helpers that ask at once are threads of one nameless pool; any other thread, the one included
    that reads a context within its time, asks one thing after another. A pool counts once, in
    whatever order its calls and those of other threads arrive.
    """

    def __init__(self) -> None:
        super().__init__()
        self.askers: list[str] = []

    def append(self, call: Call) -> None:
        super().append(call)
        self.askers.append(threading.current_thread().name.rpartition("_")[0])

    @property
    def rounds(self) -> int:
        """How many calls there were, those of one pool of helpers counted as one."""
        helpers = [asker for asker in self.askers if asker.startswith(HELPERS)]
        return len(self.askers) - len(helpers) + len(set(helpers))


@dataclass(frozen=True)
class Cost:
    """What something costs, as the document spells it."""

    calls: str
    rounds: int
    queues: str


class Meter:
    """Measures what one part of a pattern costs."""

    def __init__(self) -> None:
        self.cost: Cost | None = None

    @contextmanager
    def __call__(self, world: World) -> Iterator[None]:
        log, sent = Log(), len(world.queues.sent)
        world.table.log = log
        yield
        counts = Counter(call.method for call in log)
        calls = ", ".join(f"{n} {method}" for method, n in sorted(counts.items()))
        queues = {waiting.job.queue for waiting in world.queues.sent[sent:]}
        self.cost = Cost(calls, log.rounds, ", ".join(sorted(queues)) or "-")


Pattern = Callable[[Meter], None]


class Patterns(dict[str, Pattern]):
    """How each pattern is carried out, by its name in the document."""

    def named(self, name: str) -> Callable[[Pattern], Pattern]:
        """Registers a pattern."""

        def register(carry_out: Pattern) -> Pattern:
            assert name not in self
            self[name] = carry_out
            return carry_out

        return register
