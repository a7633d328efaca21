"""The circuit breakers of tools, which all workers share."""

from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Ambiguous, CircuitOpen, Unavailable
from skein.models.common.breaker import MAX_FAILURES, PAUSE
from skein.models.common.storage import Key, Write
from skein.own_tools.breakers import PROBE, ToolBreakers
from skein.own_tools.models.breaker import ToolBreaker
from tests.support.agents import COACH, HUSAM, stage
from tests.support.builders import TENANT, World
from tests.support.own_tool_calls import DIRECT, LOOK, NAME, results
from tests.support.own_tools import LOOK_UP, own_tool

KEY = ToolBreaker.key_of(TENANT, NAME)


def fail() -> str:
    raise Unavailable("down")


def answer() -> str:
    return "well"


def worker(world: World) -> ToolBreakers:
    """Another container of the function."""
    return ToolBreakers(table=world.table, clock=world.clock, metrics=world.metrics)


def read(world: World) -> ToolBreaker:
    """The breaker, as a worker reads it with the tool."""
    return ToolBreaker.from_optional(world.table.get(KEY), TENANT, NAME)


def failing(world: World, times: int = MAX_FAILURES) -> None:
    """Let a call of as many workers fail; each has read the breaker before."""
    for breaker in [read(world)] * times:
        with pytest.raises(Unavailable):
            worker(world).call(breaker, fail)


def test_failures_of_several_workers_open_the_breaker_for_all() -> None:
    world = World()
    failing(world, MAX_FAILURES - 1)
    assert worker(world).call(read(world), answer) == "well"
    failing(world)
    with pytest.raises(CircuitOpen):
        worker(world).call(read(world), answer)
    assert world.metrics.counts["CircuitsOpened"] == 1


def test_one_worker_probes_and_its_success_closes_the_breaker() -> None:
    world = World()
    failing(world)
    world.clock.advance(PAUSE.total_seconds())
    half_open = read(world)

    def probe() -> str:
        for seen in (half_open, read(world)):  # by workers that read it before and after
            with pytest.raises(CircuitOpen):
                worker(world).call(seen, answer)
        return "well"

    assert worker(world).call(half_open, probe) == "well"
    assert world.table.get(KEY) is None
    failing(world, 1)


def test_failed_probe_opens_the_breaker_again() -> None:
    world = World()
    failing(world)
    world.clock.advance(PAUSE.total_seconds())
    failing(world, 1)
    with pytest.raises(CircuitOpen):
        worker(world).call(read(world), answer)


def test_failed_probe_with_our_own_bug_lets_the_next_call_probe() -> None:
    world = World()
    failing(world)
    world.clock.advance(PAUSE.total_seconds())

    def broken() -> str:
        raise KeyError("a fault of our own")

    with pytest.raises(KeyError):
        worker(world).call(read(world), broken)
    assert worker(world).call(read(world), answer) == "well"


def test_lost_probe_does_not_keep_the_breaker_open() -> None:
    world = World()
    failing(world)
    world.clock.advance(PAUSE.total_seconds())

    def die() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker(world).call(read(world), die)
    world.clock.advance(PROBE.total_seconds())
    assert worker(world).call(read(world), answer) == "well"


def test_calls_that_succeed_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def write(_: Write) -> None:
        pytest.fail("nothing has changed")

    monkeypatch.setattr(world.table, "write", write)
    worker(world).call(read(world), answer)


@pytest.mark.parametrize("error", [Unavailable("the table"), Ambiguous("the table")])
def test_breaker_that_cannot_be_written_changes_no_outcome(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    world = World()
    failing(world, 1)
    breaker = read(world)

    def get(_: Key) -> Any:
        raise error

    monkeypatch.setattr(world.table, "get", get)
    assert worker(world).call(breaker, answer) == "well"


def test_worker_whose_call_failed_looks_again_before_its_next_call() -> None:
    world = World()
    one, known = worker(world), read(world)
    for _ in range(MAX_FAILURES):
        with pytest.raises(Unavailable):
            one.call(known, fail)
    with pytest.raises(CircuitOpen):
        one.call(known, answer)


def test_open_breaker_is_read_with_the_tool() -> None:
    world = stage(LOOK, "Sorry.", LOOK, "Here.", reply_mode="text", enabled_tools=(NAME,))
    own_tool(world, LOOK_UP)
    world.chat(HUSAM, COACH, **DIRECT)
    failing(world)
    world.post("Where is it?", HUSAM)
    world.drain()
    assert world.service.requests == []
    assert "circuit breaker is open" in results(world)[-1].content
    world.clock.advance((PAUSE + timedelta(seconds=1)).total_seconds())
    world.post("And now?", HUSAM)
    world.drain()
    assert len(world.service.requests) == 1


def test_deleted_tool_leaves_no_breaker() -> None:
    world = World()
    own_tool(world, LOOK_UP)
    failing(world)
    world.app.own_tools.delete(TENANT, NAME)
    assert world.table.get(KEY) is None
