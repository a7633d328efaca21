"""Queues, metrics, time and ids in memory; the table has a module of its own."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from skein.adapters.aws.rules import check_jobs
from skein.models.common.base import to_utc
from skein.models.outbox.jobs import Job, QueueName
from skein.ports import Clock

ULID_LENGTH = 26
COPRIME = 618_033  # to all powers of ten
ALMOST_A_MILLISECOND = timedelta(microseconds=999)
T = TypeVar("T")
J = TypeVar("J", bound=Job)


class FixedClock:
    """A clock that stands still until it is turned.

    Attributes:
        slept: What was slept, in seconds and in order; sleeping turns the clock.
    """

    def __init__(self, now: datetime) -> None:
        self.slept: list[float] = []
        self._now = to_utc(now)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """See `skein.ports.Clock`."""
        return self._now

    def set(self, now: datetime) -> None:
        """Turn the clock to a moment, forwards or back."""
        with self._lock:
            self._now = to_utc(now)

    def advance(self, seconds: float) -> None:
        """Turn the clock on, rounded up to whole milliseconds, which are all that `set` keeps."""
        with self._lock:
            self._now = to_utc(self._now + timedelta(seconds=seconds) + ALMOST_A_MILLISECOND)

    def sleep(self, seconds: float) -> None:
        """See `skein.ports.Clock`."""
        self.advance(seconds)
        with self._lock:
            self.slept.append(seconds)

    def within(self, seconds: float, function: Callable[[], T]) -> T:
        """Do `function`, which has taken as long as the clock was turned meanwhile."""
        began = self.now()
        result = function()
        if self.now() - began > timedelta(seconds=seconds):
            raise TimeoutError
        return result


class SequentialIds:
    """Ids that look like ULIDs and count: the same in every run of a test."""

    def __init__(self) -> None:
        self._last = 0
        self._codes = 0
        self._lock = threading.Lock()

    def ulid(self) -> str:
        """See `skein.ports.Ids`."""
        with self._lock:
            self._last += 1
            return f"{self._last:0{ULID_LENGTH}d}"

    def digits(self, length: int) -> str:
        """See `skein.ports.Ids`; different until all numbers of this length were returned."""
        with self._lock:
            self._codes += 1
            return f"{self._codes * COPRIME % 10**length:0{length}d}"

    def skip_to(self, last: int) -> None:
        """Continue after the number `last`, however many ids were made before.

        Raises:
            ValueError: A later id exists already.
        """
        with self._lock:
            if last < self._last:
                raise ValueError(f"{self._last} ids were made already, more than {last}")
            self._last = last


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job on a queue, and when it may be received."""

    due_at: datetime
    job: Job


class MemoryQueues:
    """Queues whose delays go by a clock that a test can turn.

    Attributes:
        sent: Every job that was ever put on a queue, in order.
    """

    def __init__(self, clock: Clock) -> None:
        self.sent: list[Waiting] = []
        self._clock = clock
        self._waiting: list[Waiting] = []
        self._lock = threading.Lock()

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """See `skein.ports.Queues`."""
        check_jobs(jobs, delay_seconds)
        due_at = self._clock.now() + timedelta(seconds=delay_seconds)
        waiting = [Waiting(due_at, job) for job in jobs]
        with self._lock:
            self.sent.extend(waiting)
            self._waiting.extend(waiting)

    def ready(self, queue: QueueName) -> tuple[Job, ...]:
        """Take the jobs off a queue that are due, with the tenants in turn."""
        return self._take(lambda job: job.queue == queue)

    def take(self, kind: type[J]) -> tuple[J, ...]:
        """Take the jobs of one kind that are due off their queue, with the tenants in turn."""
        taken = self._take(lambda job: isinstance(job, kind))
        return tuple(job for job in taken if isinstance(job, kind))

    def _take(self, wanted: Callable[[Job], bool]) -> tuple[Job, ...]:
        now = self._clock.now()
        with self._lock:
            due = [w for w in self._waiting if wanted(w.job) and w.due_at <= now]
            if not due:
                return ()
            self._waiting = [w for w in self._waiting if w not in due]
        turns = Counter[str]()
        in_turn: list[tuple[int, datetime, Job]] = []
        for w in sorted(due, key=lambda w: w.due_at):
            turns[w.job.tenant] += 1
            in_turn.append((turns[w.job.tenant], w.due_at, w.job))
        return tuple(job for _, _, job in sorted(in_turn, key=lambda each: each[:2]))

    def give_again(self, job: Job, *, seconds: int) -> None:
        """Put a job back that nobody finished; a visibility time-out may exceed any delay."""
        with self._lock:
            self._waiting.append(Waiting(self._clock.now() + timedelta(seconds=seconds), job))

    def waiting(self, queue: QueueName) -> tuple[Waiting, ...]:
        """The jobs on a queue, due or not, the one due first coming first."""
        with self._lock:
            mine = [w for w in self._waiting if w.job.queue == queue]
        return tuple(sorted(mine, key=lambda w: w.due_at))


class MemoryMetrics:
    """Counters that can be looked at.

    Attributes:
        counts: The sum of each metric so far.
        units: The unit of each metric.
        reasons: The sums of the metrics that have reasons, by metric and reason.
    """

    def __init__(self) -> None:
        self.counts: defaultdict[str, float] = defaultdict(float)
        self.units: dict[str, str] = {}
        self.reasons: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._lock = threading.Lock()

    def count(
        self, name: str, value: float = 1, *, unit: str = "Count", reason: str | None = None
    ) -> None:
        """See `skein.ports.Metrics`."""
        with self._lock:
            self.counts[name] += value
            if reason is not None:
                self.reasons[name, reason] += value
            self.units[name] = unit
