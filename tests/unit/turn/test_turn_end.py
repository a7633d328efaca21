"""A run ends without asking the model again once nothing is left to read or to answer."""

from typing import Any

import pytest

from skein.interface.tool import CONTINUE
from skein.models.common.reason import Reason
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from tests.support.agents import (
    ASKED_AGAIN,
    COACH,
    END,
    HUSAM,
    rival,
    settle,
    stage,
    steps_of,
)
from tests.support.builders import TENANT, World, person
from tests.support.fakes import Calls, calls

ANN = person("usr_ann", "Ann")
LATER = "I was asked again."
SAVES = ("save_memory", {"text": "Husam runs on Mondays.", "kind": "core"})
PLANS = ("set_plan", {"name": "Water", "instruction": "Say it.", "run_after": "1 hour"})
AIMS = ("set_goal", {"text": "Keep the plants alive."})
FAILS = ("end_goal", {"goal_id": "goal_9", "outcome": "completed"})
READS = "get_my_runs"


def says(text: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "send_message", {"text": text, **arguments}


def asked(answer: Calls, *people: Any, text: str = "@Coach, a plan?", **agent: Any) -> World:
    """People and the agent in a group; the agent answers, and once more if it is asked again."""
    world = stage(answer, calls(says(LATER), "end_run"), **agent)
    world.chat(*people, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="manual")
    world.post(text, HUSAM)
    settle(world)
    return world


def told(answer: Calls, later: Any = LATER) -> World:
    """A person and the agent in a direct chat, where text is posted."""
    world = stage(answer, later, END, reply_mode="text", history_format="roles")
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.post("A plan?", HUSAM)
    settle(world)
    return world


def the_end(world: World) -> tuple[Run, list[Step]]:
    [run] = world.runs()
    return run, steps_of(world, run)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (calls(says("Rest.")), None),
        (calls(SAVES, says("Rest.")), None),
        (calls(says("Rest."), says("Rested.", chat_id="chat_2")), None),
        (calls(("ask_choice", {"question": "Rest?", "person": "Husam"})), None),
    ],
)
def test_step_that_answers_and_only_sends_or_saves_ends_the_run(
    answer: Calls, reason: Reason | None
) -> None:
    world = asked(answer, HUSAM, ANN)
    run, steps = the_end(world)
    assert (run.status, run.reason, len(world.model.requests)) == ("done", reason, 1)
    assert [step.ends_run for step in steps] == [True]
    assert len(world.texts()) == 2


@pytest.mark.parametrize(
    "answer",
    [
        calls(says("Rest."), READS),
        calls(says("Rest."), FAILS),
        calls(says("Rest.", **ASKED_AGAIN)),
        calls(says("Rest."), (SAVES[0], {**SAVES[1], **ASKED_AGAIN})),
        calls(SAVES),
        calls(says("Rest.", chat_id="chat_2")),
    ],
    ids=["reads", "fails", "continues", "continues by another call", "saves", "answers elsewhere"],
)
def test_run_goes_on_after_a_step_that_leaves_something_open(answer: Calls) -> None:
    world = asked(answer, HUSAM, ANN)
    assert world.texts()[-1] == LATER
    assert len(world.model.requests) == 2


def test_saving_call_ends_run_when_no_answer_is_expected() -> None:
    world = asked(calls(SAVES, text="Worth knowing."), HUSAM, ANN, text="I run on Mondays.")
    run, _ = the_end(world)
    assert (run.status, run.reason) == ("done", Reason.ENDED_BY_AGENT)
    assert world.texts() == ["I run on Mondays."]
    assert len(world.model.requests) == 1


@pytest.mark.parametrize("saves", [PLANS, AIMS], ids=["set_plan", "set_goal"])
def test_call_that_fulfils_a_request_is_followed_by_an_answer(saves: Any) -> None:
    world = asked(calls(saves), HUSAM, ANN, text="Please remind us to water the plants.")
    run, _ = the_end(world)
    assert world.texts()[-1] == LATER
    assert (run.status, len(world.model.requests)) == ("done", 2)


def test_call_that_saves_after_the_answer_ends_the_run() -> None:
    world = stage(calls(says("Will do.", **ASKED_AGAIN)), calls(PLANS), calls(says(LATER)))
    world.chat(HUSAM, ANN, COACH)
    world.post("Please remind us to water the plants.", HUSAM)
    settle(world)
    assert world.texts()[-1] == "Will do."
    assert len(world.model.requests) == 2


@pytest.mark.parametrize("text", ["Rest.", "[Coach (agent)] Rest."])
def test_text_beside_calls_that_only_save_is_the_answer(text: str) -> None:
    world = told(calls(SAVES, text=text))
    run, [step] = the_end(world)
    assert world.texts() == ["A plan?", "Rest."]
    assert (run.status, run.reason, step.ends_run) == ("done", None, True)
    assert run.final_message is not None
    assert world.membership(COACH).running_run is None


@pytest.mark.parametrize("in_text", [True, False])
def test_argument_continue_is_explained_where_tools_show_it(*, in_text: bool) -> None:
    world = told(END) if in_text else asked(END, HUSAM, ANN)
    request, shown = world.model.requests[0], not in_text
    offered = [tool for tool in request.tools if CONTINUE in str(tool.parameters["properties"])]
    assert bool(offered) == shown
    assert (f"{CONTINUE}: true" in request.messages[0].content) == shown


def test_find_time_is_offered_in_groups_alone() -> None:
    for world, offered in ((told(END), False), (asked(END, HUSAM, ANN), True)):
        names = {tool.name for tool in world.model.requests[0].tools}
        assert ("find_time" in names) is offered


def test_silence_beside_calls_that_save_ends_the_run() -> None:
    world = told(calls(SAVES, text="[silence]"))
    run, _ = the_end(world)
    assert (run.status, run.reason) == ("done", Reason.CHOSE_SILENCE)
    assert len(world.model.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        calls(SAVES),
        calls(SAVES, READS, text="Rest."),
        calls(SAVES, FAILS, text="Rest."),
        calls((SAVES[0], {**SAVES[1], **ASKED_AGAIN}), text="Rest."),
        calls(SAVES, ("ask_choice", {"question": "Rest?"}), text="Rest."),
        calls(SAVES, text="x" * 20_001),
        Calls(calls(SAVES).tools, "Rest on", "cut_off"),
    ],
    ids=["no text", "reads", "fails", "continues", "asks", "too long", "cut off"],
)
def test_text_is_no_answer_beside_other_calls_or_if_it_is_not_whole(answer: Calls) -> None:
    world = told(answer)
    assert world.texts()[-1] == LATER
    assert "Rest." not in world.texts()
    assert len(world.model.requests) == 2


def test_worker_that_takes_over_decides_as_the_first_one_did() -> None:
    """Somebody leaves meanwhile, so that the pair that is left would expect an answer."""
    world = stage(calls(SAVES), calls(says(LATER), "end_run"))
    world.chat(HUSAM, ANN, COACH)

    def dies(_: object) -> Calls:
        rival(world).before = ("MEMBER#agent", leaves)
        return calls(SAVES)

    def leaves() -> None:
        world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, ANN.ref)
        raise KeyError("a bug")

    world.model.script[0] = dies
    world.post("I run on Mondays.", HUSAM)
    world.drain()
    run, _ = the_end(world)
    assert (run.status, run.attempts, run.reason) == ("done", 2, Reason.ENDED_BY_AGENT)
    assert len(world.model.requests) == 1
    assert len(world.stored_chat("chat_1").roster) == 2
