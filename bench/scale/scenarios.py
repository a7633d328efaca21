"""The scenarios of the simulation of the tick and the finders, with their figures."""

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bench.scale.crowds import Crowd
from bench.scale.meter import Pace
from bench.scale.stage import FunctionFactory, Overtaken, Shape, Stage, deployment
from skein.models.common.storage import Item
from skein.ports import Table
from skein.services.memory.finder import MemoryFinder
from skein.services.outbox.due_scanner import ALL_SHARDS, DueScanner
from skein.services.outbox.pause_scanner import PauseScanner
from skein.services.outbox.tick import Tick
from skein.settings import Settings
from tests.fakes.system import MemoryMetrics

NOON = datetime(2026, 2, 18, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
CHATS = 10_000_000
DUE_OF_ALL = 25  # one of this many chats is due in the same hour
MAX_MINUTES = 24 * 60
TURN_SECONDS = 5


def _nothing(_item: Item, _now: datetime) -> None:
    """Fire nothing: the simulation has no plans and merges."""


def _tick(*, table: Table, due_scanner: DueScanner) -> Tick:
    """Build a tick without plans and merges."""
    metrics = MemoryMetrics()
    return Tick(
        table=table,
        due_scanner=due_scanner,
        pause_scanner=PauseScanner(
            table=table,
            clock=due_scanner.clock,
            due_scanner=due_scanner,
            metrics=metrics,
            settings=Settings(),
        ),
        metrics=metrics,
        firing={"plan": _nothing, "merge": _nothing},
    )


TICK: FunctionFactory = _tick
BEFORE = Shape("1 tick, 1 thread, 1,024 MB", 1_024, 45, (ALL_SHARDS,), threads=1)
BEFORE_FINDER = Shape("1 finder, 1 thread, 1,024 MB", 1_024, 115, (ALL_SHARDS,), threads=1)


@dataclass(frozen=True)
class ScenarioResult:
    """The figures of a scenario.

    Attributes:
        figures: The figures by name.
        seconds: The duration of the simulation.
        peak_mib: The maximum memory of the process.
    """

    scenario: str
    figures: Mapping[str, Any]
    seconds: float = 0.0
    peak_mib: float = 0.0


@dataclass(frozen=True)
class Script:
    """The scenarios, at a size.

    Attributes:
        pace: The duration of a call.
        size: The factor for all numbers of items; 1 is the full size.
    """

    pace: Pace
    size: float = 1.0
    now: datetime = field(default=NOON)

    def many(self, count: int) -> int:
        """Return a number of items at this size, at least 1."""
        return max(1, round(count * self.size))

    # ------------------------------------------------------------------ the tick

    def rates(self) -> dict[str, Any]:
        """Measure what a tick sends in a minute, for several deployments."""
        deployed = Shape.deployed("Tick")
        memory = f"{deployed.memory_mib:,} MB"
        shapes = [
            BEFORE,
            Shape("1 tick, 16 threads, 1,024 MB", 1_024, deployed.seconds, (ALL_SHARDS,)),
            Shape(
                f"1 tick, 16 threads, {memory}",
                deployed.memory_mib,
                deployed.seconds,
                (ALL_SHARDS,),
            ),
            Shape(
                f"{len(deployed.parts)} ticks, 16 threads, {memory} (as deployed)",
                deployed.memory_mib,
                deployed.seconds,
                deployed.parts,
            ),
        ]
        found = {}
        for shape in shapes:
            stage = self._stage([self._backlog(self.many(CHATS // 10))], shape)
            sent, took = stage.look()
            found[shape.name] = per_item(stage, sent) | {"seconds": took.total_seconds()}
        return found

    def backlog(self) -> dict[str, Any]:
        """Lose the jobs of a million runs; the workers are fast enough."""
        count = self.many(CHATS // 10)
        stage = self._stage([self._backlog(count)], Shape.deployed("Tick"))
        minutes = 0
        while stage.done < count and minutes < MAX_MINUTES:
            stage.look()
            stage.work()
            minutes += 1
            stage.clock.advance(MINUTE.total_seconds())
        return {
            "due": count,
            "minutes": minutes,
            "sent": stage.queues.sent["turns"],
            "twice": stage.doubles,
            "longest": stage.table.latest["run"] - self._age.total_seconds(),
            "kept": len(stage.table.changed),
        }

    def mixture(self) -> dict[str, Any]:
        """Let SMS become due after a backlog of runs, and measure how long the SMS wait."""
        runs, texts = self.many(CHATS // 20), self.many(1_000)
        crowds = [
            self._backlog(runs),
            Crowd("delivery", texts, self.now - MINUTE, 20, timedelta(seconds=1), seed=2),
        ]
        stage = self._stage(crowds, Shape.deployed("Tick"))
        stage.look()
        return {
            "runs": runs,
            "texts": texts,
            "texts_sent": stage.queues.sent["deliveries"],
            "runs_sent": stage.queues.sent["turns"],
            "text_late": stage.table.latest["delivery"],
        }

    def direct_chats(self) -> dict[str, Any]:
        """Make direct chats due, then runs, and measure whether the runs wait."""
        chats, runs = self.many(CHATS // 100), self.many(1_000)
        crowds = [
            Crowd("direct_consolidation", chats, self.now - MINUTE),
            Crowd("run", runs, self.now, seed=2),
        ]
        stage = self._stage(crowds, Shape.deployed("Tick"))
        stage.look()
        found = {
            "chats": chats,
            "runs": runs,
            "runs_sent": stage.queues.sent["turns"],
            "chats_sent": stage.queues.sent["consolidations"],
        }
        minutes = 1
        while stage.queues.sent["consolidations"] < chats and minutes < MAX_MINUTES:
            stage.work()
            stage.clock.advance(MINUTE.total_seconds())
            stage.look()
            minutes += 1
        return found | {"minutes": minutes, "twice": stage.doubles}

    def overlap(self) -> dict[str, Any]:
        """Run a second tick between the reads and the writes of the first."""
        count = self.many(CHATS // 2_000)
        shape = Shape("one", 1_769, 45, (ALL_SHARDS,))
        stage = self._stage([self._backlog(count)], shape)
        others: list[int] = []

        def meanwhile() -> None:
            others.append(stage.look()[0])

        first, _ = stage.look(Overtaken(stage.table, meanwhile))
        stage.work()
        return {
            "due": count,
            "first": first,
            "second": others[0],
            "twice": stage.doubles,
            "done": stage.done,
            "calls_per_item": stage.meter.calls.total() / count,
        }

    def slow_workers(self) -> dict[str, Any]:
        """Queue more runs than workers can take, and count how often the tick sends them."""
        most = int(deployment().parameters()["TurnsConcurrency"])
        per_minute = most * 60 // TURN_SECONDS
        count = self.many(20_000)
        crowd = Crowd("run", count, self.now)
        stage = self._stage([crowd], Shape.deployed("Tick"))
        stage.queues.waiting.extend(crowd.key(number) for number in range(count))
        minutes = 0
        while stage.done < count and minutes < MAX_MINUTES:
            stage.look()
            stage.work(max(1, round(per_minute * self.size)))
            minutes += 1
            stage.clock.advance(MINUTE.total_seconds())
        return {
            "due": count,
            "per_minute": per_minute,
            "minutes": minutes,
            "again": stage.queues.sent["turns"] / count,
            "twice": stage.doubles,
        }

    # ------------------------------------------------------------------ the finders

    def consolidations(self) -> dict[str, Any]:
        """Find the chats, a 25th of ten million, that become due in one hour."""
        deployed = Shape.deployed("ConsolidationFinder")
        return {
            shape.name: self._finding("consolidation", shape, HOUR)
            for shape in (BEFORE_FINDER, deployed)
        }

    def reflections(self) -> dict[str, Any]:
        """Find the journal entries, a 25th of ten million, that fade on one day."""
        deployed = Shape.deployed("ReflectionFinder")
        return {
            shape.name: self._finding("fading", shape, timedelta(days=1))
            for shape in (BEFORE_FINDER, deployed)
        }

    def _finding(self, kind: Any, shape: Shape, every: timedelta) -> dict[str, Any]:
        together = self.many(CHATS // DUE_OF_ALL)
        crowd = Crowd(kind, self.many(CHATS), self.now, together, every)
        stage = self._stage([crowd], shape, partial(MemoryFinder, kind=kind))
        sent, took = stage.look()
        moved = stage.meter.calls["write"]
        return per_item(stage, moved) | {
            "due": together,
            "sent": sent,
            "left": together - moved,
            "seconds": took.total_seconds(),
        }

    # ------------------------------------------------------------------ what they share

    _age = timedelta(minutes=30)

    def _backlog(self, count: int) -> Crowd:
        """Return runs that became due evenly in the last half hour."""
        seconds = int(self._age.total_seconds())
        return Crowd("run", count, self.now - self._age, -(-count // seconds), timedelta(seconds=1))

    def _stage(self, crowds: list[Crowd], shape: Shape, make: FunctionFactory = TICK) -> Stage:
        return Stage(crowds, shape, make, self.pace, self.now)


def per_item(stage: Stage, items: int) -> dict[str, Any]:
    """Return the cost per item that was handled."""
    meter = stage.meter
    return {
        "moved": items,
        "calls": meter.calls.total() / max(1, items),
        "reads": meter.reads / max(1, items),
        "writes": meter.writes / max(1, items),
    }


SCENARIOS = (
    "backlog",
    "consolidations",
    "reflections",
    "rates",
    "slow_workers",
    "mixture",
    "direct_chats",
    "overlap",
)


def played(script: Script, name: str) -> ScenarioResult:
    """Carry out one scenario."""
    begun = time.monotonic()
    play: Callable[[], dict[str, Any]] = getattr(script, name)
    figures = play()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    return ScenarioResult(name, figures, time.monotonic() - begun, peak)
