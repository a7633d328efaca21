"""Tests of erasure sweeps: the person, suspect content, and the worker's claim."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from skein.models.chats.membership import Membership
from skein.models.common.storage import Put, Update
from skein.models.outbox.jobs import ErasureJob
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.privacy.erasure_sweep import Sweep, SweepCounts
from skein.privacy.models.erasure import REPLICATION, Erasure, Subject, SweepCount
from tests.support.builders import LONG_INVOCATION, NOON, TENANT, World, bot
from tests.support.erasure import BEN, OPEN, ZOE, group, settle, world_of

COACH = bot()
SECOND = timedelta(seconds=1)


def a_sweep(*, swept_at: datetime | None) -> Sweep:
    sweeps = (SweepCount(ended_at=swept_at),) if swept_at else (SweepCount(),)
    erasure = Erasure(
        tenant=TENANT,
        id="era_1",
        user_id="usr_ann",
        requested_by="usr_op",
        requested_at=NOON,
        sweeps=sweeps,
    )
    subject = Subject(tenant=TENANT, erasure_id="era_1", ids=("usr_ann",), names=("Ann Lee",))
    return Sweep(erasure, subject, {}, SweepCounts(), NOON)


def a_run(**fields: Any) -> Run:
    return Run(
        tenant=TENANT,
        id="run_1_chat_1",
        agent_id=COACH.id,
        trigger=Trigger(type="manual"),
        created_at=NOON,
        **fields,
    )


# ---------------------------------------------------------------------- what is suspect


def test_suspect_content_made_after_the_first_sweep_is_not() -> None:
    assert a_sweep(swept_at=None).suspect(NOON)
    again = a_sweep(swept_at=NOON)
    assert again.suspect(NOON + REPLICATION)
    assert not again.suspect(NOON + REPLICATION + SECOND)


@pytest.mark.parametrize(
    ("run", "first", "later"),
    [
        (a_run(status="done", started_at=NOON), False, False),
        (a_run(status="running", started_at=NOON), True, True),
        (a_run(status="running", started_at=NOON + REPLICATION), True, True),
        (a_run(status="running", started_at=NOON + REPLICATION + SECOND), True, False),
        (a_run(status="queued"), True, False),
    ],
)
def test_to_stop_after_the_first_sweep_only_runs_that_started_before(
    run: Run, *, first: bool, later: bool
) -> None:
    assert a_sweep(swept_at=None).to_stop(run) is first
    assert a_sweep(swept_at=NOON).to_stop(run) is later


# ---------------------------------------------------------------------- whose work it is


@pytest.fixture
def world() -> World:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.post("Good morning", ZOE, chat_id=OPEN)
    settle(world)
    return world


def job_of(erasure: Erasure) -> ErasureJob:
    return ErasureJob(tenant=TENANT, erasure_id=erasure.id)


def continue_erasure(world: World, erasure: Erasure) -> Erasure:
    deadline = world.clock.now() + LONG_INVOCATION
    world.app.eraser.continue_erasure(job_of(erasure), deadline=deadline)
    return world.app.erasures.get(TENANT, erasure.id)


def test_erasure_claimed_by_a_worker_is_not_claimed_again(world: World) -> None:
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    busy_until = erasure.model_copy(update={"busy_until": world.clock.now() + SECOND})
    change = {"busy_until": busy_until.attributes()["busy_until"]}
    world.table.write(Update(erasure.key, set=change))
    assert continue_erasure(world, erasure).fence == 0
    world.clock.advance(1)
    assert continue_erasure(world, erasure).stage == "resting"


def test_worker_after_takeover_writes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    stages = world.app.eraser._stages
    find = stages["find"]

    def taken_over(sweep: Sweep, after: str | None) -> Iterator[str]:
        yield from find(sweep, after)
        world.table.write(Update(erasure.key, set={"fence": 7}))

    monkeypatch.setitem(stages, "find", taken_over)
    left = continue_erasure(world, erasure)
    assert (left.fence, left.stage) == (7, "find")
    assert world.messages(OPEN)[0].text == "Good morning"


def test_sweep_that_closed_a_membership_is_followed_by_another(world: World) -> None:
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    assert continue_erasure(world, erasure).stage == "resting"
    assert continue_erasure(world, erasure).stage == "resting"  # its time has not come
    chat = world.app.views.chat(TENANT, BEN.id, OPEN).chat
    membership = Membership(tenant=TENANT, chat_id=OPEN, member=ZOE)
    world.table.write(Put(membership.key, membership.to_item(chat)))
    for sweeps in (2, 3):
        world.clock.advance(1_000)
        left = continue_erasure(world, erasure)
        assert len(left.sweeps) == sweeps
    assert left.stage == "done"
