"""The tables of `docs/scale.md`, from computed and simulated figures."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from math import inf, isinf
from typing import Any

from bench.report import markdown_table
from bench.scale.assumptions import Assumptions
from bench.scale.cost import Bill, Costs
from bench.scale.limits import EVERYTHING, RATES, Bound, Limits
from bench.scale.scenarios import CHATS, DUE_OF_ALL, ScenarioResult
from bench.scale.stage import SPARE_SECONDS
from bench.scale.traffic import Activity
from local.template import Function, Template
from skein.adapters.aws.sqs import BATCH_JOBS
from skein.models.common.storage import MAX_BATCH_GET_KEYS, MAX_TRANSACTION_ITEMS
from skein.models.outbox.due import DUE_SHARDS
from skein.services.common.parallel import THREADS
from skein.services.outbox.due_scanner import BATCH, PAGE
from skein.services.outbox.tick import (
    BACKGROUND_BACKOFF_MINUTES,
    BACKGROUND_PAGES,
    BACKOFF_MINUTES,
)
from skein.services.quotas.rate_limits import MAX_SHARDS
from skein.services.quotas.usage import USAGE_SHARDS

MARK = re.compile(r"(<!-- scale: (?P<name>[a-z-]+) -->\n).*?(<!-- /scale -->)", re.DOTALL)
HOUR_SECONDS = 3_600
PLACES = ((100, 0), (10, 1))
SOURCES = {EVERYTHING: "many tenants"}  # of messages, by what a bottleneck limits
Tables = Mapping[str, str]
Cells = list[list[str]]


def filled(page: str, tables: Tables) -> str:
    """Return the page with each table in its place.

    Raises:
        KeyError: A table has no place.
    """
    places = {match["name"] for match in MARK.finditer(page)}
    if not tables.keys() <= places:
        raise KeyError(f"no marker for {sorted(tables.keys() - places)}")

    def put(match: re.Match[str]) -> str:
        table = tables.get(match["name"])
        return match[0] if table is None else f"{match[1]}\n{table}\n\n{match[3]}"

    return MARK.sub(put, page)


def number(value: float) -> str:
    """Format a number; a larger number has fewer decimals."""
    if isinf(value):
        return "AWS quota"
    if value == int(value):
        return f"{value:,.0f}"
    places = next((places for least, places in PLACES if value >= least), 2)
    return f"{value:,.{places}f}"


# ---------------------------------------------------------------------- from the code


def facts(template: Template) -> Cells:
    """Return the values that code and template set."""
    functions = {function.logical_id: function for function in template.functions}
    parameters = template.parameters()
    [api] = (v for _, v in template.resources("AWS::Serverless::HttpApi"))
    route = api["DefaultRouteSettings"]
    tick, finder = functions["Tick"], functions["ConsolidationFinder"]
    rows = [
        [
            "API requests per second; burst",
            f"{route['ThrottlingRateLimit']:,}; {route['ThrottlingBurstLimit']:,}",
            "`DefaultRouteSettings` in `template.yaml`",
        ],
        *(
            [f"`{name}`: {what}", f"{int(parameters[name]):,}", "parameter; at most 1,000"]
            for name, what in WORKERS.items()
        ),
        ["jobs per invocation", _batches(template), "`BatchSize` in `template.yaml`"],
        ["shards of each kind of due pointer", f"{DUE_SHARDS}", "`DUE_SHARDS`"],
        ["counters of a tenant's usage per day", f"{USAGE_SHARDS}", "`USAGE_SHARDS`"],
        ["maximum shards of a tenant's limits", f"{MAX_SHARDS}", "`MAX_SHARDS`"],
        ["ticks per minute; maximum seconds; MB", _looks(tick), "`Tick` in `template.yaml`"],
        [
            "consolidation finders per hour; maximum seconds; MB",
            _looks(finder),
            "`ConsolidationFinder` in `template.yaml`",
        ],
        [
            "reflection finders per day; maximum seconds; MB",
            _looks(functions["ReflectionFinder"]),
            "`ReflectionFinder` in `template.yaml`",
        ],
        ["threads of a tick or finder", f"{THREADS}", "`THREADS`"],
        [
            "due pointers per page; items per batch",
            f"{PAGE}; {BATCH}",
            "`PAGE`, `BATCH`",
        ],
        [
            "minutes until the job of a due item is sent again",
            ", ".join(map(str, BACKOFF_MINUTES)),
            "`BACKOFF_MINUTES`",
        ],
        [
            "maximum direct chats that a tick sends to consolidation, per shard",
            f"{BACKGROUND_PAGES * PAGE:,}",
            "`BACKGROUND_PAGES`",
        ],
        [
            "minutes until a direct chat is sent again",
            ", ".join(map(str, BACKGROUND_BACKOFF_MINUTES)),
            "`BACKGROUND_BACKOFF_MINUTES`",
        ],
        ["jobs per request to SQS", f"{BATCH_JOBS}", "SQS"],
        [
            "items per transaction; per `get_many`",
            f"{MAX_TRANSACTION_ITEMS}; {MAX_BATCH_GET_KEYS}",
            "DynamoDB",
        ],
    ]
    return [["setting", "value", "defined in"], *rows]


WORKERS = {
    "TurnsConcurrency": "concurrent runs",
    "DeliveriesConcurrency": "concurrent SMS deliveries",
    "UpkeepConcurrency": "concurrent batches of upkeep",
    "SummariesConcurrency": "concurrent summaries",
    "ConsolidationsConcurrency": "concurrent consolidations",
    "ReflectionsConcurrency": "concurrent reflections",
    "ErasuresConcurrency": "concurrent erasures",
    "RecallConcurrency": "concurrent batches of recall indexing",
    "PushesConcurrency": "concurrent batches of pushes",
}


def _batches(template: Template) -> str:
    sizes = {f.logical_id: q.batch_size for f in template.functions for q in f.queues}
    usual = min(sizes.values())
    others = [f"`{name}` {size}" for name, size in sizes.items() if size != usual]
    return ", ".join([f"{usual}", *others])


def _looks(function: Function) -> str:
    working = function.timeout - SPARE_SECONDS
    return f"{len(function.schedules)}; {working}; {function.memory:,}"


# ---------------------------------------------------------------------- computed


def activities(found: Sequence[Activity]) -> Cells:
    """Return what each activity consumes."""
    heads = ["activity", "calls", "read units", "write units", "jobs", "KiB stored"]
    rows = [
        [
            one.name,
            number(one.each(one.calls.total())),
            number(one.reads),
            number(one.writes),
            number(one.each(one.jobs.total())),
            number(one.each(one.stored) / 1_024),
        ]
        for one in found
    ]
    return [heads, *rows]


def bills(found: Sequence[Activity], costs: Costs) -> Cells:
    """Return the dollars for a million of each activity."""
    parts = [part.name for part in fields(Bill)]
    rows = [(one.name, costs.of(one)) for one in found]
    rows.append(("direct chat message with its share of background work", costs.mixed(found)))
    return [
        ["dollars for a million", *parts, "total"],
        *(
            [name, *(f"{getattr(bill, part):,.2f}" for part in parts), f"{bill.total:,.2f}"]
            for name, bill in rows
        ),
    ]


def live_bills(found: Sequence[Activity], costs: Costs) -> Cells:
    """Return the dollars for a million of each activity of the live channel."""
    parts = ["writes", "reads", "functions", "queues", "gateway", "logs"]
    rows = [(one.name, one.each(one.frames), costs.of(one)) for one in found]
    return [
        ["dollars for a million", "frames each", *parts, "total"],
        *(
            [
                name,
                number(frames),
                *(f"{getattr(bill, part):,.2f}" for part in parts),
                f"{bill.total:,.2f}",
            ]
            for name, frames, bill in rows
        ),
    ]


def keys(limits: Limits) -> Cells:
    """Return the load of one message on each partition."""
    heads = ["partition", "read units", "write units", "shards", "messages per second"]
    return [
        heads,
        *(
            [key.role, number(key.reads), number(key.writes), f"{key.shards}", number(key.holds)]
            for key in limits.hot_keys()
        ),
    ]


def bounds(found: Iterable[Bound]) -> Cells:
    """Return the bottlenecks, the tightest first."""
    rows = [
        [b.name, b.whose, number(b.holds), number(b.turned), b.turn] for b in found if b.holds < inf
    ]
    return [["bottleneck", "limits", "as deployed", "after tuning", "how to tune"], *rows]


def breaks(found: Sequence[Bound]) -> Cells:
    """Return the bottlenecks that each rate exceeds."""
    rows = []
    for rate in RATES:
        for whose in (EVERYTHING, "one tenant", "one agent"):
            names = [b.name for b in found if b.whose == whose and b.holds < rate]
            code = [b.name for b in found if b.whose == whose and b.turned < rate]
            rows.append(
                [
                    f"{rate:,}",
                    SOURCES.get(whose, whose),
                    "; ".join(names) or "-",
                    "; ".join(code) or "-",
                ]
            )
    return [
        ["messages per second", "come from", "bottlenecks as deployed", "bottlenecks after tuning"],
        *rows,
    ]


def remembering(memory: Activity, costs: Costs, template: Template) -> Cells:
    """Return the work of consolidating all chats that become due in one hour."""
    due, seconds = CHATS // DUE_OF_ALL, costs.seconds(memory)["ConsolidationWorker"]
    now = int(template.parameters()["ConsolidationsConcurrency"])
    rows = {
        "chats that become due": due,
        "seconds that a worker needs for one": seconds,
        "concurrent workers that consolidate all of them within the hour": due
        * seconds
        / HOUR_SECONDS,
        "hours with `ConsolidationsConcurrency` as deployed": due * seconds / HOUR_SECONDS / now,
    }
    return [["figure", "value"], *([name, number(value)] for name, value in rows.items())]


# ---------------------------------------------------------------------- simulated


def tick_rates(figures: Mapping[str, Mapping[str, Any]]) -> Cells:
    """Return what ticks send in a minute."""
    heads = [
        "deployment",
        "sent per minute",
        "calls per item",
        "read units",
        "write units",
        "seconds",
    ]
    return [heads, *(_row(name, one, one["moved"]) for name, one in figures.items())]


def finder_rates(figures: Mapping[str, Mapping[str, Any]]) -> Cells:
    """Return what a finder handles in its time."""
    heads = ["deployment", "due", "handled", "left", "jobs", "calls per item", "seconds"]
    rows = [
        [
            name,
            *(number(one[figure]) for figure in ("due", "moved", "left", "sent", "calls")),
            number(one["seconds"]),
        ]
        for name, one in figures.items()
    ]
    return [heads, *rows]


def _row(name: str, one: Mapping[str, Any], sent: float) -> list[str]:
    figures = (sent, one["calls"], one["reads"], one["writes"], one["seconds"])
    return [name, *map(number, figures)]


TOLD = {
    "backlog": {
        "due": "due runs whose jobs are lost",
        "minutes": "minutes until all jobs are sent",
        "longest": "seconds that were added to the longest wait",
        "twice": "jobs sent twice",
    },
    "mixture": {
        "runs": "runs that have been due for up to half an hour",
        "texts": "SMS that become due after them",
        "runs_sent": "runs sent by the next tick",
        "texts_sent": "SMS sent by the next tick",
        "text_late": "longest time that an SMS was due, in seconds",
    },
    "direct_chats": {
        "chats": "direct chats that become due at the same time",
        "runs": "runs that become due a minute later",
        "runs_sent": "runs sent by the next tick",
        "chats_sent": "direct chats sent by the same tick",
        "minutes": "minutes until all direct chats are sent",
        "twice": "jobs sent twice",
    },
    "overlap": {
        "due": "runs that are due",
        "first": "sent by the first tick",
        "second": "sent by the second tick",
        "twice": "jobs sent twice",
        "done": "runs that workers carried out",
    },
    "slow_workers": {
        "due": "runs that are queued at the same time",
        "per_minute": "runs that workers finish per minute",
        "minutes": "minutes until all are done",
        "again": "jobs that the tick sends for each run",
        "twice": "jobs without work",
    },
}


def simulated_row(found: ScenarioResult) -> Cells:
    """Return a scenario's figures, one in each row."""
    names = TOLD[found.scenario]
    return [["figure", "value"], *([names[name], number(found.figures[name])] for name in names)]


def simulated(found: Mapping[str, ScenarioResult]) -> Tables:
    """Return the tables of the simulation."""
    tables = {
        "rates": tick_rates(found["rates"].figures),
        "consolidations": finder_rates(found["consolidations"].figures),
        "reflections": finder_rates(found["reflections"].figures),
        **{name.replace("_", "-"): simulated_row(found[name]) for name in TOLD},
    }
    rows = [
        [name.replace("_", " "), number(one.seconds), number(one.peak_mib)]
        for name, one in found.items()
    ]
    tables["memory"] = [["scenario", "seconds of the simulation", "maximum MiB"], *rows]
    return {name: markdown_table(cells) for name, cells in tables.items()}


def computed(
    assumed: Assumptions,
    template: Template,
    found: Sequence[Activity],
    live: Sequence[Activity],
) -> Tables:
    """Return the tables that need no simulation."""
    costs = Costs(assumed, template)
    limits = Limits(assumed, costs, template, found)
    all_bounds = limits.bounds()
    tables = {
        "facts": facts(template),
        "activities": activities(found),
        "bills": bills(found, costs),
        "live": live_bills(live, costs),
        "keys": keys(limits),
        "bounds": bounds(all_bounds),
        "breaks": breaks(all_bounds),
        "remembering": remembering(found[-1], costs, template),
    }
    return {name: markdown_table(cells) for name, cells in tables.items()}
