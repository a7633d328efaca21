"""Runs whose worker ends with the stack are free for the next worker at once."""

from datetime import timedelta

import pytest

from local.interrupted_runs import hand_over_runs
from skein.errors import LostLease, Unavailable
from skein.models.common.reason import Reason
from skein.services.replies.noticed_leases import NoticedLeases
from skein.services.runs.claim import Claim
from tests.support.builders import World, bot, person
from tests.support.fakes import ScriptedModel

HUSAM, COACH = person(), bot()


@pytest.fixture
def world() -> World:
    world = World(model=ScriptedModel.saying(default="Hello!"))
    world.agent()
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    return world


def claimed(world: World) -> Claim:
    until = world.clock.now() + timedelta(seconds=122)
    claim = world.app.leases.claim(world.runs()[0].job, lease_until=until)
    assert claim is not None
    return claim


@pytest.mark.parametrize(
    ("lost", "attempts", "reason"), [(True, 1, Reason.WORKER_LOST), (False, 0, Reason.HANDED_OVER)]
)
def test_interrupted_run_is_due_at_once_and_its_worker_writes_no_more(
    world: World, lost: bool, attempts: int, reason: Reason
) -> None:
    claim = claimed(world)
    hand_over_runs(world.table, world.app.get(NoticedLeases), lost=lost)
    [run] = world.runs()
    assert (run.attempts, run.reason, run.lease_until) == (attempts, reason, world.clock.now())
    with pytest.raises(LostLease):
        world.app.leases.retry_later(claim, "the model hung up")
    world.run_ready()
    assert world.texts() == ["Hello", "Hello!"]


def test_deferred_and_ended_runs_stay_as_they_are(world: World) -> None:
    world.model.script.append(Unavailable("down"))
    world.run_ready()
    deferred = world.runs()
    hand_over_runs(world.table, world.app.get(NoticedLeases), lost=True)
    assert world.runs() == deferred
    world.drain()
    ended = world.runs()
    hand_over_runs(world.table, world.app.get(NoticedLeases), lost=True)
    assert (world.runs(), ended[0].status) == (ended, "done")
