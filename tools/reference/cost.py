"""Content of docs/cost.md: the cost of an idle stack and of messages, by calls and list prices.

The calls for a message are measured by `tests/patterns`, with item sizes by DynamoDB's rules.
Figures that are not measured are listed in `ASSUMED`, and on the page.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from local.template import ROOT
from skein.adapters.sqlite_table.calls import Call
from tests.patterns import chats, consolidation, events, live, recall, runs, texts, visits
from tests.patterns.meter import Log, Pattern
from tests.support.builders import World
from tests.support.feed import TableFeed
from tests.support.template import deployed_template, ops_template
from tools.deployment.deploy import PROFILES
from tools.reference.markdown import table

PRICES = tomllib.loads((Path(__file__).parent / "prices.toml").read_text(encoding="utf-8"))
COMPUTE, TABLE, QUEUES, OPERATIONS = (PRICES[part] for part in PRICES)
MONTH_MINUTES = 30 * 24 * 60
RECEIVES_A_MONTH = 5 * MONTH_MINUTES * 60 // 20  # Lambda polls a queue with 5 long polls of 20 s
WRITES = frozenset({"write", "transact"})
ITEM_READS = frozenset({"get", "get_many", "get_many_eventual"})
EVENTUAL_READS = frozenset({"get_many_eventual", "query_index"})
VOLUMES = (1_000, 100_000, 10_000_000)

MODEL_SECONDS, CALL_SECONDS, WORK_SECONDS = 3.0, 0.05, 0.1
COLD = 0.01  # of the turns start a worker
FRAMES, LOG_KB, STORED_KB, PROMPT_KB = 4, 15.0, 3.8, 20.0
REQUESTS = {"app": 3.0, "sms": 3.0}  # a message, a list and a receipt; or an SMS and two statuses
AUTHORIZED, CONNECTED_MINUTES = 1.0, 10.0  # for each message of the app
# The messages of each hour of a day, in parts of a day's. The busiest minutes of an hour, which
# auto scaling follows, have more.
DAY = (1, 1, 1, 1, 1, 1, 2, 4, 6, 7, 7, 6, 6, 5, 5, 6, 7, 8, 8, 7, 6, 3, 1, 1)
BUSIEST = 1.4
USUAL_METRICS = 12  # of Skein's own, which have data in each hour with a message
# The metrics that a query of Metrics Insights reads, by the dimension besides the table.
QUERIED = {"Operation": 8, "GlobalSecondaryIndexName": 2}
VECTOR_KB, SEARCHED_KB = 1.5, 100 * 1.5
ASSUMED = f"""- The model answers within {MODEL_SECONDS:g} s. One turn in {1 / COLD:g} starts
  a worker. A request takes {CALL_SECONDS:g} s, as does `Feed` for each commit, and a job
  {WORK_SECONDS:g} s. `Feed` asks for event endpoints each time, and the tenant has none.
- An answer of the app is streamed in {FRAMES} frames. For each message, the app makes
  {REQUESTS["app"]:g} requests: it posts the message, lists the chat's messages and sets a read
  receipt. The authorizer is asked once, and the app is connected for {CONNECTED_MINUTES:g} minutes.
- A turn reads as much of a chat by SMS as of one by the app, whose history is full.
- A prompt of {PROMPT_KB:g} KB leaves AWS for each answer.
- {USUAL_METRICS} of Skein's own metrics have data in each hour; each further one costs $0.30.
- A message with its answer leaves {STORED_KB:g} KB in the table and {LOG_KB:g} KB in the log,
  with the lines of the platform. For
  recall, it writes two vectors of {VECTOR_KB:g} KB and searches {SEARCHED_KB:g} KB twice.
- One message in twenty leads to a consolidation.
- Lambda asks an empty queue with 5 pollers every 20 seconds."""

HEAD = """# Cost

What Skein costs at AWS, without the model and without Twilio. All figures are in dollars, from the
list prices of us-east-1 in `tools/reference/prices.toml`, without free tiers and taxes. They are
computed and were never compared with a bill.

`make reference` measures the calls of `tests/patterns` and writes this page.
"""
IDLE = """
## An idle stack

A month without messages. Both keys in one secret save $0.40, but then each function that may read
one key may read both.

"""
MESSAGES = """
## Messages

A message is one of a person, with its answer. The first line is the idle stack with its defaults.
Storage grows by that much with each month.

"""
EVENTS = """
[Web chat](web-chat.md) (`Widget=on`) adds ten cents a month for its alarm, and with `Edge=on` a
secret. A million visits without a message cost {opened}: one request each, with {reads:g} read
units and {writes:g} write units of the table. The first message of a visit takes {first:g} units
more than a member's message, and each later one {later:g}, because each call checks the visit and
its limits.

A service that receives [events](events.md) adds {event} for a million events, each sent in a
request of its own. A tenant without such services pays for `Feed` alone, which is in the table
above.
"""
RUNS = """
## Memory of RunWorker

A run mostly waits for the model, and Lambda bills memory while it waits. Less memory also has less
CPU, which makes a cold turn slow: it starts the worker, and then answers. `make runtime MEMORY=1`
measures both kinds of turns under AWS's runtime client and writes `bench/run-memory.md`. Here,
{model:g} s are added in which the worker waits for the model. RunWorker has the cheapest memory
that is at least twice what was in use ({used} MiB), because the caches of a warm worker
[grow](../bench/results.md) with the chats that it answers.

If people notice the start, more memory shortens it for the price in the last column, and
`SnapStart=on` avoids most of it.

"""

PROVISIONED = """
## Provisioned capacity

With `Size=provisioned`, the table and its indexes have provisioned capacity, which auto
scaling sets so that {target:g}% of it is used, or to the least of the template. The busiest minutes
of an hour are assumed to have {busiest:g} times the messages of its average minute, so half of the
capacity is used on average. The busiest hour of a day has {peak:.1f} times the messages of the
average hour. From midnight on, the hours have these parts of a day's messages:
{day}.

"""
SNAPSTART = """
## SnapStart

With `SnapStart=on`, Lambda keeps a snapshot of each published version of {count} functions, and
bills it by their memory: {kept} a month for one version of each, and as much again for each older
version that is still published. A thousand starts of a function with 1 GB cost {restored}.
"""


class Units(NamedTuple):
    """The capacity units and the numbers of requests of a part of a conversation.

    Attributes:
        batches: The commits that cause an invocation of the function `Feed`. Many commits at once
            cause fewer invocations.
    """

    reads: float = 0
    writes: float = 0
    searches: float = 0
    jobs: float = 0
    batches: float = 0

    def __add__(self, other: object) -> "Units":
        """Return the sum of the units of two parts."""
        return Units(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[call-overload]

    def times(self, count: float) -> "Units":
        """Return the units of a part that occurs `count` times."""
        return Units(*(part * count for part in self))


class _FedLog(Log):
    """A log of a table's calls that counts the commits that cause an invocation of `Feed`."""

    def __init__(self, feed: TableFeed) -> None:
        super().__init__()
        self.feed = feed
        self.batches = 0

    def append(self, call: Call) -> None:
        """Add a call to the log, and count its commit if `Feed` is invoked for it."""
        super().append(call)
        if call.method in WRITES:
            self.batches += bool(self.feed.lose())


class Gauge:
    """A meter of access patterns that measures units; see `tests.patterns.meter.Meter`."""

    def __init__(self) -> None:
        self.units = Units()

    @contextmanager
    def __call__(self, world: World) -> Iterator[None]:
        """Measure a part of a pattern."""
        log, sent = _FedLog(TableFeed(world.table, world.clock)), len(world.queues.sent)
        world.table.log = log
        yield
        world.table.log = []
        jobs = len(world.queues.sent) - sent
        self.units = sum(map(units_of, log), Units(jobs=jobs, batches=log.batches))


def units_of(call: Call) -> Units:
    """Return the capacity units of a call. Each write is assumed to change one index entry, too."""
    if call.method == "nearest":
        return Units(searches=1)
    if call.method in WRITES:
        units = max(call.items, math.ceil(call.bytes / 1_024), 1)
        return Units(writes=units * (2 if call.method == "transact" else 1) + 1)
    items = call.items if call.method in ITEM_READS else 1
    units = max(items, math.ceil(call.bytes / 4_096), 1)
    return Units(reads=units / 2 if call.method in EVENTUAL_READS else units)


@cache
def units(pattern: str) -> Units:
    """Return the units of an access pattern in docs/data.md."""
    modules = (chats, consolidation, events, live, recall, runs, texts, visits)
    every: dict[str, Pattern] = {k: v for module in modules for k, v in module.patterns.items()}
    gauge = Gauge()
    every[pattern](gauge)  # type: ignore[arg-type] # a meter of another kind
    return gauge.units


def _units(patterns: Mapping[str, float]) -> Units:
    return sum((units(name).times(count) for name, count in patterns.items()), Units())


MEMORY = {"index a message": 2.0, "consolidate a direct chat, nothing to remember": 0.05}
APP = {
    "a message of the app and its answer in a direct chat": 1.0,
    "send a frame of a streamed answer to two people": FRAMES / 2,  # one person has one connection
    "push a message to two people": 1.0,
    "read a page of messages": 1.0,
    "set a read receipt": 1.0,
    **MEMORY,
}
SMS = {
    "receive an SMS from a known phone": 1.0,
    "a whole turn in a private chat": 1.0,
    "deliver an SMS of one part": 1.0,
    "receive the status of an SMS": 2.0,
    **MEMORY,
}


@dataclass(frozen=True)
class RunMemory:
    """The figures in `bench/run-memory.md` for one memory size of RunWorker.

    Attributes:
        size: The memory size, in MiB.
        cold: The seconds of the start and the first answer, with the share of a core that this
            memory size gives.
        warm: The seconds of a further answer, with the same share of a core.
        used: The most memory that was in use, in MiB.
    """

    size: int
    cold: float
    warm: float
    used: int

    @property
    def turns(self) -> tuple[float, float]:
        """The billed seconds of a cold and of a warm turn, including the model's time."""
        return MODEL_SECONDS + self.cold, MODEL_SECONDS + self.warm

    @property
    def seconds(self) -> float:
        """The billed seconds of an average turn: a share of turns is cold."""
        cold, warm = self.turns
        return COLD * cold + (1 - COLD) * warm

    def dollars(self, seconds: float) -> float:
        """Return the cost of a million turns of this many seconds, in dollars."""
        return float(1e6 * seconds * self.size / 1_024 * COMPUTE["lambda_gb_second"])


@cache
def run_memories() -> Mapping[int, RunMemory]:
    """Return the measured figures, by memory size in MiB."""
    text = (ROOT / "bench" / "run-memory.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d,]+) \|(.*)\|$", text, re.MULTILINE)
    found = []
    for size, cells in rows:
        *_, cold, warm, used = cells.split("|")
        if "fails" not in cells:
            found.append(RunMemory(int(size.replace(",", "")), float(cold), float(warm), int(used)))
    return {each.size: each for each in found}


def cheapest_memory() -> int:
    """Return the cheapest memory size of RunWorker that is at least twice the memory in use."""
    fitting = [each for each in run_memories().values() if each.size >= 2 * each.used]
    return min(fitting, key=lambda each: each.dollars(each.seconds)).size


def message(kind: str) -> dict[str, float]:
    """Return the dollars that a message and its answer cost, by item; `kind` is `app` or `sms`."""
    by_app = kind == "app"
    used = used_by(kind)
    requests, sockets = REQUESTS[kind], FRAMES + 2.0 if by_app else 0.0
    jobs = used.jobs + 3  # the feed's for both messages, and upkeep
    calls = requests + used.batches + (AUTHORIZED if by_app else 0)
    minutes = CONNECTED_MINUTES if by_app else 0
    gb = run_memory() / 1_024
    run = run_memories()[run_memory()].seconds
    running = run * gb + calls * CALL_SECONDS + jobs * WORK_SECONDS
    invocations = calls + jobs
    return {
        "functions": running * COMPUTE["lambda_gb_second"]
        + invocations * COMPUTE["lambda_request"],
        "requests and frames": requests * COMPUTE["http_request"]
        + sockets * COMPUTE["socket_message"]
        + minutes * COMPUTE["connection_minute"],
        "table": used.writes * TABLE["write_unit"]
        + (used.reads + used.batches) * TABLE["read_unit"],
        "recall": 2 * VECTOR_KB / 1e6 * TABLE["vector_gb_written"]
        + 2 * SEARCHED_KB / 1e6 * TABLE["vector_gb_searched"],
        "queues": jobs * (3 * QUEUES["request"] + QUEUES["fair_queue_request"]),
        "logs": LOG_KB / 1e6 * OPERATIONS["log_gb"],
        "prompts that leave AWS": PROMPT_KB / 1e6 * COMPUTE["egress_gb"],
        "storage in the first month": STORED_KB
        / 1e6
        * (TABLE["gb_month"] + TABLE["recovery_gb_month"]),
    }


def _of_a_full_chat() -> Units:
    """Return the units that a turn in a full chat reads more than one in an empty chat."""
    full = units("a message of the app and its answer in a direct chat").reads
    return Units(reads=full - units("a whole turn in a private chat").reads)


def used_by(kind: str) -> Units:
    """Return the units of one message with its answer; `kind` is `app` or `sms`."""
    return _units(APP) if kind == "app" else _units(SMS) + _of_a_full_chat()


def provisioned(kind: str, volume: int) -> float:
    """Return the cost of a month of provisioned capacity in dollars, with the load curve `DAY`."""
    used, least = used_by(kind), dict[str, float]()
    resources = deployed_template().document["Resources"].values()
    for each in (one["Properties"] for one in resources if "AutoScaling" in one["Type"]):
        if "ScalableDimension" in each:
            what = each["ScalableDimension"].split(":")[-1]
            least[what] = least.get(what, 0) + each["MinCapacity"]
    spare = BUSIEST / (_target() / 100)
    dollars = 0.0
    for what, units, price in (
        ("ReadCapacityUnits", used.reads + used.batches, TABLE["provisioned_read_hour"]),
        ("WriteCapacityUnits", used.writes, TABLE["provisioned_write_hour"]),
    ):
        for part in DAY:
            seconds = MONTH_MINUTES * 60 / 24  # of this hour, in all days
            a_second = volume * units * part / sum(DAY) / seconds
            dollars += max(least[what], spare * a_second) * price * seconds / 3_600
    return dollars


def _target() -> float:
    """Return the utilization that auto scaling of provisioned capacity aims at, in percent."""
    scaling = deployed_template().document["Resources"]["TableWritesScaling"]["Properties"]
    return float(scaling["TargetTrackingScalingPolicyConfiguration"]["TargetValue"])


def dollars_of_event() -> float:
    """Return the dollars that an event for one endpoint costs: queueing it, and sending it."""
    used = _units({"queue an event for a service": 1, "send an event to a service": 1})
    dollars: float = (
        used.writes * TABLE["write_unit"]
        + used.reads * TABLE["read_unit"]
        + WORK_SECONDS * COMPUTE["lambda_gb_second"]
        + COMPUTE["lambda_request"]
        + 3 * QUEUES["request"]
        + QUEUES["fair_queue_request"]
    )
    return dollars


def _visits() -> dict[str, object]:
    """Return what the calls of visitors cost, more than those of members of a direct chat."""
    opened, member = units("open a visit"), units("receive a message of the app")
    request = COMPUTE["http_request"] + COMPUTE["lambda_request"]
    request += CALL_SECONDS * COMPUTE["lambda_gb_second"]
    dollars = request + opened.writes * TABLE["write_unit"] + opened.reads * TABLE["read_unit"]
    usual = member.reads + member.writes
    first, later = (
        found.reads + found.writes - usual
        for found in map(units, ("post the first message of a visit", "post a message of a visit"))
    )
    return {
        "opened": _dollars(1e6 * dollars),
        "reads": opened.reads,
        "writes": opened.writes,
        "first": first,
        "later": later,
    }


def run_memory() -> int:
    """Return the memory size of RunWorker in the template, in MiB."""
    return next(f.memory for f in deployed_template().functions if f.logical_id == "RunWorker")


def idle(parameters: Mapping[str, str], *, secrets: int = 2) -> dict[str, float]:
    """Return the cost of a month without messages in dollars, by item.

    Args:
        parameters: The stack's parameters that differ from their defaults.
        secrets: How many secrets the user gives to the stack. The stack creates its other secrets
            itself.
    """
    template = deployed_template()
    document = template.document
    values = template.parameters(dict(parameters))

    def on(condition: str | None) -> bool:
        return condition is None or bool(template.resolve({"Condition": condition}, values))

    functions = [
        function
        for function in template.functions
        if on(document["Resources"][function.logical_id].get("Condition"))
    ]
    queues = sum(
        bool(template.resolve(event["Properties"].get("Enabled", True), values))
        for function in functions
        for event in document["Resources"][function.logical_id]["Properties"]
        .get("Events", {})
        .values()
        if event["Type"] == "SQS"
    )
    tick = next(function for function in functions if function.logical_id == "Tick")
    reads = units("a tick with nothing due").reads
    ticks = MONTH_MINUTES * (
        WORK_SECONDS * tick.memory / 1_024 * COMPUTE["lambda_gb_second"]
        + COMPUTE["lambda_request"]
        + reads * TABLE["read_unit"]
        + 2 / 1e6 * OPERATIONS["log_gb"]
    )
    secrets += sum(
        each["Type"] == "AWS::SecretsManager::Secret" and on(each.get("Condition"))
        for each in document["Resources"].values()
    )
    found = {
        "empty queues": queues * RECEIVES_A_MONTH * QUEUES["request"],
        "ticks": ticks,
        "secrets": secrets * OPERATIONS["secret"],
    }
    canary = document["Resources"]["CanaryAlarm"]
    metrics = _metrics(canary["Properties"]) if on(canary["Condition"]) else 0
    if on("HasAlarms"):
        ops = ops_template()
        left_out = set() if on("HasWidget") else {"VisitTokensNearLimitAlarm"}
        alarms = ops.resources("AWS::CloudWatch::Alarm")
        metrics += sum(_metrics(each) for name, each in alarms if name not in left_out)
        found["smoke test"] = MONTH_MINUTES * (
            COMPUTE["api_destination"]
            + COMPUTE["http_request"]
            + COMPUTE["lambda_request"]
            + CALL_SECONDS * COMPUTE["lambda_gb_second"]
            + 3 / 1e6 * OPERATIONS["log_gb"]
        )
        found["metric of invocations"] = OPERATIONS["custom_metric"]  # others have no data
        if values["Alarms"] == "dashboard":
            found["dashboard"] = OPERATIONS["dashboard"]
    if metrics:
        found[f"alarms: {metrics} metrics"] = metrics * OPERATIONS["alarm_metric"]
    return found


def _metrics(alarm: Mapping[str, object]) -> int:
    """Return how many metrics AWS bills for an alarm."""
    listed = alarm.get("Metrics")
    if not isinstance(listed, list):
        return 1
    return sum(map(_read_by, listed))


def _read_by(data: Mapping[str, object]) -> int:
    """Return how many metrics a part of an alarm reads.

    A query reads one metric for each value of its dimension.
    """
    if "Period" not in data:
        return int("MetricStat" in data)
    return next(count for name, count in QUERIED.items() if name in str(data["Expression"]))


SMS_ON = {"TwilioSecretArn": "arn"}
STACKS: Mapping[str, tuple[Mapping[str, str], int]] = {
    "all parts, with `Alarms=dashboard`": ({**SMS_ON, "Alarms": "dashboard"}, 2),
    "the defaults, with SMS": (SMS_ON, 2),
    "the defaults, without SMS": ({}, 1),
    "`PROFILE=small` with SMS, both keys in one secret": ({**PROFILES["small"], **SMS_ON}, 1),
    "`PROFILE=small` without SMS": (PROFILES["small"], 1),
}


def page() -> str:
    """Return docs/cost.md in Markdown."""
    idle_rows = [
        (name, _dollars(sum(found.values())), _listed(found))
        for name, (parameters, secrets) in STACKS.items()
        for found in [idle(parameters, secrets=secrets)]
    ]
    base = sum(idle(SMS_ON).values())
    memories = table(
        "MiB",
        "seconds, cold",
        "seconds, warm",
        "a million cold",
        "a million warm",
        f"a million, {COLD:.0%} cold",
        rows=_memories(),
    )
    parts = [HEAD, IDLE, table("stack", "a month", "of that", rows=idle_rows)]
    event = _dollars(1e6 * dollars_of_event())
    parts += [
        MESSAGES,
        _messages(base),
        EVENTS.format(event=event, **_visits()),
        _provisioned(base),
        RUNS.format(model=MODEL_SECONDS, used=run_memories()[run_memory()].used),
        memories,
        _snapstart(),
        f"\n## What is assumed\n\n{ASSUMED}\n",
    ]
    return "".join(parts)


def _messages(base: float) -> str:
    kinds = {kind: message(kind) for kind in ("app", "sms")}
    names = {"app": "app, live channel", "sms": "SMS"}
    heads = [f"{volume:,} by {names[kind]}" for volume in VOLUMES for kind in kinds]
    rows: list[tuple[str, ...]] = [("idle stack", *[_dollars(base)] * len(heads))]
    cells: Callable[[str], Sequence[str]] = lambda item: [  # noqa: E731
        _dollars(volume * kinds[kind][item]) for volume in VOLUMES for kind in kinds
    ]
    metrics = USUAL_METRICS * OPERATIONS["custom_metric"]
    rows.append(("Skein's own metrics", *[_dollars(metrics)] * len(heads)))
    rows += [(item, *cells(item)) for item in kinds["app"]]
    sums = [
        base + metrics + volume * sum(kinds[kind].values()) for volume in VOLUMES for kind in kinds
    ]
    rows.append(("**all**", *(f"**{_dollars(each)}**" for each in sums)))
    return table("a month", *heads, rows=rows)


def _provisioned(base: float) -> str:
    head = PROVISIONED.format(
        target=_target(),
        busiest=BUSIEST,
        day=", ".join(map(str, DAY)),
        peak=max(DAY) * len(DAY) / sum(DAY),
    )
    fixed = base + USUAL_METRICS * OPERATIONS["custom_metric"]
    rows = []
    for volume in (1_000_000, 5_000_000, 10_000_000):
        for kind, name in (("app", "the app, live channel"), ("sms", "SMS")):
            table_alone, scaled = volume * message(kind)["table"], provisioned(kind, volume)
            all_on_demand = fixed + volume * sum(message(kind).values())
            dollars = (table_alone, scaled, all_on_demand, all_on_demand - table_alone + scaled)
            rows.append((f"{volume:,} by {name}", *map(_dollars, dollars)))
    heads = ("a month", "table on demand", "provisioned", "all on demand", "all provisioned")
    return head + table(*heads, rows=rows)


def _snapstart() -> str:
    resources = deployed_template().document["Resources"]
    named = {name for name, each in resources.items() if "SnapStart" in each.get("Properties", {})}
    memory = [f.memory for f in deployed_template().functions if f.logical_id in named]
    kept = sum(memory) / 1_024 * MONTH_MINUTES * 60 * COMPUTE["snapshot_gb_second"]
    restored = 1_000 * COMPUTE["snapshot_gb_restored"]
    return SNAPSTART.format(count=len(memory), kept=_dollars(kept), restored=_dollars(restored))


def _memories() -> Iterator[tuple[str, ...]]:
    for size, found in run_memories().items():
        cold, warm = found.turns
        prices = [_dollars(found.dollars(each)) for each in (cold, warm, found.seconds)]
        yield f"{size:,}", f"{cold:.1f}", f"{warm:.2f}", *prices


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 100 else f"${value:,.2f}"  # noqa: PLR2004


def _listed(found: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {_dollars(value)}" for name, value in found.items())
