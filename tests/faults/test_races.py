"""Two that meet at a safeguard: whoever comes second starts afresh, or stops without a trace."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Conflict, LostLease
from skein.models.common.reason import Reason
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import Run
from skein.services.runs.claim import Claim
from tests.support.agents import (
    AHMAD,
    ASK,
    COACH,
    DESIGNER,
    END,
    HUSAM,
    asked_by_service,
    job_of,
    rival,
    settle,
    slots,
    stage,
    the_run,
)
from tests.support.api_client import everything
from tests.support.builders import TENANT, World, statuses
from tests.support.fakes import Said, Script, calls, says

LEASE = timedelta(seconds=122)
DEAD = 200  # seconds after which a lease is over


def claim(world: World, run: Run) -> Claim | None:
    return world.app.leases.claim(job_of(run), lease_until=world.clock.now() + LEASE)


def asked(*script: Script, **agent: Any) -> World:
    """Husam has said hello to the agent, whose run is about to start."""
    world = stage(*script, **agent)
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    return world


# ---------------------------------------------------------------------- slow workers


@pytest.mark.parametrize(
    ("said", "key"),
    [
        pytest.param(says("Hi"), "#STEP#", id="its answer"),
        pytest.param("Hi", "MSG#", id="its last word"),
        pytest.param(says("Hi"), "MSG#", id="a message"),
        pytest.param(ASK, "MSG#", id="a question"),
        pytest.param(calls(("set_goal", {"text": "Rest"})), "GOAL#", id="a goal"),
        pytest.param(
            calls(("set_plan", {"name": "P", "instruction": "Do", "run_after": "1 day"})),
            "PLAN#",
            id="a plan",
        ),
        pytest.param(
            calls(("save_memory", {"text": "Rest is good", "kind": "core"})),
            "FACT#",
            id="a memory",
        ),
        pytest.param(END, "MEMBER#", id="its end"),
    ],
)
def test_a_worker_whose_successor_is_at_work_cannot_write(said: Said, key: str) -> None:
    mode = "text" if isinstance(said, str) else "tools"
    world, left = asked(reply_mode=mode), dict[Any, Any]()

    def overtake() -> None:
        world.clock.advance(DEAD)
        assert claim(world, the_run(world)) is not None
        left.update(everything(world))

    def thinks(_: object) -> Said:
        rival(world).before = (key, overtake)
        return said

    world.model.script.append(thinks)
    world.clock.advance(1)
    world.run_ready()
    assert left
    assert everything(world) == left


def test_worker_that_lost_its_lease_cannot_store_tool_results() -> None:
    world, left = asked(says("Hi")), dict[Any, Any]()
    world.clock.advance(1)

    def overtake() -> None:
        world.clock.advance(DEAD)
        assert claim(world, the_run(world)) is not None
        left.update(everything(world))

    def once_recorded() -> None:
        rival(world).before = ("#STEP#", overtake)

    rival(world).before = ("#STEP#", once_recorded)
    for job in world.queues.ready("turns"):
        assert isinstance(job, RunJob)
        world.take(job)
    assert left
    assert everything(world) == left


def test_a_worker_whose_successor_is_at_work_can_neither_end_nor_postpone_the_run() -> None:
    world = asked()
    slow = claim(world, the_run(world))
    assert slow is not None
    world.clock.advance(DEAD)
    assert claim(world, the_run(world)) is not None
    left = everything(world)
    attempts: list[Callable[[], None]] = [
        lambda: world.app.completion.end(slow, "done"),
        lambda: world.app.leases.defer(slow, Reason.MODEL_UNAVAILABLE, "late"),
        lambda: world.app.leases.retry_later(slow, "late"),
        lambda: world.app.leases.continue_later(slow),
    ]
    for late in attempts:
        with pytest.raises(LostLease):
            late()
    assert everything(world) == left


@pytest.mark.parametrize("of", ["a chat", "no chat"])
def test_concurrent_takeovers_of_a_dead_workers_run_grant_one_lease(of: str) -> None:
    world = asked()
    run = the_run(world) if of == "a chat" else asked_by_service(world)
    assert claim(world, run) is not None
    world.clock.advance(DEAD)
    claims: list[Claim | None] = []
    rival(world).before = ("RUN#", lambda: claims.append(claim(world, run)))
    claims.append(claim(world, run))
    assert [taken.run.fence for taken in claims if taken is not None] == [2]


# ---------------------------------------------------------------------- chats that change


def test_message_posted_while_its_chat_is_discarded_is_refused() -> None:
    world = asked()
    discard = world.app.chat_admin.discard
    rival(world).before = ("MSG#", lambda: discard(TENANT, "chat_1", HUSAM.ref))
    with pytest.raises(Conflict, match="discarded"):
        world.post("One more thing", HUSAM)
    assert world.texts() == ["Hello"]


def test_message_posted_while_an_agent_joins_triggers_that_agent() -> None:
    world = asked()
    world.agent(DESIGNER.id, DESIGNER.name)
    add = world.app.chat_admin.add_member
    rival(world).before = ("MSG#", lambda: add(TENANT, "chat_1", HUSAM, DESIGNER.ref))
    seq = world.post("Hello, both", HUSAM).message.seq
    newcomer = world.membership(DESIGNER)
    assert newcomer.queued_run is not None
    assert newcomer.queued_run.trigger.seq == seq


# ---------------------------------------------------------------------- waits


def test_two_replies_at_once_in_two_chats_let_two_runs_of_one_home_go_on() -> None:
    asks = [says("Sure?", wait=True, chat_id=chat_id) for chat_id in ("chat_2", "chat_3")]
    world = asked(*asks)
    for chat_id in ("chat_2", "chat_3"):
        world.chat(HUSAM, AHMAD, COACH, chat_id=chat_id)
    settle(world)
    world.post("And the others", HUSAM)
    settle(world)
    first, second = world.runs()
    assert statuses([first, second]) == ["waiting", "waiting"]
    rival(world).before = ("MSG#", lambda: world.post("43", AHMAD, chat_id="chat_3"))
    world.post("42", AHMAD, chat_id="chat_2")
    assert slots(world)[2] == (second.id, first.id)
    settle(world)
    assert statuses(world.runs()) == ["done", "done"]
