"""An export of a thread holds only activations that everybody who may be shown it was there for."""

import json

import pytest

from skein.models.common.storage import Put
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.workspace import thread_changes as changes
from skein.workspace.models.thread import Thread, ThreadRunLink
from tests.support.agents import (
    COACH,
    END,
    HUSAM,
    asked_by_service,
    settle,
    stage,
    steps_of,
    stored,
    the_run,
)
from tests.support.builders import NOON, TENANT, World, person
from tests.support.fakes import Script, calls, says

ANN = person("usr_ann", "Ann")
SECRET, PUBLIC = "mango", "carrot"
ALONE = Audience(open=False, people=(HUSAM.id,))
BOTH = Audience(open=False, people=(ANN.id, HUSAM.id))
OPEN_OWNER = Owner(tenant=TENANT, agent_id=COACH.id)
NOTED = calls(("save_memory", {"text": "Noted", "kind": "core"}))


def world_with(*script: Script) -> tuple[World, Thread]:
    """An open chat, Husam's direct chat, and an open thread that is active in open places."""
    world = stage(*script)
    world.chat(HUSAM, ANN, COACH, respond="mention")
    world.chat(HUSAM, COACH, chat_id="chat_2", visibility="private", kind="direct")
    thread = world.app.threads.create(OPEN_OWNER, {"concern": "The launch"}, thread_id="thr_1")
    world.app.threads.switch(OPEN_OWNER.reach, thread.id)
    return world, thread


def exported(world: World, owner: Owner = OPEN_OWNER) -> str:
    """The export of the thread once it is completed, without what came of it."""
    end = changes.ended("completed", NOON, evidence="Done")
    ended = world.app.threads.change(owner.reach, "thr_1", end)
    return json.dumps(json.loads(world.app.training_export.unit(ended))["messages"][:-2])


def test_activation_that_continues_in_private_chat_is_left_out() -> None:
    world, _ = world_with(
        says("What is it?", chat_id="chat_2", wait=True),
        calls(("read_messages", {"chat_id": "chat_2"})),
        END,
    )
    world.post(f"@Coach, it is a {PUBLIC}; ask me in private", HUSAM)
    settle(world)
    world.post(f"My secret is {SECRET}", HUSAM, chat_id="chat_2")
    settle(world)
    run = the_run(world)
    assert [step.activation for step in steps_of(world, run)] == [1, 2, 2]
    export = exported(world)
    assert PUBLIC in export
    assert SECRET not in export


def test_activation_without_chat_for_one_person_is_left_out() -> None:
    world, thread = world_with(calls("get_my_runs", ("switch_thread", {"thread_id": "thr_1"})), END)
    run = asked_by_service(world, audience=ALONE)
    settle(world)
    mark = ThreadRunLink(
        thread_id=thread.id, run_id=run.id, activation=1, audience=ALONE, shown_at=NOON
    )
    key = ThreadRunLink.key_of(TENANT, COACH.id, None, thread.id, run.id, 1)
    world.table.write(Put(key, mark.attributes()))
    assert stored(world, run).status == "done"
    assert json.loads(exported(world)) == []


@pytest.mark.parametrize(("late", "shown"), [({}, True), ({f"user#{ANN.id}": 1}, False)])
def test_activation_that_fewer_people_were_there_for_is_left_out(
    late: dict[str, int], *, shown: bool
) -> None:
    world = stage(calls("get_my_runs"), END)
    world.chat(HUSAM, ANN, COACH, visibility="private", respond="mention", joined_late=late)
    owner = Owner(tenant=TENANT, agent_id=COACH.id, scope="chat:chat_1", audience=BOTH)
    thread = world.app.threads.create(owner, {"concern": "The launch"}, thread_id="thr_1")
    world.app.threads.switch(owner.reach, thread.id)
    world.post(f"My secret is {SECRET}", HUSAM)
    world.post("@Coach, begin", HUSAM)
    settle(world)
    assert (SECRET in exported(world, owner)) is shown
