"""Skein as AWS runs it: functions are invoked, may die at any call, and are invoked again.

All ports of the functions share one fuse. SQS gives a job again that was not acknowledged, the tick
comes every minute, and whoever sent a webhook sends it until it is answered.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from datetime import datetime, timedelta
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, get_args

import admin_api
import background_worker
import feed as feed_function
import mobile_api
import push_worker
import run_worker
import sms_delivery
import tick
import upkeep_worker
from local.permissions import PermittedQueues
from skein import bootstrap
from skein.bootstrap import build_app
from skein.bootstrap.wiring import App
from skein.errors import SkeinError
from skein.models.common.storage import Item, Query
from skein.models.outbox.due import DUE_SHARDS, DueKind, due_before, due_partition
from skein.models.outbox.jobs import Job, QueueName
from skein.ports import LanguageModel, Queues
from tests.fakes.background import InlineBackground
from tests.support.api_client import Answer, Client, Context, recorded
from tests.support.builders import World, embeddings, tokens
from tests.support.fakes import Fuse, Killed, in_turn
from tests.support.template import deployed_template, permissions

TICK_SECONDS = 50
WEBHOOK_SECONDS = 29
FEED_SECONDS = 60
MAX_MINUTES = 240  # a job whose function dies twice can come again after three hours
# Lambda drops an event if one chain of events has invoked the function 16 times before.
LINEAGE_INVOCATIONS = 16
MINUTE = timedelta(minutes=1)
FADING_WITHIN = timedelta(days=1)

PORTS = {
    "table": ("get", "get_many", "query", "write", "transact"),
    "erasure_register": ("write",),
    "vectors": ("nearest",),
    "queues": ("send",),
    "sms": ("send", "find", "media"),
    "files": ("put", "get", "head", "delete", "copy"),
    "model": ("complete", "stream"),
    "sockets": ("push",),
    "mobile_push": ("notify", "forget"),
    "outbound_http": ("send",),
    "verifier": ("verify",),
}

WRITES = frozenset({"table.write", "table.transact"})
CHANGING = WRITES | {
    *("queues.send", "sms.send", "model.complete", "model.stream", "sockets.push"),
    *("outbound_http.send", "mobile_push.notify", "files.put", "files.delete"),
}

_over: list[Callable[[LanguageModel], LanguageModel]] = []


@contextmanager
def models_through(change: Callable[[LanguageModel], LanguageModel]) -> Iterator[None]:
    """Give deployments in the block other models, made from those of their stories."""
    _over.append(change)
    try:
        yield
    finally:
        _over.pop()


def model_under_test(model: LanguageModel) -> LanguageModel:
    """Return the model that functions get in place of the one that a story scripts."""
    return _over[-1](model) if _over else model


Watcher = Callable[[ModuleType, Any], None]


class Worker(NamedTuple):
    """A function behind a queue: its time, and when a job that it does not finish comes again."""

    function: ModuleType
    seconds: int
    visibility_seconds: int


WORKERS: dict[QueueName, Worker] = {
    "turns": Worker(run_worker, 120, 720),
    "deliveries": Worker(sms_delivery, 60, 360),
    "upkeep": Worker(upkeep_worker, 300, 1_800),
    "media": Worker(upkeep_worker, 300, 1_800),
    "events": Worker(upkeep_worker, 300, 1_800),
    "background": Worker(background_worker, 900, 5_400),
    "pushes": Worker(push_worker, 30, 180),
}


@cache
def recursive_functions() -> frozenset[str]:
    """The modules of the functions that the template exempts from Lambda's loop detection."""
    functions = dict(deployed_template().resources("AWS::Serverless::Function")).values()
    return frozenset(
        str(function["Handler"]).removesuffix(".handler")
        for function in functions
        if function.get("RecursiveLoop") == "Allow"
    )


class Lineages:
    """Lambda's detection of loops: each message names the functions that led to it, and how often.

    Attributes:
        allowed: The functions that may be in a loop.
        current: The functions that led to the running invocation, and the running function.
        dropped: The jobs whose function was not invoked.
    """

    def __init__(self, queues: Queues, allowed: frozenset[str]) -> None:
        self.allowed = allowed
        self.current: Counter[str] = Counter()
        self.dropped: list[Job] = []
        self._queues = queues
        self._sent: dict[int, tuple[Job, Counter[str]]] = {}

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        """See `skein.ports.Queues`; each job gets the lineage of the invocation that sends it."""
        self._sent.update({id(job): (job, self.current) for job in jobs})
        self._queues.send(jobs, delay_seconds=delay_seconds)

    @contextmanager
    def of_job(self, job: Job, function: str) -> Iterator[bool]:
        """Invoke a function with a job in the block; tell the block whether Lambda drops it."""
        before = self.current
        _, led = self._sent.get(id(job), (job, Counter[str]()))
        dropped = led[function] >= LINEAGE_INVOCATIONS and function not in self.allowed
        if dropped:
            self.dropped.append(job)
        self.current = led + Counter([function])
        try:
            yield dropped
        finally:
            self.current = before


class Strike(NamedTuple):
    """What goes wrong at the n-th call.

    The function dies, or the call fails with `error`, or it is held up until all that others can
    do is done.
    """

    call: int
    after: bool
    error: type[SkeinError] | None = None
    holds_up: bool = False

    def __str__(self) -> str:
        what = self.error.__name__ if self.error else "delay" if self.holds_up else "death"
        return f"{what} {'after' if self.after else 'before'} call {self.call}"


class Invocation(Context):
    """What Lambda tells a function that has this many seconds."""

    def __init__(self, function: ModuleType, seconds: int) -> None:
        super().__init__(function)
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return self._seconds * 1_000


class Deployment(World):
    """Skein at work.

    Attributes:
        fuse: Counts every call that a function makes to the outside.
        deaths: How many functions have died.
        watchers: Look on whenever a function has answered, or died (None).
        lineages: Applies Lambda's rule on loops to the jobs.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fuse = Fuse()
        self.deaths = 0
        self.watchers: list[Watcher] = []
        self.lineages = Lineages(self.queues, recursive_functions())
        self._strikes: deque[Strike] = deque()
        self._container = self._cold_start()

    def _cold_start(self) -> App:
        ports = {name: getattr(self.app.ports, name) for name in PORTS}
        ports["model"] = model_under_test(ports["model"])
        ports["queues"] = PermittedQueues(self.lineages, permissions())
        fused = {
            name: self.fuse.guard(ports[name], name, methods) for name, methods in PORTS.items()
        }
        self.background = InlineBackground(self.clock)  # tasks end with their process
        others = {
            "assigned_numbers": self.app.ports.assigned_numbers,
            "background": self.background,
            "clock": self.clock,
            "ids": self.ids,
            "metrics": self.metrics,
            "model_list": self.model_list,
            "parallel_map": in_turn,
            "secrets": self.app.ports.secrets,
            "embeddings": embeddings(),
            "vocabulary": embeddings(),
        }
        return build_app(self.settings, tokens=tokens(), **others, **fused)

    # ------------------------------------------------------------------ what goes wrong

    def plan(self, *strikes: Strike) -> None:
        """Let these strike, each counting its calls from the one before; then nothing more."""
        self._strikes.extend(strikes)
        self._arm()

    def _arm(self) -> None:
        if not self._strikes:
            self.fuse.disarm()
            return
        strike = self._strikes.popleft()
        self.fuse.arm(
            strike.call,
            after=strike.after,
            error=strike.error,
            meanwhile=self.meanwhile if strike.holds_up else None,
        )

    def meanwhile(self) -> None:
        """Let everything else happen while a function is held up."""
        self.live()

    # ------------------------------------------------------------------ what AWS does

    def invoke(self, function: ModuleType, event: dict[str, Any], *, seconds: int) -> Any:
        """What a function answers; None if it died over the event."""
        bootstrap.use(self._container)
        self.fuse.begin_invocation()
        answer = None
        try:
            answer = function.handler(event, Invocation(function, seconds))
        except Killed:
            self.deaths += 1
            self._container = self._cold_start()
            self._arm()
        for watcher in self.watchers:
            watcher(function, answer)
        return answer

    def webhook(self, function: ModuleType, event: dict[str, Any]) -> None:
        """Somebody sends a webhook, again and again until it is accepted."""
        for _ in range(10):
            answer = self.invoke(function, event, seconds=WEBHOOK_SECONDS)
            if answer is not None and answer["statusCode"] < 300:
                return
        raise AssertionError(f"the webhook is never accepted: {answer}")

    def live(self, *, until: Callable[[], bool] | None = None) -> None:
        """Let minutes pass until `until`, or until nothing is left to be done."""
        for _ in range(MAX_MINUTES):
            if until is None:
                self._skip_idle_minutes()
            if self._minute_passes(until):
                return
            if until is None and self.at_rest:
                self._tick()  # which finds all parts empty; it stands for those of all idle minutes
                if self.at_rest:
                    return
        raise AssertionError(f"it never comes to rest: {self.queued} {self.due}")

    def live_beside_the_desk(self) -> None:
        """Let minutes pass until only the desk, which looks at its work each hour, is due."""
        self.live(until=lambda: not self.queued and not self._other_work())

    def _other_work(self) -> bool:
        stays = {
            item["gsi2sk"]
            for shard in range(DUE_SHARDS)
            for item in self.table.query(
                Query(due_partition("desk", shard), index="gsi2", limit=9)
            ).items
        }
        return any(item["gsi2sk"] not in stays for item in self.due)

    def _skip_idle_minutes(self) -> None:
        """Turn the clock to the last minute before the next due item, if no job is queued."""
        if self.queued or self._has_unread_changes:
            return
        due = [datetime.fromisoformat(item["gsi2sk"].split("#", 1)[0]) for item in self._due()]
        if due and (idle := (min(due) - self.clock.now()) // MINUTE) > 0:
            self.clock.advance(idle * MINUTE.total_seconds())

    def _minute_passes(self, until: Callable[[], bool] | None) -> bool:
        end = self.clock.now() + MINUTE
        while self.clock.now() < end:
            while self._work():
                if until is not None and until():
                    return True
            coming = [waiting.due_at for waiting in self.queued]
            self.clock.advance((min([*coming, end]) - self.clock.now()).total_seconds())
        if self.table.has_due(self.clock.now()):
            self._tick()
        return until is not None and until()

    def _tick(self) -> None:
        self.invoke(tick, {}, seconds=TICK_SECONDS)

    def _work(self) -> bool:
        """Let each worker have the jobs that are there for it; whether there were any."""
        worked = self.pump_feed() > 0
        for queue, worker in WORKERS.items():
            for job in self.queues.ready(queue):
                with self.lineages.of_job(job, worker.function.__name__) as dropped:
                    if dropped:
                        continue
                    answer = self.invoke(worker.function, _event(job), seconds=worker.seconds)
                if answer is None or answer["batchItemFailures"]:
                    self.queues.give_again(job, seconds=worker.visibility_seconds)
                worked = True
        return worked

    def pump_feed(self) -> int:
        """Hand unread changes of the table to the feed; return the number of batches."""
        if self.feed is None:
            return 0
        return self.feed.pump(lambda event: self.invoke(feed_function, event, seconds=FEED_SECONDS))

    # ------------------------------------------------------------------ looking

    @property
    def queued(self) -> list[Any]:
        """The jobs on all queues."""
        return [waiting for queue in WORKERS for waiting in self.queues.waiting(queue)]

    @property
    def due(self) -> list[Item]:
        """The marks of everything that is due within a day."""
        return list(self._due())

    def _due(self) -> Iterator[Item]:
        last = due_before(self.clock.now() + FADING_WITHIN)
        for kind in get_args(DueKind):
            for shard in range(DUE_SHARDS):
                partition = due_partition(kind, shard)
                yield from self.table.query(
                    Query(partition, index="gsi2", last=last, limit=100)
                ).items

    @property
    def at_rest(self) -> bool:
        """Whether nothing is queued, nothing due, and no change unread."""
        return not self._has_unread_changes and not self.queued and next(self._due(), None) is None

    @property
    def _has_unread_changes(self) -> bool:
        return self.feed is not None and bool(self.feed.unread())


class Phone(Client):
    """Somebody with the app, who sends a request until it is answered."""

    def send(self, event: dict[str, Any]) -> Answer:
        assert isinstance(self.world, Deployment)
        self.world.webhook(mobile_api, event)
        return Answer(200, None, {})

    def say(self, text: str, chat_id: str = "chat_1") -> None:
        """Post a message, under an id that stays the same however often it is sent."""
        self.post(f"/v1/chats/{chat_id}/messages", {"text": text, "client_id": text})


def every_death(fuse: Fuse) -> list[Strike]:
    """A death after every single call to the outside, and before the first of each invocation.

    A death after a call stands for the one before the invocation's next call: a dead process
    reaches nothing outside, and what was in its memory is lost. Of the tick's many reads in a row
    the first and the last stand for all.
    """
    calls = fuse.calls
    around = zip(["", *calls], calls, [*calls[1:], ""], strict=False)
    numbers = [n for n, names in enumerate(around, 1) if set(names) != {"table.query_index"}]
    return [
        Strike(number, after)
        for number in numbers
        for after in (False, True)
        if after or number in fuse.first_calls
    ]


def main_deaths(fuse: Fuse) -> list[Strike]:
    """The deaths of a recorded story that leave something else behind."""
    return deaths(fuse.calls)


def deaths(calls: Sequence[str]) -> list[Strike]:
    """Every death that leaves something else behind: before all calls, and after each change.

    Until the next change the world outside stays as it is, wherever the process dies.
    """
    changes = [number for number, call in enumerate(calls, 1) if call in CHANGING]
    return [Strike(1, after=False), *(Strike(number, after=True) for number in changes)]


@contextmanager
def named(*strikes: Strike, calls: Sequence[str]) -> Iterator[None]:
    """Let a failure say what had gone wrong before it."""
    try:
        yield
    except Exception as error:
        first = calls[strikes[0].call - 1]
        raise AssertionError(f"{', then '.join(map(str, strikes))} ({first}): {error}") from error


def _event(job: Job) -> dict[str, Any]:
    record = deepcopy(recorded("sms_delivery")["Records"][0])
    return {"Records": [record | {"body": job.model_dump_json()}]}


class Operator(Client):
    """An operator who sends a request until it is answered."""

    def send(self, event: dict[str, Any]) -> Answer:
        assert isinstance(self.world, Deployment)
        self.world.webhook(admin_api, event)
        return Answer(200, None, {})


class ReadingOperator(Client):
    """An operator who sends a request until it is answered, and reads the answer."""

    def send(self, event: dict[str, Any]) -> Answer:
        assert isinstance(self.world, Deployment)
        for _ in range(10):
            answer = self.world.invoke(admin_api, event, seconds=29)
            if answer is not None:
                return Answer(answer["statusCode"], None, answer)
        raise AssertionError("the request is never answered")
