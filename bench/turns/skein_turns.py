"""Cost of a turn with Skein at each length of chat, and how much of the time is Skein's own.

`python -m bench.turns.skein_turns DYNAMODB` prints one line of JSON for each row.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bench.cost import MILLISECONDS, SHORT, Row, failed_row, row_of, series
from bench.turns.engines import client_of, make_table
from bench.turns.fills import filled_by_batches
from bench.turns.script import LENGTHS
from bench.turns.skein_chat import Kind, SkeinChat
from bench.turns.stand import Stand
from bench.turns.vectors import IndexedTable
from bench.turns.wire import Wire, seconds_on_wire
from skein.adapters.tokens import Tokens
from skein.models.outbox.jobs import RunJob
from skein.services.common.token_cache import RememberedTokens
from tests.support.builders import embeddings
from tests.support.services import AllServices

TABLE = "skein"
WORKERS = {"skein": True, "skein-warm": False}  # whether each turn has a fresh worker
TURNS = 9
SECONDS_OF_A_LENGTH = 20.0
CONTEXTS = 60
CONTEXT_MESSAGES = 1_000


class _Watched:
    """Wraps a service of the app, and replaces some of its methods by timed ones.

    Args:
        part: The service.
        measured: The timed methods, by name.
    """

    def __init__(self, part: object, **measured: Any) -> None:
        self._part = part
        vars(self).update(measured)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)


@dataclass
class Stopwatch:
    """Measures the time of a worker's services, in seconds.

    Work that makes no calls is measured in processor time, which excludes other work on the
    machine.

    Attributes:
        reads: The duration of each read of a context, including its calls.
        own_reads: The duration of each read of a context, without the time of the calls.
        builds: The duration of each build of a prompt.
        tokens: The time spent on counting tokens since this attribute was last set to 0.
    """

    wire: Wire
    reads: list[float] = field(default_factory=list)
    own_reads: list[float] = field(default_factory=list)
    builds: list[float] = field(default_factory=list)
    tokens: float = 0.0

    def watch(self, app: AllServices) -> None:
        """Measure the time of a new worker's services."""
        read, build, counter = (
            app.context_loader.fresh,
            app.prompt_builder.build,
            app.get(RememberedTokens),
        )
        loader: Any = _Watched(app.context_loader, fresh=self._timed_read(read))
        builder: Any = _Watched(app.prompt_builder, build=_timed(build, self.builds.append))
        openings = app.turns.openings
        readings = replace(openings.readings, context_loader=loader)
        openings = replace(openings, readings=readings, prompt_builder=builder)
        app.turns = replace(app.turns, openings=openings)
        for name in ("count", "cut"):
            timed = _timed(getattr(counter, name), self._count)
            vars(counter)[name] = timed

    def _count(self, seconds: float) -> None:
        self.tokens += seconds

    def _timed_read(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            before = len(self.wire.calls)
            begun = time.perf_counter()
            found = read(*args)
            seconds = time.perf_counter() - begun
            self.reads.append(seconds)
            self.own_reads.append(seconds - seconds_on_wire(self.wire.calls[before:]))
            return found

        return timed


def _timed(work: Callable[..., Any], note: Callable[[float], None]) -> Callable[..., Any]:
    def timed(*args: Any) -> Any:
        begun = time.thread_time()
        try:
            return work(*args)
        finally:
            note(time.thread_time() - begun)

    return timed


class Talk:
    """A chat in Skein; see `bench.cost.Talk`."""

    def __init__(self, chat: SkeinChat, *, fresh_worker: bool) -> None:
        self._chat = chat
        self._fresh = fresh_worker
        self._job: RunJob | None = None

    def turn(self) -> None:
        """Carry out a turn with a fresh or a warm worker."""
        self._job = self._chat.turn(fresh_worker=self._fresh)

    def settle(self) -> None:
        """Check that the turn was complete, and do the background work."""
        if self._job is not None:
            self._chat.check(self._job)
        self._chat.rest()


def rows_of_length(client: Any, wire: Wire, tokens: Tokens, messages: int) -> Iterator[Row]:
    """Yield the rows for fresh workers and for a warm worker, in chats of one length."""
    stand = Stand(partial(IndexedTable, client, TABLE), tokens)
    filled = dict[str, SkeinChat]()  # filling a long chat is slow, so both workers share it

    def chat_of(messages: int, name: str) -> SkeinChat:
        if name not in filled:
            filled[name] = SkeinChat(stand, chat_id=f"chat_{name}")
            filled[name].create(messages, filled_by_batches(client, TABLE))
            filled[name].index()
        return filled[name]

    def begin(name: str, messages: int, thread: str) -> Talk:
        named = f"{thread}{WORKERS[name]}" if messages <= SHORT else thread
        return Talk(chat_of(messages, named), fresh_worker=WORKERS[name])

    for name in WORKERS:
        try:
            turns = series(
                wire, messages, partial(begin, name), turns=TURNS, seconds=SECONDS_OF_A_LENGTH
            )
            yield row_of(name, messages, turns)
        except Exception as error:
            yield failed_row(name, messages, error)


def own_time(client: Any, wire: Wire, tokens: Tokens, kind: Kind) -> dict[str, float]:
    """Measure Skein's own time for a context, in milliseconds.

    Fresh workers read and build the contexts, in a long chat.
    """
    watch = Stopwatch(wire)
    # A table of its own: long chats advance the clock by weeks, and this table's limits must not
    # depend on that.
    table = f"{TABLE}-{kind}"
    make_table(client, table)
    stand = Stand(partial(IndexedTable, client, table), tokens, watched=watch.watch)
    chat = SkeinChat(stand, chat_id=f"chat_{kind}", kind=kind)
    chat.create(CONTEXT_MESSAGES, filled_by_batches(client, table))
    chat.index()
    counted = []
    for _ in range(CONTEXTS):
        watch.tokens = 0.0
        chat.check(chat.turn(fresh_worker=True))
        counted.append(watch.tokens)
        chat.rest()
    built = [sum(pair) for pair in zip(watch.own_reads, watch.builds, strict=True)]
    whole = [sum(pair) for pair in zip(watch.reads, watch.builds, strict=True)]
    shown = len(stand.model.last.messages) if stand.model.last else 0
    return {
        "contexts": len(built),
        "model_messages": shown,
        "own_p50": statistics.median(built) * MILLISECONDS,
        "own_p95": p95(built) * MILLISECONDS,
        "build_p95": p95(watch.builds) * MILLISECONDS,
        "with_reads_p95": p95(whole) * MILLISECONDS,
        "tokens_p95": p95(counted) * MILLISECONDS,
    }


def p95(values: list[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def main(url: str) -> None:
    """Measure everything on the DynamoDB at this URL."""
    client, wire, tokens = client_of(url), Wire(), Tokens()
    make_table(client, TABLE)
    wire.listen(client)
    tokens.count("loaded before the measurement")
    embeddings().embed(["loaded before the measurement"])
    # Long chats come last: the engine is slow for a while after they were filled.
    for kind in ("direct", "group"):
        found = own_time(client, wire, tokens, kind)
        print(json.dumps({"own_time": kind, **found}), flush=True)
    for messages in LENGTHS:
        for row in rows_of_length(client, wire, tokens, messages):
            print(json.dumps(row.plain()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
