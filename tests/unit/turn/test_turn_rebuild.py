"""An activation is made for the people who read its chat; if someone joins, it is built again."""

from typing import Any

import pytest

from skein.agent.turn_ending import READERS_KEEP_CHANGING
from skein.errors import Unavailable
from skein.models.common.storage import Update
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.services.runs.policy import MAX_REBUILDS
from tests.support.agents import (
    ASKED_AGAIN,
    COACH,
    DESIGNER,
    END,
    actor,
    results_of,
    settle,
    stage,
    steps_of,
    stored,
    the_run,
)
from tests.support.builders import TENANT, World, person
from tests.support.fakes import Killed, Said, calls, says

ALICE, BOB = person("usr_alice", "Alice"), person("usr_bob", "Bob")
OTHERS = [person(f"usr_{n}", f"Person {n}") for n in range(MAX_REBUILDS + 1)]
SECRET = "Alice is afraid of the exam"
PRIVATE: dict[str, Any] = {"visibility": "private"}


def _private(*script: Any, **agent: Any) -> World:
    """Alice alone with Coach in a private group; Coach remembers a secret for her alone."""
    world = stage(*script, **agent)
    world.known(ALICE, BOB, *OTHERS)
    world.chat(ALICE, COACH, **PRIVATE)
    owner = Owner(
        tenant=TENANT,
        agent_id=COACH.id,
        scope="chat:chat_1",
        audience=Audience(open=False, people=(ALICE.id,)),
    )
    world.app.memories.add(owner, SECRET, "core", made_by="api")
    return world


def _lets_in(world: World, *people: Any) -> None:
    for one in people:
        world.add(one, by=ALICE)


def _prompts(world: World) -> list[str]:
    return ["\n".join(m.content for m in request.messages) for request in world.model.requests]


def _said(world: World) -> list[str]:
    return [m.text for m in world.messages() if m.sender.kind == "agent"]


def _asked(world: World) -> Run:
    world.post("Any advice?", ALICE)
    settle(world)
    return the_run(world)


@pytest.mark.parametrize("mode", ["text", "tools"])
def test_an_answer_when_someone_joined_meanwhile_is_dropped_and_made_again(mode: str) -> None:
    def joins(_: ModelRequest) -> Any:
        _lets_in(world, BOB)
        return SECRET if mode == "text" else says(SECRET)

    again = ["Relax."] if mode == "text" else [says("Relax."), END]
    world = _private(joins, *again, reply_mode=mode)
    run = _asked(world)
    assert run.status == "done"
    assert run.rebuilds == 1
    assert _said(world) == ["Relax."]
    first, second = _prompts(world)[:2]
    assert SECRET in first
    assert SECRET not in second
    assert [step.n for step in steps_of(world, run)] == list(range(1, run.steps_taken + 1))
    assert {step.activation for step in steps_of(world, run)} == {1, 2}


def test_an_activation_when_someone_left_meanwhile_is_kept() -> None:
    def leaves(_: ModelRequest) -> Any:
        world.app.chat_admin.remove_member(TENANT, "chat_1", ALICE.ref, BOB.ref)
        return "Hello."

    world = _private(leaves, reply_mode="text")
    _lets_in(world, BOB)
    run = _asked(world)
    assert (run.status, run.rebuilds, _said(world)) == ("done", 0, ["Hello."])


def test_an_activation_of_an_open_chat_when_someone_joined_meanwhile_is_kept() -> None:
    def joins(_: ModelRequest) -> Any:
        world.add(BOB, by=ALICE)
        return "Hello."

    world = stage(joins, reply_mode="text")
    world.known(BOB)
    world.chat(ALICE, COACH)
    run = _asked(world)
    assert (run.status, run.rebuilds, _said(world)) == ("done", 0, ["Hello."])


def test_a_dropped_activation_keeps_its_effects_and_moves_no_watermark() -> None:
    seen: list[int] = []

    def joins(_: ModelRequest) -> Any:
        _lets_in(world, BOB)
        return says(SECRET)

    def looks(_: ModelRequest) -> Any:
        seen.append(world.membership(COACH).seen_seq)
        return END

    world = _private(calls(("set_goal", {"text": "Help Alice"})), joins, looks)
    run = _asked(world)
    assert seen == [0]
    assert world.membership(COACH).seen_seq == 1
    assert [result.name for result in results_of(world, run)] == ["set_goal", "end_run"]
    reach = Owner(tenant=TENANT, agent_id=COACH.id, scope="chat:chat_1").reach
    assert [goal.text for goal in world.app.goals.list(reach).items] == ["Help Alice"]


def test_a_message_sent_before_someone_joined_stays_and_is_remembered() -> None:
    def joins(_: ModelRequest) -> Any:
        _lets_in(world, BOB)
        return calls(("send_message", {"text": SECRET}))

    world = _private(says("One moment.", **ASKED_AGAIN), joins, says("Welcome, Bob."))
    run = _asked(world)
    assert _said(world) == ["One moment.", "Welcome, Bob."]
    assert [sent.preview for sent in run.sent] == ["One moment.", "Welcome, Bob."]


def test_question_is_not_asked_if_someone_joined_meanwhile() -> None:
    def joins(_: ModelRequest) -> Any:
        _lets_in(world, BOB)
        return says(SECRET, wait=True)

    world = _private(joins, says("Hello, you two."), END)
    run = _asked(world)
    assert (run.status, run.waits, run.rebuilds) == ("done", 0, 1)
    assert _said(world) == ["Hello, you two."]


def test_run_whose_readers_keep_changing_is_canceled_with_reason() -> None:
    joining = iter(OTHERS)

    def joins(_: ModelRequest) -> Any:
        _lets_in(world, next(joining))
        return says(SECRET)

    world = _private(*[joins] * (MAX_REBUILDS + 1))
    run = _asked(world)
    assert (run.status, run.error) == ("canceled", READERS_KEEP_CHANGING)
    assert len(world.model.requests) == MAX_REBUILDS + 1
    assert _said(world) == []
    assert world.membership(COACH).seen_seq == 0
    assert world.membership(COACH).running_run is None


def test_a_recorded_prompt_when_someone_joined_during_an_outage_is_not_used() -> None:
    """The model goes down after a step; Bob joins; 90 minutes later the run is built for both."""
    down: list[bool] = []

    def goes_down(_: ModelRequest) -> Said:
        down.append(True)
        raise Unavailable("down")

    searches = calls(("search_memories", {"query": "exam"}))
    world = _private(searches, *[goes_down] * 3, says("Hello, you two."), END)
    world.post("Any advice?", ALICE)
    settle(world)
    assert down
    assert any(SECRET in result.content for result in results_of(world, the_run(world)))
    _lets_in(world, BOB)
    world.post("Are you there?", ALICE)
    for _ in range(9):
        world.clock.advance(600)
        settle(world)
    run = the_run(world, "done")
    assert run.rebuilds == 1
    assert _said(world) == [world.settings.apology_text, "Hello, you two."]
    assert SECRET not in _prompts(world)[-1]
    assert "Are you there?" in _prompts(world)[-1]
    assert [other.error for other in world.runs() if other.id != run.id] == [f"joined {run.id}"]


def test_run_recorded_without_held_content_is_rebuilt() -> None:
    world = _private(calls("get_my_runs"), says("Hello."), END)

    def dies(_: ModelRequest) -> Said:
        raise Killed

    world.model.script.insert(1, dies)
    world.post("Any advice?", ALICE)
    with pytest.raises(Killed):
        settle(world)
    run = the_run(world)
    world.table.write(Update(run.key, set={"held": None}))
    world.clock.advance(300)
    world.tick()
    settle(world)
    assert stored(world, run).rebuilds == 1
    assert _said(world) == ["Hello."]


def test_final_answer_posted_before_a_join_is_not_posted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker dies between the post and the end of the run; then Bob joins."""
    world = _private("Relax.", "Again.", reply_mode="text")
    actor(world, DESIGNER)
    world.chat(ALICE, COACH, DESIGNER, respond="manual", **PRIVATE)
    world.app.manual_trigger.now(TENANT, "chat_1", ALICE.ref)

    def dies(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(type(world.app.completion), "end", dies)
        with pytest.raises(Killed):
            world.run_ready()
    assert _said(world) == ["Relax."]
    _lets_in(world, BOB)
    world.clock.advance(300)
    world.tick()
    world.run_ready()
    first = next(run for run in world.runs() if run.agent_id == COACH.id)
    assert (first.status, first.rebuilds) == ("done", 0)
    assert [m.text for m in world.messages() if m.sender.ref == COACH.ref] == ["Relax."]
