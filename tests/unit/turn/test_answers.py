"""An answer that cannot be used is asked for once more, and never ends a run silently."""

from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.common.address import Route
from skein.models.common.reason import Reason
from skein.models.runs.completion import AnswerFault, ModelRequest
from skein.models.runs.recordable import MAX_ANSWER_TEXT
from skein.models.runs.run import Run
from skein.prompts import render
from skein.services.runs.policy import MAX_STEPS
from tests.support.agents import ASKED_AGAIN, asked_by_service, settle, steps_of, stored
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.fakes import Killed, Said, Script, ScriptedModel, calls, faulty, says
from tests.support.routes import sms_route

HUSAM, ANN = person(), person("usr_ann", "Ann")
COACH = bot()
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private"}
NO_ANSWER, REFUSED = render("notice_no_answer"), render("notice_refused_answer")
CUT = faulty("cut_off", "The plan has three")

FAULTS: list[tuple[AnswerFault, Said, Reason, str]] = [
    ("empty", "", Reason.EMPTY_ANSWER, NO_ANSWER),
    ("empty", " \n\u200b", Reason.EMPTY_ANSWER, NO_ANSWER),
    ("empty", "[Coach (agent)] ", Reason.EMPTY_ANSWER, NO_ANSWER),
    ("cut_off", CUT, Reason.ANSWER_CUT_OFF, NO_ANSWER),
    ("cut_off", faulty("cut_off"), Reason.ANSWER_CUT_OFF, NO_ANSWER),
    ("refused", faulty("refused", "I can't."), Reason.ANSWER_REFUSED, REFUSED),
    ("filtered", faulty("filtered", "You sh"), Reason.ANSWER_FILTERED, REFUSED),
]


def direct(*script: Script, **agent: Any) -> World:
    world = World(model=ScriptedModel.saying(*script))
    world.agent(**agent)
    world.chat(HUSAM, COACH, **DIRECT)
    return world


def team(*script: Script) -> World:
    """A group of two people and an agent with its default manner."""
    world = World(model=ScriptedModel.saying(*script))
    world.agent(reply_mode=None, history_format=None)
    world.chat(HUSAM, ANN, COACH)
    return world


def asked(world: World, text: str = "What is the plan?") -> Run:
    world.post(text, HUSAM)
    settle(world)
    return world.runs()[-1]


# ---------------------------------------------------------------------- asked once more


@pytest.mark.parametrize(("fault", "answer", "reason", "notice"), FAULTS)
def test_answer_with_a_fault_is_asked_for_again_and_only_the_second_posted(
    fault: AnswerFault, answer: Said, reason: Reason, notice: str
) -> None:
    world = direct(answer, "Rest on Monday.")
    run = asked(world)
    assert world.texts() == ["What is the plan?", "Rest on Monday."]
    assert (run.status, run.reason, run.marks) == ("done", None, ("answer_retried",))
    assert [step.fault for step in steps_of(world, run)] == [fault, None]
    assert run.usage.input_tokens == 20
    assert world.app.usage.of_day(TENANT).answers == 2
    assert world.metrics.reasons[("AnswersRetried", fault)] == 1


@pytest.mark.parametrize(("fault", "answer", "reason", "notice"), FAULTS)
def test_second_answer_with_a_fault_fails_the_run_with_a_notice(
    fault: AnswerFault, answer: Said, reason: Reason, notice: str
) -> None:
    world = direct(answer, answer)
    run = asked(world)
    [_, said] = world.messages()
    assert (said.text, said.kind, said.sender.ref) == (notice, "notice", COACH.ref)
    assert (run.status, run.reason, run.error) == ("failed", reason, reason.meaning)
    assert run.final_message is None
    assert world.metrics.reasons[("AnswersFailed", fault)] == 1
    assert world.membership(COACH).running_run is None
    assert world.membership(COACH).seen_seq == 1
    assert len(world.model.requests) == 2


def test_second_request_repeats_the_cut_answer_and_says_why() -> None:
    world = direct(CUT, "Rest on Monday.")
    asked(world)
    first, second = world.model.requests
    answer, follow_up = second.messages[len(first.messages) :]
    assert (answer.role, answer.content) == ("assistant", "The plan has three")
    assert (follow_up.role, follow_up.content) == ("user", render("again_cut_off"))
    assert second.max_output_tokens == 2 * first.max_output_tokens


@pytest.mark.parametrize("answer", ["", faulty("filtered", "You sh")])
def test_second_request_leaves_out_an_empty_or_filtered_answer(answer: Said) -> None:
    world = direct(answer, "Rest on Monday.")
    asked(world)
    first, second = world.model.requests
    assert [one.role for one in second.messages[len(first.messages) :]] == ["user"]
    assert second.max_output_tokens == first.max_output_tokens


def test_second_request_after_reasoning_has_room_for_it() -> None:
    world = direct(faulty("cut_off", reasoning=1_500), "Rest on Monday.")
    asked(world)
    assert [request.reasons for request in world.model.requests] == [False, True]


def test_tool_call_that_is_cut_off_raises_the_next_limit() -> None:
    cut = calls(("set_goal", '{"text": "Hel'))
    world = direct(
        type(cut)(cut.tools, fault="cut_off"), "Rest on Monday.", enabled_tools=("set_goal",)
    )
    run = asked(world)
    first, second = world.model.requests
    assert second.max_output_tokens == 2 * first.max_output_tokens
    assert run.marks == ()
    assert world.texts()[-1] == "Rest on Monday."


def test_answer_longer_than_a_message_is_asked_for_again() -> None:
    world = direct("A" * (MAX_ANSWER_TEXT + 1), "Rest on Monday.")
    run = asked(world)
    assert world.texts()[1:] == ["Rest on Monday."]
    assert [step.fault for step in steps_of(world, run)] == ["cut_off", None]


def test_second_request_may_be_silent() -> None:
    world = direct("", "[Silence].")
    run = asked(world)
    assert (world.texts()[1:], run.status, run.reason) == ([], "done", Reason.CHOSE_SILENCE)


def test_fault_after_a_retry_and_a_tool_call_fails_the_run() -> None:
    world = direct("", calls("get_my_runs"), "", enabled_tools=("get_my_runs",))
    run = asked(world)
    assert (run.status, run.steps_taken) == ("failed", 3)
    assert world.texts()[1:] == [NO_ANSWER]


def test_fault_in_the_last_step_is_not_asked_for_again() -> None:
    script: list[Script] = [*[calls("get_my_runs")] * (MAX_STEPS - 1), ""]
    world = direct(*script, enabled_tools=("get_my_runs",))
    run = asked(world)
    assert (run.status, run.steps_taken) == ("failed", MAX_STEPS)
    assert world.texts()[1:] == [NO_ANSWER]


@pytest.mark.parametrize("call", [calls("no_such_tool"), calls(("get_my_runs", {"no_such": 1}))])
def test_run_that_repeats_a_useless_call_tells_the_person_so(call: Said) -> None:
    world = direct(*[call] * MAX_STEPS, enabled_tools=("get_my_runs",))
    run = asked(world)
    assert (run.status, run.reason, run.steps_taken) == ("failed", "steps_used_up", MAX_STEPS)
    assert world.texts()[1:] == [NO_ANSWER]
    assert world.membership(COACH).failed_answers == 1


@pytest.mark.parametrize(
    ("place", "ended"), [({}, ("done", None)), ({"chat_id": "chat_2"}, ("failed", "steps_used_up"))]
)
def test_run_that_posted_before_it_used_its_steps_up_posts_no_notice_there(
    place: dict[str, str], ended: tuple[str, str | None]
) -> None:
    said = calls(("send_message", {"text": "I look."} | place), "get_my_runs")
    world = team(said, *[calls("get_my_runs")] * (MAX_STEPS - 1))
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="manual")
    run = asked(world, "@Coach, what is the plan?")
    assert (run.status, run.reason) == ended
    assert world.texts()[1:] == ([NO_ANSWER] if place else ["I look."])


def test_run_from_which_no_answer_is_expected_uses_its_steps_up_in_silence() -> None:
    world = team(*[calls("get_my_runs")] * MAX_STEPS)
    run = asked(world, "Hello")
    assert (run.status, run.reason) == ("done", "steps_used_up")
    assert world.texts() == ["Hello"]


def test_next_answer_is_asked_for_again_too() -> None:
    world = direct(CUT, "One.", CUT, "Two.")
    asked(world)
    asked(world, "And then?")
    assert world.texts() == ["What is the plan?", "One.", "And then?", "Two."]


def test_failed_answer_starts_the_run_behind_it() -> None:
    def interrupts(_: ModelRequest) -> Said:
        world.post("One thing more", HUSAM)
        return ""

    world = direct("", interrupts, "Here I am.")
    asked(world)
    assert world.texts() == ["What is the plan?", "One thing more", NO_ANSWER, "Here I am."]


def test_fault_of_a_run_without_chat_fails_it_without_a_notice() -> None:
    world = direct("", "")
    run = asked_by_service(world)
    settle(world)
    run = stored(world, run)
    assert (run.status, run.reason) == ("failed", Reason.EMPTY_ANSWER)
    assert world.texts() == []


def test_empty_answer_after_tools_ends_a_run_without_chat() -> None:
    world = direct(calls("get_my_runs"), "", enabled_tools=("get_my_runs",))
    run = asked_by_service(world)
    settle(world)
    run = stored(world, run)
    assert (run.status, run.reason) == ("done", Reason.ENDED_BY_AGENT)


# ---------------------------------------------------------------------- crashes and outages


@pytest.mark.parametrize("second", ["Rest on Monday.", CUT])
def test_death_between_the_answers_asks_once_more_and_posts_no_first_answer(second: Said) -> None:
    def dies(_: ModelRequest) -> Said:
        raise Killed

    world = direct(CUT, dies, second)
    world.post("What is the plan?", HUSAM)
    with pytest.raises(Killed):
        settle(world)
    assert world.texts() == ["What is the plan?"]
    world.clock.advance(300)
    world.tick()
    settle(world)
    run = world.runs()[-1]
    assert world.texts()[1:] == ["Rest on Monday." if second != CUT else NO_ANSWER]
    assert (run.steps_taken, run.usage.output_tokens) == (2, 10)
    assert len(world.model.requests) == 3


def test_outage_between_the_answers_keeps_the_first_one_recorded() -> None:
    world = direct(CUT, Unavailable("down"), "Rest on Monday.")
    asked(world)
    world.clock.advance(60)
    settle(world)
    assert world.texts()[1:] == ["Rest on Monday."]
    assert [step.fault for step in steps_of(world, world.runs()[-1])] == ["cut_off", None]


def test_invocation_without_time_for_a_second_request_hands_over() -> None:
    def slow(_: ModelRequest) -> Said:
        world.clock.advance(100)
        return CUT

    world = direct(slow, "Rest on Monday.")
    asked(world)
    settle(world)
    run = world.runs()[-1]
    assert world.texts()[1:] == ["Rest on Monday."]
    assert [entry.reason for entry in run.reasons] == [Reason.HANDED_OVER]


# ---------------------------------------------------------------------- words that people read


@pytest.mark.parametrize(
    ("answer", "posted"),
    [
        ("[Coach (agent)] Rest on Monday.", "Rest on Monday."),
        ("[Husam (human)] Rest on Monday.", "Rest on Monday."),
        ("[Ann (human)] Rest on Monday.", "[Ann (human)] Rest on Monday."),
        ("Rest on Monday. [silence]", "Rest on Monday."),
    ],
)
def test_answer_is_posted_without_labels_and_tokens(answer: str, posted: str) -> None:
    world = direct(answer)
    run = asked(world)
    assert world.texts()[1:] == [posted]
    assert steps_of(world, run)[0].text == answer


# ---------------------------------------------------------------------- text that reaches nobody


def test_new_agent_speaks_in_a_direct_chat() -> None:
    world = direct("Rest on Monday.", reply_mode=None, history_format=None)
    asked(world)
    assert world.texts()[1:] == ["Rest on Monday."]


def test_new_agent_in_a_group_of_two_is_nudged_and_speaks() -> None:
    world = World(model=ScriptedModel.saying("Rest.", says("Rest on Monday."), "Done."))
    world.agent(reply_mode=None, history_format=None)
    world.chat(HUSAM, COACH)
    run = asked(world)
    assert world.texts()[1:] == ["Rest on Monday."]
    assert (run.status, run.reason, run.marks) == ("done", None, ("nudged",))
    assert world.model.requests[1].messages[-1].content == render("again_unspoken")
    assert world.metrics.reasons[("AnswersRetried", "unspoken")] == 1


def test_agent_that_is_named_in_a_group_is_nudged() -> None:
    world = team("Rest.", says("Rest on Monday."), "Done.")
    run = asked(world, "@Coach, what is the plan?")
    assert world.texts()[1:] == ["Rest on Monday."]
    assert run.marks == ("nudged",)


def test_agent_that_is_replied_to_in_a_group_is_nudged() -> None:
    world = team(says("Rest."), "Yes.", says("Yes, on Monday."))
    asked(world, "Coach, what is the plan? @Coach")
    world.post("Really?", HUSAM, reply_to=2)
    settle(world)
    assert world.texts()[1:] == ["Rest.", "Really?", "Yes, on Monday."]


def test_agent_not_addressed_in_group_is_not_nudged() -> None:
    world = team("I have nothing to add.")
    run = asked(world)
    assert (world.texts()[1:], run.status, run.marks) == ([], "done", ())
    assert run.reason == Reason.TOOLS_MODE_TEXT


def test_nudge_that_does_not_help_marks_the_run() -> None:
    world = direct("Rest.", "Rest, I said.", reply_mode="tools")
    run = asked(world)
    assert world.texts()[1:] == []
    assert (run.status, run.reason) == ("done", Reason.UNSPOKEN_TEXT)
    assert run.marks == ("nudged", "unspoken_text")
    assert world.metrics.counts["UnspokenTexts"] == 1
    assert len(world.model.requests) == 2


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (calls("end_run"), Reason.ENDED_BY_AGENT),
        ("[silence]", Reason.CHOSE_SILENCE),
        ("", Reason.UNSPOKEN_TEXT),
    ],
)
def test_nudged_agent_may_stay_silent(second: Said, reason: Reason) -> None:
    world = direct("Nothing to say here.", second, reply_mode="tools")
    run = asked(world)
    assert (world.texts()[1:], run.status, run.reason) == ([], "done", reason)


def test_agent_without_send_message_is_not_nudged() -> None:
    world = direct("Rest.", reply_mode="tools", enabled_tools=("end_run",))
    run = asked(world)
    assert (run.reason, run.marks) == (Reason.UNSPOKEN_TEXT, ("unspoken_text",))
    assert len(world.model.requests) == 1


def test_text_after_a_message_is_not_nudged() -> None:
    world = direct(says("Rest on Monday.", **ASKED_AGAIN), "I have told him.", reply_mode="tools")
    run = asked(world)
    assert (world.texts()[1:], run.marks) == (["Rest on Monday."], ())
    assert (run.status, run.reason) == ("done", None)


@pytest.mark.parametrize("last", ["", "[silence]"])
def test_run_that_has_spoken_may_end_with_an_empty_answer(last: str) -> None:
    world = direct(says("Rest on Monday.", **ASKED_AGAIN), last, reply_mode="tools")
    run = asked(world)
    assert (run.status, run.reason, run.marks) == ("done", None, ())
    assert len(world.model.requests) == 2


def test_run_is_nudged_once() -> None:
    """It waits after the nudge, and is not nudged again once the reply is there."""
    world = direct("Hm.", says("Shall I?", wait=True), "Well.", reply_mode="tools")
    asked(world)
    world.post("Yes", HUSAM)
    settle(world)
    [run] = world.runs()
    assert (run.activation, run.reason) == (2, Reason.UNSPOKEN_TEXT)
    assert len(world.model.requests) == 3


# ---------------------------------------------------------------------- STOP between two steps


def _on_sms(*script: Script) -> tuple[World, Route]:
    """A direct chat by SMS."""
    world, sms = World(model=ScriptedModel.saying(*script)), sms_route(line=LINE, phone=PHONE)
    world.agent()
    world.chat(HUSAM, COACH, route=sms, **DIRECT)
    return world, sms


@pytest.mark.parametrize("person_writes_in_app", [False, True])
def test_run_between_two_steps_at_stop_asks_no_model(person_writes_in_app: bool) -> None:
    def meanwhile(_: ModelRequest) -> Said:
        world.post("STOP", HUSAM, kind="keyword", route=sms, opted_out=True)
        if person_writes_in_app:
            world.post("I am in the app now", HUSAM)
        return calls("get_my_runs")

    world, sms = _on_sms(meanwhile, "Here is the plan.", "In the app.")
    world.post("What is the plan?", HUSAM, route=sms)
    settle(world)
    first = world.runs()[0]
    if person_writes_in_app:
        assert first.status == "done"
        return
    assert (first.status, first.reason) == ("canceled", Reason.OPTED_OUT)
    assert len(world.model.requests) == 1
    assert [step.results is not None for step in steps_of(world, first)] == [True]


def test_later_step_by_sms_costs_one_read() -> None:
    def reads(*script: Script, sms: Route | None) -> int:
        world = World(model=ScriptedModel.saying(*script, "Here is the plan."))
        world.agent()
        world.chat(HUSAM, COACH, route=sms, **DIRECT)
        world.post("What is the plan?", HUSAM, route=sms)
        world.table.log = []
        settle(world)
        return sum(call.method == "get" for call in world.table.log)

    def of_later_step(sms: Route | None) -> int:
        return reads(calls("get_my_runs"), sms=sms) - reads(sms=sms)

    assert of_later_step(sms_route(line=LINE, phone=PHONE)) - of_later_step(None) == 1
