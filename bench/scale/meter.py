"""What calls are counted and timed by in a simulation: a clock that each call moves on."""

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
        wire_ms: Until AWS has answered.
        processor_ms: That a whole processor works to ask and to understand the answer.
        memory_mib: Of the function; its share of a processor follows from it, at most one.
    """

    wire_ms: float
    processor_ms: float
    memory_mib: int

    @property
    def busy_ms(self) -> float:
        """How long the function's share of a processor works on a call."""
        return self.processor_ms / min(1.0, self.memory_mib / MIB_OF_A_PROCESSOR)


class CallMeter:
    """Counts calls, and lets the time pass that they take.

    Attributes:
        calls: By name.
        reads: Units.
        writes: Units.
        size: Bytes that were read or written.
        busy: For how long the processor has worked.
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
        """One call has been made."""
        self.calls[name] += 1
        self.reads += reads
        self.writes += writes
        self.size += size
        self.busy += self._busy
        self.clock.advance(self._seconds)


class Lanes:
    """Threads, as far as time goes: what they do is done one after the other.

    Each piece of function begins where a lane is free, by a clock that is put back for it. They
    share one processor, so none begins before it has worked off what the others have asked of it.
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
