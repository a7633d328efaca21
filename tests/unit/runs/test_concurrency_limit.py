"""No agent has more runs at work than its limit."""

from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.common.reason import Reason
from skein.models.runs.completion import ModelRequest
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.services.runs.policy import BUSY_SECONDS
from skein.settings import Settings
from tests.support.agents import (
    ASK,
    COACH,
    END,
    HUSAM,
    asked_by_service,
    job_of,
    stage,
    stored,
    the_run,
)
from tests.support.builders import INVOCATION, TENANT, World


def _busy_chats(count: int, **agent: Any) -> World:
    world = stage(**agent)
    for number in range(1, count + 1):
        world.chat(HUSAM, COACH, chat_id=f"chat_{number}")
        world.post("Hello", HUSAM, chat_id=f"chat_{number}")
    world.clock.advance(2)
    world.queues.ready("turns")
    return world


def _permits(world: World) -> dict[str, str]:
    item = world.table.get(ConcurrencyLimit.key_of(TENANT, COACH.id)) or {}
    return dict(item.get("held", {}))


def test_without_a_limit_no_permit_is_ever_written() -> None:
    world = _busy_chats(3)
    for number in (1, 2, 3):
        world.take(job_of(the_run(world, chat_id=f"chat_{number}")))
    assert world.table.get(ConcurrencyLimit.key_of(TENANT, COACH.id)) is None


def test_run_over_the_concurrency_limit_is_deferred_without_an_attempt() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    second = the_run(world, chat_id="chat_2")

    def meanwhile(_: ModelRequest) -> Any:
        world.take(job_of(second))
        late = stored(world, second)
        assert (late.attempts, late.deferrals, late.steps_taken) == (0, 1, 0)
        assert late.error == "1 runs of this agent are already running"
        return END

    world.model.script.append(meanwhile)
    world.take(job_of(the_run(world)))
    assert _permits(world) == {}
    world.drain()
    late = stored(world, second)
    assert (late.status, late.attempts) == ("done", 1)


def test_the_agents_own_limit_goes_before_the_deployments() -> None:
    world = stage(settings=Settings(max_concurrent_runs=1), max_concurrent_runs=2)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2")
    world.post("Hello", HUSAM)
    world.post("Hello", HUSAM, chat_id="chat_2")
    second = the_run(world, chat_id="chat_2")

    def meanwhile(_: ModelRequest) -> Any:
        world.take(job_of(second))
        assert stored(world, second).status == "done"
        return END

    world.model.script.append(meanwhile)
    world.take(job_of(the_run(world)))


def test_deferred_run_tries_again_within_its_bound() -> None:
    world = _busy_chats(1, max_concurrent_runs=1)
    other = asked_by_service(world)
    assert world.app.turns  # the other run's worker holds the permit and never comes back
    lease = world.clock.now() + timedelta(hours=1)
    assert ConcurrencyLimit(table=world.table, clock=world.clock).take(other, 1, until=lease)
    world.queues.ready("turns")
    for _ in range(8):
        world.take(job_of(the_run(world)))
        [again] = world.queues.waiting("turns")
        assert again.due_at - world.clock.now() <= timedelta(seconds=BUSY_SECONDS)
        world.clock.set(again.due_at)
        world.queues.ready("turns")
    assert the_run(world).attempts == 0


@pytest.mark.parametrize("how", ["wait", "bug", "model down"])
def test_a_run_that_does_not_work_holds_no_permit(how: str) -> None:
    script: dict[str, Any] = {
        "wait": ASK,
        "bug": RuntimeError("a bug"),
        "model down": Unavailable("503"),
    }
    world = _busy_chats(1, max_concurrent_runs=1)
    world.model.script.append(script[how])
    world.take(job_of(the_run(world)))
    assert not the_run(world).ended
    assert _permits(world) == {}


def test_a_dead_workers_permit_lapses_with_its_lease() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    first = the_run(world)
    dead = ConcurrencyLimit(table=world.table, clock=world.clock)
    assert dead.take(first, 1, until=world.clock.now() + INVOCATION)
    world.take(job_of(the_run(world, chat_id="chat_2")))
    assert the_run(world, chat_id="chat_2").status == "running"
    world.clock.advance(121)
    world.drain()
    assert the_run(world, chat_id="chat_2").status == "done"


def test_a_stopped_runs_permit_is_free_as_soon_as_its_worker_notices() -> None:
    world = _busy_chats(1, max_concurrent_runs=1)

    def stopped(_: ModelRequest) -> Any:
        world.app.completion.cancel(the_run(world), reason=Reason.STOPPED_BY_AGENT, error="stopped")
        return END

    world.model.script.append(stopped)
    world.take(job_of(the_run(world)))
    assert the_run(world).status == "canceled"
    assert _permits(world) == {}


def test_permits_never_exceed_the_limit_however_they_cross() -> None:
    world = stage()
    concurrency_limit = ConcurrencyLimit(table=world.table, clock=world.clock)
    world.chat(HUSAM, COACH)
    runs = [asked_by_service(world, str(number)) for number in range(6)]
    until = world.clock.now() + INVOCATION
    assert [concurrency_limit.take(run, 4, until=until) for run in runs] == [True] * 4 + [False] * 2
    assert concurrency_limit.take(runs[0], 4, until=until)
    concurrency_limit.give_back(runs[1])
    concurrency_limit.give_back(runs[1])
    concurrency_limit.give_back(runs[5])
    assert concurrency_limit.take(runs[5], 4, until=until)
    assert len(_permits(world)) == 4
