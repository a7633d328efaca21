"""A simulation of the deployed tick or finder, with workers, on a generated table."""

import json
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Protocol

from bench.scale.crowds import Crowd
from bench.scale.generated import GeneratedTable
from bench.scale.meter import CallMeter, Lanes, Pace
from local.template import Template
from skein.adapters.aws.sqs import BATCH_JOBS
from skein.models.common.storage import Key
from skein.models.delivery.delivery import Delivery
from skein.models.memory.consolidation import Consolidation
from skein.models.outbox.jobs import ConsolidationJob, DeliveryJob, Job, RunJob
from skein.models.runs.run import Run
from skein.ports import Table
from skein.services.common.parallel import THREADS
from skein.services.outbox.dispatch import Dispatch
from skein.services.outbox.due_scanner import ALL_SHARDS, DueScanner, shards_of
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryMetrics

SPARE_SECONDS = 5  # the same margin as in the functions

Shards = tuple[int, ...]


@cache
def deployment() -> Template:
    """Load the template once, because loading is slow."""
    return Template.load()


@dataclass(frozen=True)
class Shape:
    """The deployment of the tick or a finder.

    Attributes:
        seconds: The maximum duration of an invocation.
        parts: The shards of each concurrent invocation.
        threads: The threads of each invocation.
    """

    name: str
    memory_mib: int
    seconds: int
    parts: tuple[Shards, ...]
    threads: int = THREADS

    @classmethod
    def deployed(cls, logical_id: str, name: str = "as deployed") -> "Shape":
        """Return the shape of a function in the template."""
        [function] = [f for f in deployment().functions if f.logical_id == logical_id]
        parts = tuple(
            tuple(shards_of(json.loads(schedule.input or "{}"))) for schedule in function.schedules
        )
        return cls(name, function.memory, function.timeout - SPARE_SECONDS, parts)


class Looking(Protocol):
    """The tick, or a finder."""

    def run(self, *, until: datetime, shards: Sequence[int] = ALL_SHARDS) -> int:
        """Send the jobs of due items."""
        ...


class FunctionFactory(Protocol):
    """Creates the tick or a finder."""

    def __call__(self, *, table: Table, due_scanner: DueScanner) -> Looking:
        """Create the service of a new container."""
        ...


class SentJobs:
    """Queues that keep the key of each job's item.

    Attributes:
        waiting: The keys whose jobs no worker has taken yet.
        sent: The number of jobs by queue.
    """

    def __init__(self, meter: CallMeter) -> None:
        self._meter = meter
        self.waiting: deque[Key] = deque()
        self.sent: Counter[str] = Counter()

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """See `skein.ports.Queues`."""
        for _ in range(0, len(jobs), BATCH_JOBS):
            self._meter.call("send")
        for job in jobs:
            self.sent[job.queue] += 1
            key = key_of_job(job)
            if key is not None:
                self.waiting.append(key)


def key_of_job(job: Job) -> Key | None:
    """Return the key of a job's item; None for a job about several items."""
    if isinstance(job, RunJob):
        return Run.key_of(job.tenant, job.run_id)
    if isinstance(job, DeliveryJob):
        return Delivery.key_of(job.tenant, job.chat_id, job.delivery_id)
    if isinstance(job, ConsolidationJob):
        return Consolidation.key_of(job.tenant, job.chat_id)
    return None


class Stage:
    """A generated table, the tick or a finder, and workers.

    Args:
        crowds: The due items.
        shape: The deployment of the function.
        make: Creates the function's service.
        pace: The duration of a call; the memory comes from the shape.
        now: The start of the simulation.

    Attributes:
        table: The generated table.
        clock: The simulated clock.
        meter: Counts the calls.
        queues: The sent jobs.
        metrics: The metrics of the function.
        done: The number of items that workers have finished.
        doubles: The number of jobs whose items were finished already.
    """

    def __init__(
        self,
        crowds: Sequence[Crowd],
        shape: Shape,
        make: FunctionFactory,
        pace: Pace,
        now: datetime,
    ) -> None:
        own_pace = Pace(pace.wire_ms, pace.processor_ms, shape.memory_mib)
        self._shape = shape
        self._make = make
        self.clock = FixedClock(now)
        self.meter = CallMeter(self.clock, own_pace)
        self.table = GeneratedTable(crowds, self.meter)
        self.queues = SentJobs(self.meter)
        self.metrics = MemoryMetrics()
        self.done = 0
        self.doubles = 0

    def look(self, table: Table | None = None) -> tuple[int, timedelta]:
        """Invoke the function for each of its parts, all at the same time.

        Returns:
            The number of jobs that were sent, and the duration of the slowest part.
        """
        begun, sent, longest = self.clock.now(), 0, timedelta(0)
        for shards in self._shape.parts:
            self.clock.set(begun)
            here = table or self.table
            due_scanner = DueScanner(
                table=here,
                clock=self.clock,
                dispatch=Dispatch(queues=self.queues, metrics=self.metrics, settings=Settings()),
                metrics=self.metrics,
                parallel_map=Lanes(self.meter, self._shape.threads),
            )
            until = begun + timedelta(seconds=self._shape.seconds)
            sent += self._make(table=here, due_scanner=due_scanner).run(until=until, shards=shards)
            longest = max(longest, self.clock.now() - begun)
        self.clock.set(begun)
        return sent, longest

    def work(self, most: int | None = None) -> None:
        """Carry out waiting jobs in the order in which they were sent.

        Args:
            most: The maximum number of items to finish; None for all.
        """
        ended = 0
        while self.queues.waiting and (most is None or ended < most):
            if self.table.finish(self.queues.waiting.popleft()):
                ended += 1
            else:
                self.doubles += 1
        self.done += ended


Step = Callable[[], object]


class Overtaken:
    """A table that runs another step once, after the first batch of reads."""

    def __init__(self, table: GeneratedTable, meanwhile: Step) -> None:
        self._table = table
        self._meanwhile: Step | None = meanwhile
        self.get = table.get
        self.query = table.query
        self.write = table.write
        self.transact = table.transact

    def get_many(self, keys: Sequence[Key]) -> dict[Key, dict[str, object]]:
        """See `skein.ports.Table`."""
        found = self._table.get_many(keys)
        step, self._meanwhile = self._meanwhile, None
        if step is not None:
            step()
        return found
