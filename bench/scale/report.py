"""What was computed and simulated, as the tables of `docs/scale.md`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from math import inf, isinf
from typing import Any

from bench.report import markdown_table
from bench.scale.assumptions import Assumptions
from bench.scale.cost import Bill, Costs
from bench.scale.limits import RATES, Bound, Limits
from bench.scale.scenarios import CHATS, DUE_OF_ALL, ScenarioResult
from bench.scale.stage import SPARE_SECONDS
from bench.scale.traffic import Activity
from local.template import Function, Template
from skein.adapters.sqs import BATCH_JOBS
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
Tables = Mapping[str, str]
Cells = list[list[str]]


def filled(page: str, tables: Tables) -> str:
    """The page with the tables that there are in their places.

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
    """As people read it: no more places than it is worth."""
    if isinf(value):
        return "as far as AWS goes"
    if value == int(value):
        return f"{value:,.0f}"
    places = next((places for least, places in PLACES if value >= least), 2)
    return f"{value:,.{places}f}"


# ---------------------------------------------------------------------- from the code


def facts(template: Template) -> Cells:
    """Numbers that stand in code and template."""
    functions = {function.logical_id: function for function in template.functions}
    parameters = template.parameters()
    [api] = (v for _, v in template.resources("AWS::Serverless::HttpApi"))
    route = api["DefaultRouteSettings"]
    tick, finder = functions["Tick"], functions["ConsolidationFinder"]
    rows = [
        [
            "requests to the API a second; at once",
            f"{route['ThrottlingRateLimit']:,}; {route['ThrottlingBurstLimit']:,}",
            "`DefaultRouteSettings` in `template.yaml`",
        ],
        *(
            [f"`{name}`: {what}", f"{int(parameters[name]):,}", "parameter; at most 1,000"]
            for name, what in WORKERS.items()
        ),
        ["jobs an invocation takes", _batches(template), "`BatchSize` in `template.yaml`"],
        ["shards of each kind of due pointer", f"{DUE_SHARDS}", "`DUE_SHARDS`"],
        ["counters of a tenant's usage of a day", f"{USAGE_SHARDS}", "`USAGE_SHARDS`"],
        ["parts of a tenant's limits, at most", f"{MAX_SHARDS}", "`MAX_SHARDS`"],
        ["ticks a minute; seconds of each; MB", _looks(tick), "`Tick` in `template.yaml`"],
        [
            "consolidation finders an hour; seconds of each; MB",
            _looks(finder),
            "`ConsolidationFinder` in `template.yaml`",
        ],
        [
            "reflection finders a day; seconds of each; MB",
            _looks(functions["ReflectionFinder"]),
            "`ReflectionFinder` in `template.yaml`",
        ],
        ["threads of a tick or finder", f"{THREADS}", "`THREADS`"],
        [
            "marks of a kind and shard that are read at once; that are moved in one go",
            f"{PAGE}; {BATCH}",
            "`PAGE`, `BATCH`",
        ],
        [
            "minutes after which what is still due is sent again",
            ", ".join(map(str, BACKOFF_MINUTES)),
            "`BACKOFF_MINUTES`",
        ],
        [
            "direct chats that a tick sends for consolidation, at most, from each shard",
            f"{BACKGROUND_PAGES * PAGE:,}",
            "`BACKGROUND_PAGES`",
        ],
        [
            "minutes after which a direct chat is sent again",
            ", ".join(map(str, BACKGROUND_BACKOFF_MINUTES)),
            "`BACKGROUND_BACKOFF_MINUTES`",
        ],
        ["jobs in one request to SQS", f"{BATCH_JOBS}", "SQS"],
        [
            "items in a transaction; in a `get_many`",
            f"{MAX_TRANSACTION_ITEMS}; {MAX_BATCH_GET_KEYS}",
            "DynamoDB",
        ],
    ]
    return [["what", "now", "where it stands"], *rows]


WORKERS = {
    "TurnsConcurrency": "runs at once",
    "DeliveriesConcurrency": "texts at once",
    "UpkeepConcurrency": "batches of upkeep at once",
    "SummariesConcurrency": "summaries at once",
    "ConsolidationsConcurrency": "chats remembered at once",
    "ReflectionsConcurrency": "agents reflecting at once",
    "ErasuresConcurrency": "people erased at once",
    "RecallConcurrency": "batches of messages indexed at once",
    "PushesConcurrency": "batches of live changes pushed at once",
}


def _batches(template: Template) -> str:
    sizes = {f.logical_id: q.batch_size for f in template.functions for q in f.queues}
    usual = min(sizes.values())
    others = [f"{size} of `{name}`" for name, size in sizes.items() if size != usual]
    return ", ".join([f"{usual}", *others])


def _looks(function: Function) -> str:
    working = function.timeout - SPARE_SECONDS
    return f"{len(function.schedules)}; {working}; {function.memory:,}"


# ---------------------------------------------------------------------- computed


def activities(found: Sequence[Activity]) -> Cells:
    """What each thing that happens consumes."""
    heads = ["what happens", "calls", "read units", "write units", "jobs", "KiB stored"]
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
    """What a million of each costs."""
    parts = [part.name for part in fields(Bill)]
    rows = [(one.name, costs.of(one)) for one in found]
    rows.append(("a message in a direct chat with all that it brings", costs.mixed(found)))
    return [
        ["dollars for a million", *parts, "all"],
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
        ["dollars for a million", "frames of one", *parts, "all"],
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
    """The hottest keys."""
    heads = ["what shares a partition", "read units", "write units", "shards", "messages a second"]
    return [
        heads,
        *(
            [key.role, number(key.reads), number(key.writes), f"{key.shards}", number(key.holds)]
            for key in limits.hot_keys()
        ),
    ]


def bounds(found: Iterable[Bound]) -> Cells:
    """What gives way, the first first."""
    rows = [
        [b.name, b.whose, number(b.holds), number(b.turned), b.turn] for b in found if b.holds < inf
    ]
    return [["what gives way", "for", "holds", "can hold", "what to turn"], *rows]


def breaks(found: Sequence[Bound]) -> Cells:
    """What no longer holds at each rate, if all of it comes to one place."""
    rows = []
    for rate in RATES:
        for whose in ("all", "one tenant", "one agent"):
            names = [b.name for b in found if b.whose == whose and b.holds < rate]
            code = [b.name for b in found if b.whose == whose and b.turned < rate]
            rows.append([f"{rate:,}", whose, "; ".join(names) or "-", "; ".join(code) or "-"])
    return [["messages a second", "for", "gives way as deployed", "still does, turned"], *rows]


def remembering(memory: Activity, costs: Costs, template: Template) -> Cells:
    """What it takes to remember all the chats that fall due within one hour."""
    due, seconds = CHATS // DUE_OF_ALL, costs.seconds(memory)["ConsolidationWorker"]
    now = int(template.parameters()["ConsolidationsConcurrency"])
    rows = {
        "chats that fall due": due,
        "seconds that a worker has to do with one": seconds,
        "workers at once to remember all of them within the hour": due * seconds / HOUR_SECONDS,
        "hours that it takes `ConsolidationsConcurrency` as it is": due
        * seconds
        / HOUR_SECONDS
        / now,
    }
    return [["", ""], *([name, number(value)] for name, value in rows.items())]


# ---------------------------------------------------------------------- simulated


def tick_rates(figures: Mapping[str, Mapping[str, Any]]) -> Cells:
    """What a tick does in its minute."""
    heads = ["how", "sent in a minute", "calls a mark", "read units", "write units", "seconds"]
    return [heads, *(_row(name, one, one["moved"]) for name, one in figures.items())]


def finder_rates(figures: Mapping[str, Mapping[str, Any]]) -> Cells:
    """What a finder does in its time."""
    heads = ["how", "due", "moved", "left", "jobs", "calls a mark", "seconds"]
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
        "due": "runs that are due at once, their jobs all lost",
        "minutes": "minutes until all are sent",
        "longest": "seconds by which the longest wait of any of them grew meanwhile",
        "twice": "jobs that were sent twice",
    },
    "mixture": {
        "runs": "runs that have been due for up to half an hour",
        "texts": "texts that become due behind them",
        "runs_sent": "runs sent by the next tick",
        "texts_sent": "texts sent by the next tick",
        "text_late": "seconds that the longest-waiting text had been due",
    },
    "direct_chats": {
        "chats": "direct chats that become due together",
        "runs": "runs that become due a minute later",
        "runs_sent": "runs sent by the next tick",
        "chats_sent": "direct chats sent by the same tick",
        "minutes": "minutes until all direct chats are sent",
        "twice": "jobs that were sent twice",
    },
    "overlap": {
        "due": "runs that are due",
        "first": "sent by a tick that is overtaken between its reads and its writes",
        "second": "sent by the tick that overtakes it",
        "twice": "jobs that were sent twice",
        "done": "runs that workers found to do",
    },
    "slow_workers": {
        "due": "runs that begin to wait at once",
        "per_minute": "that workers can take in a minute",
        "minutes": "minutes until all are done",
        "again": "times that the tick sends each again meanwhile",
        "twice": "jobs that found nothing to do",
    },
}


def simulated_row(found: ScenarioResult) -> Cells:
    """A scenario's figures, one on a line."""
    names = TOLD[found.scenario]
    return [["", ""], *([names[name], number(found.figures[name])] for name in names)]


def simulated(found: Mapping[str, ScenarioResult]) -> Tables:
    """The tables of the simulation."""
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
    tables["memory"] = [["scenario", "seconds of simulation", "MiB at most"], *rows]
    return {name: markdown_table(cells) for name, cells in tables.items()}


def computed(
    assumed: Assumptions,
    template: Template,
    found: Sequence[Activity],
    live: Sequence[Activity],
) -> Tables:
    """The tables that need no simulation."""
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
