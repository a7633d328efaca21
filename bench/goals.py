"""The goals of the benchmarks, each with the measured figure and a verdict."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from bench.caches import Measured
from bench.cost import Row
from bench.starts.imports import ColdStart
from bench.turns.script import LENGTHS
from tests.support.prompt_overhead import OVERHEAD_LIMITS

OURS, PEERS = "skein", ("langchain", "langgraph")
FLAT = 1.1
FULL = 1_000  # messages, from which on a prompt's window and the searches of recall are full
TURN_CALLS, TURN_UNITS, TURN_KIB = 14, 90.0, 160.0
BUILD_MS, WITH_READS_MS, TOKENS_MS = 15.0, 200.0, 5.0
WEBHOOK, WORKER, WEBHOOK_SHARE = "sms_webhook", "run_worker", 0.5
PREFIX_SHARE = 0.8
CACHE_SHARE = 0.8  # where the rule of the model allows a cache, with a long system prompt
MOST_COST = 1.01  # of a slow conversation: its first turns pay for points that are never read
LIMIT_SHARE = 0.4
RECALLED_TOKENS = 300  # a turn, of one question and three turns of small talk
# The measured shares, rounded down: a change that lowers one of them fails.
PREFIX_SHARES = {
    "direct, short system prompt": 0.83,
    "direct, long system prompt": 0.922,
    "direct, every tool": 0.939,
    "group, short system prompt": 0.913,
    "group, long system prompt": 0.944,
}


@dataclass(frozen=True)
class Goal:
    """One goal of the benchmarks, with the measured figure.

    Attributes:
        met: Whether the goal was met; None if nothing was measured.
    """

    name: str
    found: str
    met: bool | None

    @property
    def verdict(self) -> str:
        """The verdict for the table: pass or FAIL."""
        return {True: "pass", False: "FAIL", None: "FAIL (not measured)"}[self.met]


@dataclass(frozen=True)
class Results:
    """All results of a run.

    Attributes:
        own_time: Skein's own time by kind of chat, in milliseconds (`skein_turns.own_time`).
        imports: Cold starts by module.
        memory: See `bench.turns.memory`; None if it failed.
        prefix: The shares of prompts that a cache can serve, by conversation (`prefix.shares`). The
            prompts have no section RECALLED. The key `recalling` has the ideal share of prompts
            with this section.
        failures: The parts that could not be measured, with the reason.
        overheads: The tokens of prompts that Skein adds to what people and agents said, by
            situation.
        limit_shares: The share of the token limit that the prompt of a situation takes, or the
            largest prompt of a conversation.
        caches: What the caches of models do (`caches.measured`), by conversation and model.
        recalled: The tokens of the section RECALLED (`prefix.recalled_tokens`): in turns with a
            question, then in turns with small talk.
        visits: The calls of a visit of the web chat.
    """

    rows: Sequence[Row]
    own_time: Mapping[str, Mapping[str, float]]
    imports: Mapping[str, ColdStart]
    memory: Mapping[str, float] | None
    prefix: Mapping[str, Mapping[str, float]]
    failures: Sequence[str]
    overheads: Mapping[str, int] = field(default_factory=dict)
    recalled: Sequence[Sequence[int]] = ()
    limit_shares: Mapping[str, float] = field(default_factory=dict)
    caches: Mapping[str, Mapping[str, Measured]] = field(default_factory=dict)
    visits: Sequence[Row] = ()

    def row(self, who: str, messages: int) -> Row | None:
        """Return a row of the table; None if the turns failed or were not measured."""
        found = (row for row in self.rows if (row.who, row.messages) == (who, messages))
        return next((row for row in found if row.error is None), None)

    def failed(self, who: str, messages: int) -> bool:
        """Return whether turns in chats of this length were tried and failed."""
        tried = [row for row in self.rows if (row.who, row.messages) == (who, messages)]
        return any(row.error is not None for row in tried)


def goals(results: Results) -> list[Goal]:
    """Return all goals, in the order in which they are printed."""
    return [
        *_fewer_calls(results),
        *_flat(results),
        *_small(results),
        *_own_time(results),
        *_imports(results.imports),
        _memory(results.memory),
        *_prefix(results.prefix),
        *_caches(results.caches),
        *_overhead(results.overheads),
        *_limit_shares(results.limit_shares),
        _recalled(results.recalled),
    ]


def _fewer_calls(results: Results) -> Iterator[Goal]:
    for peer in PEERS:
        told, met = [], True
        for messages in LENGTHS:
            ours, theirs = results.row(OURS, messages), results.row(peer, messages)
            if ours is None or (theirs is None and not results.failed(peer, messages)):
                told.append(f"{messages:,}: not measured")
                met = False
            elif theirs is None:
                told.append(f"{messages:,}: {ours.calls:g}, they fail")
            else:
                told.append(f"{messages:,}: {ours.calls:g} to {theirs.calls:g}")
                met = met and ours.calls < theirs.calls
        yield Goal(f"fewer calls a turn than {peer} at every length", "; ".join(told), met)


def _small(results: Results) -> Iterator[Goal]:
    """Yield the goals for a turn of a fresh worker in a full chat: its calls, units and KiB."""
    row = results.row(OURS, FULL)
    for name, most, found in (
        ("calls", TURN_CALLS, row.calls if row else None),
        ("units", TURN_UNITS, row.units if row else None),
        ("KiB received", TURN_KIB, row.received_kib if row else None),
    ):
        told = "not measured" if found is None else f"{found:,.1f}"
        met = None if found is None else found <= most
        yield Goal(f"{name} of a turn at {FULL:,} messages: at most {most:g}", told, met)


def _flat(results: Results) -> Iterator[Goal]:
    short, full, longest = (results.row(OURS, n) for n in (LENGTHS[0], FULL, LENGTHS[-1]))
    calls = longest.calls / short.calls if longest and short else None
    yield _at_most(f"calls at {LENGTHS[-1]:,} messages, of those at {LENGTHS[0]}", calls, FLAT)
    kib = longest.kib / full.kib if longest and full else None
    name = f"KiB at {LENGTHS[-1]:,}, of those at {FULL:,} (the window and the searches are full)"
    yield _at_most(name, kib, FLAT)


def _own_time(results: Results) -> Iterator[Goal]:
    parts = {
        "context build, reads excluded, p95": ("build_p95", BUILD_MS),
        "context with reads on the local engine, p95": ("with_reads_p95", WITH_READS_MS),
        "counting tokens in a fresh worker, p95": ("tokens_p95", TOKENS_MS),
    }
    for kind in ("direct", "group"):
        found = results.own_time.get(kind, {})
        for name, (figure, most) in parts.items():
            value = found.get(figure)
            told = "-" if value is None else f"{value:.1f} ms"
            met = None if value is None else value < most
            yield Goal(f"{name}, {kind} chat: under {most:g} ms", told, met)


def _imports(imports: Mapping[str, ColdStart]) -> Iterator[Goal]:
    parts: dict[str, Callable[[ColdStart], float]] = {
        "import": lambda start: start.import_ms,
        "import and first event": lambda start: start.sum_ms,
    }
    for part, of in parts.items():
        name = f"{part} of {WEBHOOK} under half of {WORKER}'s"
        if not {WEBHOOK, WORKER} <= imports.keys():
            yield Goal(name, "-", None)
            continue
        webhook, worker = of(imports[WEBHOOK]), of(imports[WORKER])
        told = f"{webhook:.0f} ms to {worker:.0f} ms: {webhook / worker:.0%}"
        yield Goal(name, told, webhook / worker < WEBHOOK_SHARE)


def _memory(memory: Mapping[str, Any] | None) -> Goal:
    name = "a warm worker keeps within its caches' bound, and in its function's memory"
    if memory is None:
        return Goal(name, "-", None)
    grown, bound = memory["grown_mib"], memory["caches_bound_mib"]
    told = (
        f"grown by {grown:.0f} MiB over {memory['chats']:,} chats, bound {bound:.0f} MiB; "
        f"{memory['after_mib']:.0f} MiB in all, of {memory['function_mib']:,}"
    )
    return Goal(name, told, grown <= bound and memory["after_mib"] < memory["function_mib"])


def _prefix(prefix: Mapping[str, Mapping[str, float]]) -> Iterator[Goal]:
    name = "prompt tokens that a prefix cache need not charge"
    if not prefix:
        yield Goal(name, "-", None)
    for conversation, found in prefix.items():
        least = PREFIX_SHARES.get(conversation, PREFIX_SHARE)
        told = f"{found['ideal']:.1%}, {found['openai']:.1%} by OpenAI's rule"
        if "recalling" in found:
            told += f", {found['recalling']:.1%} with RECALLED"
        yield Goal(f"{name}, {conversation}: {least:.1%}", told, found["ideal"] >= least)


def _caches(found: Mapping[str, Mapping[str, Measured]]) -> Iterator[Goal]:
    """Yield the goals of each conversation and model whose prompts are long enough to be cached."""
    if not found:
        yield Goal("prompt tokens that a model's cache serves", "-", None)
    for conversation, models in found.items():
        for model, one in models.items():
            if not one.allowed:
                continue
            least = CACHE_SHARE if "long" in conversation else 0
            told = f"{one.read:.1%} served; cost {one.cost:.0%} over recorded gaps, "
            told += f"{one.slow:.0%} after hours"
            saved = ", ".join(f"{place} {share:.1%}" for place, share in one.savings.items())
            told += f"; saved by points of {saved}" if saved else ""
            pays = one.cost <= 1 and one.slow <= MOST_COST and min([*one.savings.values(), 0]) >= 0
            name = f"prompt tokens that the cache of {model} serves, {conversation}: {least:.0%}"
            yield Goal(name, told, one.read >= least and pays)


def _overhead(overheads: Mapping[str, int]) -> Iterator[Goal]:
    for situation, limit in OVERHEAD_LIMITS.items():
        most = limit.total
        tokens = overheads.get(situation)
        name = f"tokens of a request that are nobody's words, {situation}: at most {most:,}"
        found = "-" if tokens is None else f"{tokens:,}"
        yield Goal(name, found, None if tokens is None else tokens <= most)


def _limit_shares(shares: Mapping[str, float]) -> Iterator[Goal]:
    name = "share of the token limit of a prompt"
    if not shares:
        yield Goal(name, "-", None)
    for prompt, share in shares.items():
        yield Goal(
            f"{name}, {prompt}: under {LIMIT_SHARE:.0%}", f"{share:.1%}", share < LIMIT_SHARE
        )


def _recalled(recalled: Sequence[Sequence[int]]) -> Goal:
    name = f"tokens of RECALLED a turn, with three turns of small talk: at most {RECALLED_TOKENS}"
    if not recalled:
        return Goal(name, "-", None)
    found = [mean(counts) for counts in recalled]
    told = f"{mean(found):.0f}; a question {found[0]:.0f}, small talk {mean(found[1:]):.0f}"
    return Goal(name, told, 0 < mean(found) <= RECALLED_TOKENS)


def _at_most(name: str, value: float | None, most: float) -> Goal:
    told = "-" if value is None else f"{value:.2f}"
    return Goal(f"{name}: at most {most:g}", told, None if value is None else value <= most)
