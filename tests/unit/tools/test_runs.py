"""An agent stops its other runs, whatever they are doing."""

from typing import Any

import pytest

from skein.models.common.reason import Reason
from skein.models.runs.completion import ModelRequest
from tests.support.agents import (
    AHMAD,
    ASK,
    COACH,
    END,
    FREE,
    HUSAM,
    asked_by_service,
    job_of,
    settle,
    slots,
    stage,
    stored,
    the_run,
)
from tests.support.builders import TENANT, statuses
from tests.support.fakes import calls, says


def test_stop_queued_run_cancels_it_and_frees_its_slot() -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2")
    world.post("Hello", HUSAM, chat_id="chat_2")
    queued = the_run(world, chat_id="chat_2")
    world.model.script.append(calls(("stop_run", {"run_id": queued.id})))
    world.post("Stop that", HUSAM)
    world.take(job_of(the_run(world)))
    assert stored(world, queued).status == "canceled"
    assert stored(world, queued).error == f"stopped by {the_run(world).id}"
    assert slots(world, chat_id="chat_2") == FREE
    world.drain()
    world.post("Hello again", HUSAM, chat_id="chat_2")
    world.drain()
    assert statuses(world.runs("chat_2")) == ["canceled", "done"]


def test_the_worker_of_a_stopped_run_loses_and_the_run_behind_it_is_sent() -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2")
    world.post("Hello", HUSAM, chat_id="chat_2")
    running = the_run(world, chat_id="chat_2")

    def meanwhile(_: ModelRequest) -> Any:
        world.post("More", HUSAM, chat_id="chat_2")
        world.model.script.append(calls(("stop_run", {"run_id": running.id})))
        world.post("Stop that", HUSAM)
        world.take(job_of(the_run(world)))
        return says("I never get to say this")

    world.model.script.append(meanwhile)
    world.take(job_of(running))
    assert stored(world, running).status == "canceled"
    world.drain()
    assert world.texts("chat_2") == ["Hello", "More"]
    assert statuses(world.runs("chat_2")) == ["canceled", "done"]
    assert slots(world, chat_id="chat_2") == FREE


@pytest.mark.parametrize("where", ["chat_1", "chat_2"])
def test_stopping_a_waiting_run_frees_its_wait(where: str) -> None:
    world = stage(says("Well?", wait=True, chat_id=where), END)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2")
    world.post("Ask", HUSAM)
    settle(world)
    waiting = the_run(world)
    assert waiting.status == "waiting"
    world.model.script.clear()
    world.model.script.append(calls(("stop_run", {"run_id": waiting.id})))
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    settle(world)
    assert stored(world, waiting).status == "canceled"
    assert (slots(world), slots(world, chat_id="chat_2")) == (FREE, FREE)
    world.post("Yes", HUSAM, chat_id=where)
    settle(world)
    assert [run.status for run in world.runs(where) if run.id != waiting.id][-1] == "done"


def test_stop_resuming_run_cancels_it() -> None:
    world = stage(ASK)
    world.chat(HUSAM, COACH)
    world.post("Publish", HUSAM)
    settle(world)
    world.post("Yes", HUSAM)
    run = the_run(world)
    assert slots(world) == (None, None, (run.id,), None)
    world.app.completion.cancel(run, reason=Reason.STOPPED_BY_AGENT, error="stopped")
    assert slots(world) == FREE
    settle(world)
    assert the_run(world).status == "canceled"


def test_a_run_without_a_chat_can_be_stopped() -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    lone = asked_by_service(world)
    world.queues.ready("turns")
    world.model.script.append(calls(("stop_run", {"run_id": lone.id})))
    world.post("Stop that", HUSAM)
    world.drain()
    assert stored(world, lone).status == "canceled"


def test_a_run_cannot_stop_itself_nor_one_that_has_ended() -> None:
    world = stage(END)
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.drain()
    ended = the_run(world)

    def both(_: ModelRequest) -> Any:
        return calls(
            ("stop_run", {"run_id": ended.id}), ("stop_run", {"run_id": world.runs()[-1].id})
        )

    world.model.script.append(both)
    world.post("Stop", HUSAM)
    world.drain()
    assert world.model.told == [
        "error: this run has already ended",
        "error: this is the current run; end it with end_run",
    ]


def test_repeated_stop_of_a_run_has_the_same_result() -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2")
    world.post("Hello", HUSAM, chat_id="chat_2")
    queued = the_run(world, chat_id="chat_2")
    stop = ("stop_run", {"run_id": queued.id})
    world.model.script.append(calls(stop, stop))
    world.post("Stop that", HUSAM)
    world.take(job_of(the_run(world)))
    assert world.model.told == ["stopped", "stopped"]
