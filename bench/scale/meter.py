"""Counts and times the calls of a simulation; each call advances a clock."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from tests.fakes.system import FixedClock

A = TypeVar("A")
B = TypeVar("B")

MIB_OF_A_PROCESSOR = 1_769  # https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html


@dataclass(frozen=True)
class Pace:
    """How long a call takes.

    Attributes:
        wire_ms: Milliseconds until AWS answers.
        processor_ms: Milliseconds of a whole CPU for the request and its response.
        memory_mib: The function's memory, which decides its share of a CPU, at most one.
    """

    wire_ms: float
    processor_ms: float
    memory_mib: int

    @property
    def busy_ms(self) -> float:
        """The milliseconds that the function's share of a CPU works on a call."""
        return self.processor_ms / min(1.0, self.memory_mib / MIB_OF_A_PROCESSOR)


class CallMeter:
    """Count calls, and advance the clock by their duration.

    Attributes:
        calls: The number of calls, by name.
        reads: Read units.
        writes: Write units.
        size: Bytes that were read or written.
        busy: How long the CPU has worked.
    """

    def __init__(self, clock: FixedClock, pace: Pace) -> None:
        self.clock = clock
        self.pace = pace
        self.calls: Counter[str] = Counter()
        self.reads = 0.0
        self.writes = 0.0
        self.size = 0
        self.busy = timedelta(0)
        self._busy = timedelta(milliseconds=pace.busy_ms)
        self._seconds = (pace.wire_ms + pace.busy_ms) / 1_000

    def call(self, name: str, *, reads: float = 0, writes: float = 0, size: int = 0) -> None:
        """Count one call."""
        self.calls[name] += 1
        self.reads += reads
        self.writes += writes
        self.size += size
        self.busy += self._busy
        self.clock.advance(self._seconds)


class Lanes:
    """Simulated threads: the work is done in sequence, but timed as in parallel.

    Each piece of work starts on the lane that is free first; the clock is set back to that time.
    The lanes share one CPU, so a piece starts only after the CPU has finished the work before it.
    """

    def __init__(self, meter: CallMeter, lanes: int) -> None:
        self._meter = meter
        self._lanes = lanes

    def __call__(self, function: Callable[[A], B], over: Sequence[A]) -> list[B]:
        """See `skein.services.common.parallel.ParallelMap`."""
        clock, results = self._meter.clock, []
        begun, worked = clock.now(), self._meter.busy
        free = [begun] * min(self._lanes, max(1, len(over)))
        for one in over:
            lane = free.index(min(free))
            clock.set(max(free[lane], begun + self._meter.busy - worked))
            results.append(function(one))
            free[lane] = clock.now()
        clock.set(max(*free, begun, begun + self._meter.busy - worked))
        return results
