"""No agent, person or tenant has more runs at work than its limit, and no person's tokens."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from threading import Barrier
from typing import Any

import pytest

from skein.errors import Contention, Unavailable
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key, Write
from skein.models.quotas.limit import (
    DAY,
    Allowance,
    Rate,
    owner_of_agent,
    owner_of_shard,
    owner_of_user,
)
from skein.models.quotas.permits import GRANT, MAX_WAITING
from skein.models.runs.completion import ModelRequest, TokenUsage
from skein.models.runs.run import Run
from skein.services.common.optimistic import optimistic
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
from tests.support.builders import INVOCATION, TENANT, World, person
from tests.support.fakes import calls

MIA = person("usr_mia", "Mia")
BUSY = timedelta(seconds=BUSY_SECONDS)
NOTHING: Mapping[Key, Item | None] = {}
ESTIMATE = Settings().max_prompt_tokens + Settings().reserved_response_tokens


def _busy_chats(count: int, *, settings: Settings | None = None, **agent: Any) -> World:
    world = stage(settings=settings, **agent)
    for number in range(1, count + 1):
        world.chat(HUSAM, COACH, chat_id=f"chat_{number}")
        world.post("Hello", HUSAM, chat_id=f"chat_{number}")
    world.clock.advance(2)
    world.queues.ready("turns")
    return world


def _runs(world: World, count: int) -> list[Run]:
    return [the_run(world, chat_id=f"chat_{number}") for number in range(1, count + 1)]


def _allowance(world: World, owner: str) -> Allowance:
    item = world.table.get(Allowance.key_of(TENANT, owner))
    return Allowance.from_optional(item, TENANT, owner)


def _held(world: World, owner: str = owner_of_agent(COACH.id)) -> list[str]:
    return sorted(_allowance(world, owner).permits.held)


def _take(world: World, run: Run, *, lease: timedelta = INVOCATION) -> bool:
    def once() -> bool:
        until = world.clock.now() + lease
        taken = world.app.get(ConcurrencyLimit).take(run, NOTHING, until=until)
        if taken.writes:
            world.table.transact(taken.writes)
        return taken.permitted

    return optimistic(world.clock, once)


def _give_back(world: World, run: Run) -> None:
    world.app.get(ConcurrencyLimit).give_back(run, NOTHING)


def _woken(world: World) -> list[str]:
    return [job.run_id for job in world.queues.ready("turns")]  # type: ignore[attr-defined]


def test_without_a_limit_no_permit_is_ever_written() -> None:
    limits = {"user_concurrent_runs": 0, "user_tokens_per_day": 0, "tenant_tokens_per_day": 0}
    world = _busy_chats(3, settings=Settings(**limits))
    for run in _runs(world, 3):
        world.take(job_of(run))
    for owner in (owner_of_agent(COACH.id), owner_of_user(HUSAM.id), owner_of_shard(0)):
        assert _allowance(world, owner).permits_version is None


def test_run_over_the_concurrency_limit_waits_without_a_claim() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    first, second = _runs(world, 2)

    def meanwhile(_: ModelRequest) -> Any:
        world.take(job_of(second))
        late = stored(world, second)
        assert (late.status, late.attempts, late.fence) == ("queued", 0, second.fence)
        assert (late.reason, late.deferrals) == (Reason.CONCURRENCY_LIMIT, 1)
        assert world.queues.waiting("turns") == ()
        return END

    world.model.script.append(meanwhile)
    world.take(job_of(first))
    assert _held(world) == [second.id]
    world.drain()
    late = stored(world, second)
    assert (late.status, late.attempts) == ("done", 1)
    assert _held(world) == []


def test_sixth_run_of_a_person_waits_until_another_has_ended() -> None:
    world = _busy_chats(6)
    runs = _runs(world, 6)
    assert [_take(world, run) for run in runs] == [True] * 5 + [False]
    _give_back(world, runs[2])
    assert _woken(world) == [runs[5].id]
    assert _take(world, runs[5])


def test_runs_of_another_person_do_not_wait_behind_a_busy_person() -> None:
    world = _busy_chats(6)
    for run in _runs(world, 5):
        assert _take(world, run)
    world.chat(MIA, COACH, chat_id="chat_7")
    world.post("Hello", MIA, chat_id="chat_7")
    assert _take(world, the_run(world, chat_id="chat_7"))


def test_runs_over_a_tenants_limit_wait() -> None:
    world = _busy_chats(3, settings=Settings(tenant_concurrent_runs=2))
    runs = _runs(world, 3)
    assert [_take(world, run) for run in runs] == [True, True, False]
    assert _held(world, owner_of_user(HUSAM.id)) == sorted(run.id for run in runs[:2])
    _give_back(world, runs[0])
    assert _woken(world) == [runs[2].id]


def test_waiting_runs_get_permits_in_the_order_of_their_creation() -> None:
    world = _busy_chats(4, max_concurrent_runs=1)
    runs = _runs(world, 4)
    assert _take(world, runs[0])
    for late in (runs[3], runs[1], runs[2]):
        assert not _take(world, late)
    for ended, first in pairwise(runs):
        _give_back(world, ended)
        assert _woken(world) == [first.id]


def test_granted_permit_of_unclaimed_run_expires() -> None:
    world = _busy_chats(3, max_concurrent_runs=1)
    runs = _runs(world, 3)
    assert _take(world, runs[0])
    assert not _take(world, runs[1])
    _give_back(world, runs[0])
    assert not _take(world, runs[2])
    world.clock.advance(GRANT.total_seconds())
    assert _take(world, runs[2])


def test_the_tick_finds_a_waiting_run_whose_wake_up_was_lost() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    first, second = _runs(world, 2)
    assert _take(world, first)
    world.take(job_of(second))
    assert world.queues.waiting("turns") == ()
    world.clock.advance(INVOCATION.total_seconds() + 1)
    world.tick()
    world.drain()
    assert stored(world, second).status == "done"


def test_runs_at_once_overdraw_a_persons_limit_by_one_run_at_most() -> None:
    limit, together = 2 * ESTIMATE + 1, Barrier(3, timeout=20)
    settings = Settings(user_concurrent_runs=0, user_tokens_per_day=limit)
    world = _busy_chats(20, settings=settings)
    world.model.used = TokenUsage(input_tokens=ESTIMATE - 10, output_tokens=10)
    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Any:
        asked.append(request)
        together.wait()  # until all who may ask have asked
        return END

    def take(run: Run) -> None:
        with suppress(Contention):  # its job is repeated
            world.take(job_of(run))

    world.model.script.extend([answer] * 20)
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(take, _runs(world, 20)))
    world.drain()
    owner = _allowance(world, owner_of_user(HUSAM.id))
    used = Rate(limit, DAY).used(owner.tokens_full_at, world.clock.now())
    assert (len(asked), owner.permits.held) == (3, {})
    assert limit <= used <= limit + ESTIMATE


def test_concurrent_runs_get_permits_up_to_the_limit() -> None:
    world = _busy_chats(1)
    run = the_run(world)
    runs = [run.model_copy(update={"id": f"run_{number:026}_chat_1"}) for number in range(12)]
    with ThreadPoolExecutor(len(runs)) as pool:
        taken = list(pool.map(lambda each: _take(world, each), runs))
    held = _held(world, owner_of_user(HUSAM.id))
    waiting = _allowance(world, owner_of_user(HUSAM.id)).permits.waiting
    assert (taken.count(True), len(held), len(waiting)) == (5, 5, 7)


def test_answer_settles_the_reservation_with_its_charge() -> None:
    world = _busy_chats(1)
    owner = owner_of_user(HUSAM.id)

    def meanwhile(_: ModelRequest) -> Any:
        assert _allowance(world, owner).permits.reserved() == ESTIMATE
        return END

    world.model.script.append(meanwhile)
    world.take(job_of(the_run(world)))
    after = _allowance(world, owner)
    assert (after.permits.held, after.permits.reserved()) == ({}, 0)
    assert after.tokens_full_at is not None


def test_one_reserved_run_of_several_spends_the_last_tokens() -> None:
    """Two runs have more steps; when little is left, only one of them goes on at once."""
    world = _busy_chats(2)
    first, second = _runs(world, 2)
    owner = owner_of_user(HUSAM.id)
    assert _take(world, second, lease=timedelta(hours=1))
    full_at = Rate(200_000, DAY).after(None, 200_000 - ESTIMATE - 10, world.clock.now())
    write = _allowance(world, owner).changed(world.clock.now(), tokens_full_at=full_at)[1]
    world.table.write(write)
    world.model.script.append(calls("get_my_runs"))  # 15 tokens
    world.take(job_of(first))
    deferred = stored(world, first)
    assert (deferred.reason, deferred.steps_taken) == (Reason.CONCURRENCY_LIMIT, 1)
    assert _held(world, owner) == [second.id]
    _give_back(world, second)
    world.drain()
    assert stored(world, first).status == "done"


def test_reservation_of_a_dead_worker_lapses_with_its_lease() -> None:
    world = _busy_chats(2, settings=Settings(user_tokens_per_day=10))
    first, second = _runs(world, 2)
    assert _take(world, first)
    assert not _take(world, second)
    world.clock.advance(INVOCATION.total_seconds() + 1)
    assert _take(world, second)


def test_more_waiting_runs_than_fit_the_list_try_again_by_themselves() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    first, last = _runs(world, 2)
    assert _take(world, first, lease=timedelta(hours=1))
    for number in range(MAX_WAITING):
        earlier = {"id": f"run_{number:026}_chat_3", "created_at": first.created_at - BUSY}
        assert not _take(world, last.model_copy(update=earlier))
    for _ in range(3):
        world.take(job_of(last))
        [again] = world.queues.waiting("turns")
        assert again.due_at - world.clock.now() <= BUSY
        world.clock.set(again.due_at)
        world.queues.ready("turns")
    assert the_run(world, chat_id="chat_2").attempts == 0


def test_run_that_waited_for_too_long_fails() -> None:
    world = _busy_chats(2, max_concurrent_runs=1)
    first, second = _runs(world, 2)
    assert _take(world, first, lease=timedelta(hours=9))
    world.clock.advance(timedelta(hours=7).total_seconds())
    world.take(job_of(second))
    late = stored(world, second)
    assert (late.status, late.reason) == ("failed", Reason.DEFERRED_TOO_LONG)


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
    assert _held(world) == _held(world, owner_of_user(HUSAM.id)) == []


def test_a_stopped_runs_permit_is_free_as_soon_as_its_worker_notices() -> None:
    world = _busy_chats(1, max_concurrent_runs=1)

    def stopped(_: ModelRequest) -> Any:
        world.app.completion.cancel(the_run(world), reason=Reason.STOPPED_BY_AGENT, error="stopped")
        return END

    world.model.script.append(stopped)
    world.take(job_of(the_run(world)))
    assert the_run(world).status == "canceled"
    assert _held(world) == []


def test_permits_never_exceed_the_limit_however_they_cross() -> None:
    world = stage(max_concurrent_runs=4)
    world.chat(HUSAM, COACH)
    runs = [asked_by_service(world, str(number)) for number in range(6)]
    assert [_take(world, run) for run in runs] == [True] * 4 + [False] * 2
    assert _take(world, runs[0])
    _give_back(world, runs[1])
    _give_back(world, runs[1])
    assert len(_held(world)) == 4
    assert [_take(world, run) for run in runs[4:]].count(True) == 1


def test_permit_of_a_person_alone_is_in_the_transaction_of_the_claim() -> None:
    world = _busy_chats(1)
    run = the_run(world, chat_id="chat_1")

    def refused(writes: Sequence[Write]) -> None:
        del writes
        raise Unavailable("the claim is not written")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.table, "transact", refused)
        with pytest.raises(Unavailable):
            world.app.leases.claim(job_of(run), lease_until=world.clock.now() + INVOCATION)
    assert _held(world, owner_of_user(HUSAM.id)) == []
    world.model.script.append("Hi")
    world.take(job_of(the_run(world, chat_id="chat_1")))
    assert the_run(world, chat_id="chat_1").status == "done"
