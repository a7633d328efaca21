"""What a run does with its tools: what works, what is refused, and what the model is told of it."""

import json
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.api.directory import NewUser
from skein.models.chats.borrowed import BorrowedContext
from skein.models.common.storage import Query
from skein.models.runs.completion import ModelRequest
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Reach
from skein.services.runs.policy import MAX_STEPS
from tests.support.agents import (
    AHMAD,
    ASKED_AGAIN,
    COACH,
    DESIGNER,
    END,
    HUSAM,
    actor,
    asked_by_service,
    results_of,
    rival,
    settle,
    stage,
    steps_of,
    the_run,
)
from tests.support.builders import LINE, PHONE, TENANT, World, bot, live, person
from tests.support.fakes import calls, says
from tests.support.routes import sms_route


def _asked(*script: Any, **agent: Any) -> World:
    """Husam has asked something, and the agent has answered with `script`."""
    world = stage(*script, **agent)
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.drain()
    return world


def _told(world: World) -> list[tuple[str, str]]:
    return [(result.status, result.content) for result in results_of(world, the_run(world))]


# ---------------------------------------------------------------------- speaking


def test_only_send_message_speaks_in_tools_mode() -> None:
    world = _asked(says("Hi Husam!"), "I am done thinking")
    assert world.texts() == ["Hello", "Hi Husam!"]
    assert the_run(world).status == "done"


def test_text_beside_tool_calls_is_private() -> None:
    world = _asked(calls(("send_message", {"text": "Hi"}), text="He seems nice"))
    assert world.texts() == ["Hello", "Hi"]


def test_in_text_mode_the_final_text_is_posted_and_the_text_beside_calls_is_not() -> None:
    world = _asked(
        calls("get_my_runs", text="Let me look"), "Nothing else is going on", reply_mode="text"
    )
    assert world.texts() == ["Hello", "Nothing else is going on"]


def test_message_has_its_run_chain_depth_and_reply() -> None:
    world = _asked(says("Hi", reply_to=1))
    run, message = the_run(world), world.messages()[-1]
    assert (message.run_id, message.depth, message.reply_to) == (run.id, 1, 1)
    assert [(sent.chat_id, sent.seq, sent.preview) for sent in run.sent] == [("chat_1", 2, "Hi")]
    assert run.tools == ("send_message",)


def test_several_calls_of_one_answer_are_carried_out_in_order() -> None:
    world = _asked(calls(("send_message", {"text": "One"}), ("send_message", {"text": "Two"})))
    assert world.texts() == ["Hello", "One", "Two"]
    assert _told(world) == [("done", "sent as msg:2"), ("done", "sent as msg:3")]


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "text: Field required"),
        ({"text": ""}, "text: Field required"),
        ({"text": "Hi", "shout": True}, "shout: Extra inputs are not permitted"),
        ({"text": "Hi", "reply_to": "the first"}, "reply_to: Input should be a number"),
        ({"text": "Hi", "reply_to": 99}, "reply_to is not a message"),
        ({"text": " "}, "the text has no words for people"),
        ({"text": "x" * 20_001}, "at most 20,000 characters"),
        ("{", "Invalid JSON"),
        ('{"text": "\\ud800"}', "Invalid JSON"),
    ],
)
def test_wrong_arguments_are_shown_to_the_model_which_tries_again(
    arguments: dict[str, Any] | str, why: str
) -> None:
    world = _asked(calls(("send_message", arguments)), says("Better"))
    status, content = _told(world)[0]
    assert status == "correctable"
    assert why in content
    assert world.texts() == ["Hello", "Better"]
    run = the_run(world)
    assert (run.status, run.attempts, run.steps_taken) == ("done", 1, 2)


def test_correctable_error_is_in_the_next_request() -> None:
    world = _asked(calls("send_message"), END)
    assert world.model.told == ["error: text: Field required"]


@pytest.mark.parametrize("name", ["send_mail", "", "SEND_MESSAGE", "__class__"])
def test_a_tool_that_does_not_exist_can_be_corrected(name: str) -> None:
    world = _asked(calls((name, {})), END)
    [(status, content), _] = _told(world)
    assert (status, content) == ("correctable", f"error: there is no tool {name or 'unknown'!r}")
    assert the_run(world).status == "done"


def test_a_tool_that_is_not_enabled_is_neither_offered_nor_carried_out() -> None:
    world = _asked(says("Hi"), END, enabled_tools=("get_my_runs", "end_run"))
    assert [tool.name for tool in world.model.requests[0].tools] == ["get_my_runs", "end_run"]
    assert _told(world)[0] == ("correctable", "error: there is no tool 'send_message'")
    assert world.texts() == ["Hello"]


@pytest.mark.parametrize(
    ("tools", "missing"),
    [
        (("enter_chat", "borrow_context"), {"enter_chat", "borrow_context"}),
        (("end_goal",), {"end_goal"}),
        (("end_goal", "set_goal"), set()),
        (("cancel_plan", "set_plan"), {"cancel_plan"}),
        (("stop_run",), {"stop_run"}),
        (("stop_run", "get_my_runs"), set()),
        (("forget_memory",), {"forget_memory"}),
        (("forget_memory", "search_memories"), set()),
        (("switch_thread", "end_thread"), {"switch_thread", "end_thread"}),
        (("switch_thread", "create_thread"), set()),
    ],
)
def test_tool_that_needs_an_id_is_offered_only_if_the_prompt_can_show_one(
    tools: tuple[str, ...], missing: set[str]
) -> None:
    world = _asked(enabled_tools=tools)
    offered = {tool.name for tool in world.model.requests[0].tools}
    assert set(tools) - offered == missing


def test_tools_for_other_chats_are_offered_once_there_is_one() -> None:
    world = _two_chats(END)
    world.post("Hello", HUSAM)
    settle(world)
    offered = {tool.name for tool in world.model.requests[0].tools}
    assert {"enter_chat", "borrow_context"} <= offered


def test_end_run_ends_nothing_where_it_is_not_enabled() -> None:
    world = _asked(
        calls("end_run", ("send_message", {"text": "Still here"})),
        "Done",
        enabled_tools=("send_message",),
    )
    assert world.texts() == ["Hello", "Still here"]


def test_failed_tool_call_does_not_end_the_run() -> None:
    world = _asked(
        calls(
            ("send_message", {"text": "Hi", "chat_id": "chat_9"}),
            ("enter_chat", {"chat_id": "chat_9"}),
            ("end_goal", {"goal_id": "goal_9", "outcome": "completed"}),
            ("cancel_plan", {"name": "none"}),
            ("stop_run", {"run_id": "run_9_chat_1"}),
        ),
        says("Sorry"),
        END,
    )
    assert [status for status, _ in _told(world)[:5]] == ["failed"] * 5
    assert world.texts() == ["Hello", "Sorry"]


def test_borrow_context_after_failed_enter_chat_stages_nothing() -> None:
    world = stage(
        calls(("enter_chat", {"chat_id": "chat_9"}), ("borrow_context", {"chat_id": "chat_2"})), END
    )
    world.chat(HUSAM, COACH)
    world.chat(AHMAD, COACH, chat_id="chat_2", respond="manual")
    world.post("Figures", AHMAD, chat_id="chat_2")
    world.post("Hello", HUSAM)
    world.drain()
    assert [status for status, _ in _told(world)[:2]] == ["failed", "correctable"]
    staged = BorrowedContext.key_of(TENANT, "chat_1", COACH.id)
    assert world.table.get(staged) is None


def test_unexpected_error_ends_the_attempt_and_the_next_one_does_the_rest_once() -> None:
    world = stage(calls(("send_message", {"text": "One"}), ("send_message", {"text": "Two"})))
    world.chat(HUSAM, COACH)

    def bug() -> None:
        raise KeyError("a bug")

    rival(world).before = ("MSG#000000000003", bug)
    world.post("Hello", HUSAM)
    world.drain()
    run = the_run(world)
    assert (run.status, run.attempts) == ("done", 2)
    assert world.texts() == ["Hello", "One", "Two"]
    assert len(world.model.requests) == 1
    assert [sent.preview for sent in run.sent] == ["One", "Two"]


# ---------------------------------------------------------------------- the end


def test_run_ends_after_twenty_steps_and_keeps_its_effects() -> None:
    world = stage()
    world.model.default = says("Again", **ASKED_AGAIN)
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.drain()
    run = the_run(world)
    assert (run.status, run.steps_taken, run.error) == ("done", MAX_STEPS, None)
    assert len(world.model.requests) == MAX_STEPS
    assert world.texts().count("Again") == MAX_STEPS
    assert world.membership(COACH).running_run is None


def test_end_run_skips_the_calls_after_it() -> None:
    world = _asked(
        calls(("send_message", {"text": "Bye"}), "end_run", ("send_message", {"text": "Wait!"}))
    )
    assert world.texts() == ["Hello", "Bye"]
    assert len(world.model.requests) == 1
    [step] = steps_of(world, the_run(world))
    assert [result.status for result in step.results or ()] == ["done", "done", "failed"]


def test_invalid_end_run_call_does_not_stop_later_calls() -> None:
    world = _asked(calls(("end_run", "[1"), ("send_message", {"text": "Still here"})), END)
    assert world.texts() == ["Hello", "Still here"]
    first, *_ = steps_of(world, the_run(world))
    assert [result.status for result in first.results or ()] == ["correctable", "done"]


def test_a_question_before_end_run_is_still_asked() -> None:
    world = stage(calls(("send_message", {"text": "May I?", "wait": True}), "end_run"))
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.clock.advance(2)
    world.run_ready()
    assert world.texts() == ["Hello", "May I?"]
    assert the_run(world).status == "waiting"


def test_more_calls_at_once_than_are_allowed_are_refused_one_by_one() -> None:
    many = [("send_message", {"text": str(n)}) for n in range(25)]
    world = _asked(calls(*many), END)
    assert world.texts()[1:] == [str(n) for n in range(20)]
    assert _told(world)[24] == (
        "failed",
        "error: only the first 20 calls of an answer are executed",
    )


def test_results_fit_into_their_step_however_much_is_read() -> None:
    world = stage(calls(*[("read_messages", {})] * 20), END)
    world.chat(HUSAM, COACH, respond="manual")
    for _ in range(60):
        world.post("\U0001f3b8" * 1_200, HUSAM)
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    [first, *_] = results = results_of(world, the_run(world))
    assert the_run(world).status == "done"
    assert "read the messages before" in first.content
    assert "msg:60" in first.content
    assert sum(len(result.content.encode()) for result in results) < 62_000


# ---------------------------------------------------------------------- where one is


def _two_chats(*script: Any) -> World:
    world = stage(*script)
    world.chat(HUSAM, AHMAD, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", title="Sales", respond="manual")
    world.post("Figures: 42", AHMAD, chat_id="chat_2")
    world.post("Ask sales", HUSAM)
    world.drain()
    return world


def test_entering_a_chat_shows_it_and_makes_it_the_active_one() -> None:
    world = _two_chats(
        calls(("enter_chat", {"chat_id": "chat_2"}), ("send_message", {"text": "Thanks"})), END
    )
    assert world.texts("chat_2") == ["Figures: 42", "Thanks"]
    assert '"Figures: 42"' in world.model.told[0]
    assert the_run(world).active_chat_id == "chat_2"


def test_the_active_chat_outlives_the_step_and_the_worker() -> None:
    world = _two_chats(calls(("enter_chat", {"chat_id": "chat_2"})), RuntimeError("a bug"), END)
    assert the_run(world).attempts == 2
    world.model.script.append(calls(("enter_chat", {"chat_id": "chat_2"})))
    world.model.script.append(RuntimeError("a bug"))
    world.model.script.append(says("Thanks"))
    world.post("Once more", HUSAM)
    world.drain()
    assert world.texts("chat_2")[-1] == "Thanks"


def test_message_for_chat_that_cannot_be_entered_is_not_sent_elsewhere() -> None:
    world = _two_chats(
        calls(
            ("enter_chat", {"chat_id": "chat_9"}),
            ("send_message", {"text": "Only for them"}),
            ("read_messages", {}),
        ),
        says("Only for you"),
        END,
    )
    assert [status for status, _ in _told(world)[:3]] == ["failed", "correctable", "correctable"]
    assert world.texts() == ["Ask sales", "Only for you"]


def test_waiting_question_is_asked_in_the_chat_active_at_its_call() -> None:
    world = stage(
        calls(
            ("send_message", {"text": "Shall I?", "wait": True}),
            ("enter_chat", {"chat_id": "chat_2"}),
            ("send_message", {"text": "Figures?"}),
        )
    )
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", respond="manual")
    world.post("Hello", HUSAM)
    world.clock.advance(2)
    world.run_ready()
    assert world.texts() == ["Hello", "Shall I?"]
    assert world.texts("chat_2") == ["Figures?"]
    run = the_run(world)
    assert (run.status, run.wait_chat_id) == ("waiting", "chat_1")


def test_two_waiting_questions_are_both_sent_and_the_last_one_is_awaited() -> None:
    world = stage(
        calls(
            ("send_message", {"text": "Here?", "wait": True}),
            ("send_message", {"text": "There?", "wait": True, "chat_id": "chat_2"}),
        )
    )
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", respond="manual")
    world.post("Hello", HUSAM)
    world.clock.advance(2)
    world.run_ready()
    assert world.texts() == ["Hello", "Here?"]
    assert world.texts("chat_2") == ["There?"]
    assert the_run(world).wait_chat_id == "chat_2"


def test_send_message_without_chat_requires_a_chat_id_or_entered_chat() -> None:
    world = stage(
        calls(("send_message", {"text": "Report"}), "read_messages"),
        calls(("enter_chat", {"chat_id": "chat_1"}), ("send_message", {"text": "Report"})),
    )
    world.chat(HUSAM, COACH)
    run = asked_by_service(world)
    world.drain()
    assert [result.status for result in results_of(world, run)][:2] == ["correctable"] * 2
    assert world.texts() == ["Report"]


# ---------------------------------------------------------------------- pairs of call and result


def test_a_worker_that_takes_over_in_the_middle_sends_every_call_with_its_result() -> None:
    world = stage(
        calls("get_my_runs", "get_my_runs"),
        RuntimeError("a bug"),
        calls(("send_message", {"text": "Hi"}), ("send_message", {"text": "Ho", **ASKED_AGAIN})),
        Unavailable("503"),
        END,
    )
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.drain()
    assert the_run(world).status == "done"
    last = world.model.requests[-1].messages
    assert [m.role for m in last if m.role != "system"][1:] == ["assistant", "tool", "tool"] * 2
    assert world.texts() == ["Hello", "Hi", "Ho"]


def test_a_run_that_hands_itself_on_repeats_its_prompt_and_its_steps() -> None:
    world = stage()

    def slow(_: ModelRequest) -> Any:
        world.clock.advance(95)
        return calls("get_my_runs")

    world.model.script.extend([slow, says("At last")])
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM)
    world.drain()
    first, second = world.model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert the_run(world).attempts == 1
    assert world.texts() == ["Hello", "At last"]


def test_continued_run_in_entered_chat_keeps_the_audience_of_its_origin() -> None:
    """What is made afterwards belongs to the people of the chat that the prompt showed."""
    world = stage()

    def slow(_: ModelRequest) -> Any:
        world.clock.advance(95)
        return calls(("enter_chat", {"chat_id": "chat_2"}))

    world.model.script.extend([slow, calls(("set_goal", {"text": "Keep his secret"})), END])
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", respond="manual")
    world.post("A secret", HUSAM)
    world.drain()
    [goal] = world.table.query(
        Query.under(f"{TENANT}#AGENT#agt_a#AUD#user:usr_husam", "GOAL#")
    ).items
    assert goal["audience"] == {"open": False, "people": ["usr_husam"]}


# ---------------------------------------------------------------------- one's own runs


def test_get_my_runs_lists_messages_and_tools_of_each_run() -> None:
    world = _asked(says("Hi" * 80))
    world.model.script.append(calls("get_my_runs"))
    world.post("And now?", HUSAM)
    world.drain()
    [told] = world.model.told
    assert told.splitlines()[0].endswith(
        "(this run): running, chat_message, 2026-02-18T12:00:01.000Z"
    )
    assert f'sent msg:2 in chat_1: "{"Hi" * 50}"' in told
    assert "tools: send_message" in told


def test_get_my_runs_by_status_and_number() -> None:
    world = _asked(END)
    for _ in range(3):
        world.post("Again", HUSAM)
        world.drain()
    world.model.script.append(
        calls(
            ("get_my_runs", {"status": "done", "limit": 2}),
            ("get_my_runs", {"status": "waiting"}),
        )
    )
    world.post("And?", HUSAM)
    world.drain()
    done, waiting = world.model.told
    assert done.count("done, chat_message") == 2
    assert waiting == "there are no such runs"


def test_an_agent_neither_sees_nor_stops_the_runs_of_another() -> None:
    world = stage()
    world.agent(DESIGNER.id, DESIGNER.name)
    world.chat(HUSAM, DESIGNER, chat_id="chat_2")
    world.chat(HUSAM, COACH)
    world.post("Hello", HUSAM, chat_id="chat_2")
    world.drain()
    foreign = the_run(world, chat_id="chat_2").id
    world.model.script.append(calls("get_my_runs", ("stop_run", {"run_id": foreign})))
    world.post("Hello", HUSAM)
    world.drain()
    told = [result.content for result in results_of(world, the_run(world))]
    assert foreign not in told[0]
    assert told[1] == "error: run not found: you have no run with this id"


def test_goal_and_plan_tools_report_their_results() -> None:
    world = _asked(
        calls(
            ("set_goal", {"text": "Finish Q4", "priority": 1, "long_term": None}),
            ("set_plan", {"name": "Report", "instruction": "Post it", "run_after": "2 hours"}),
            ("set_plan", {"name": "Bad", "instruction": "x", "run_after": "soon"}),
            ("set_plan", {"name": "None", "instruction": "x"}),
            ("cancel_plan", {"name": "Report"}),
        ),
        END,
    )
    goal, plan, bad, none, canceled = [content for _, content in _told(world)[:5]]
    assert plan == "plan set, next: 2026-02-18T14:00:01.000Z (Wednesday 2026-02-18 14:00 in UTC)"
    assert [bad.split(":")[0], none.split(":")[0], canceled] == ["error", "error", "plan canceled"]
    world.model.script.append(
        calls(
            ("end_goal", {"goal_id": goal.removeprefix("goal set, id: "), "outcome": "completed"})
        )
    )
    world.post("Done?", HUSAM)
    world.drain()
    assert world.model.told == ["goal completed"]


def test_plans_are_shown_in_the_zone_of_the_agent() -> None:
    world = _asked(
        calls(("set_plan", {"name": "Daily", "instruction": "x", "cron": "0 9 * * *"})),
        END,
        time_zone="Asia/Amman",
    )
    said = "plan set, next: 2026-02-19T06:00:00.000Z (Thursday 2026-02-19 09:00 in Asia/Amman)"
    assert _told(world)[0] == ("done", said)


IN_PERSONS_ZONE = (
    "plan set, next: 2026-02-19T00:00:00.000Z (Thursday 2026-02-19 09:00 in Asia/Tokyo)"
)


@pytest.mark.parametrize("time", [{"cron": "0 9 * * *"}, {"scheduled_at": "2026-02-19T09:00"}])
def test_set_plan_in_direct_chat_takes_the_persons_zone(time: dict[str, str]) -> None:
    world = stage(calls(("set_plan", {"name": "Daily", "instruction": "x"} | time)), END)
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name="Husam", time_zone="Asia/Tokyo"))
    world.post("Remind me at nine", HUSAM)
    settle(world)
    assert _told(world)[0] == ("done", IN_PERSONS_ZONE)


SCOPE = f"user:{HUSAM.id}"
QUIET = (
    "(Thursday 2026-02-19 02:00 in Asia/Tokyo). The person has quiet hours then, so it waits until "
    "Thursday 2026-02-19 08:00 in Asia/Tokyo."
)


def _asked_by_sms(*script: Any) -> World:
    """Husam of Tokyo has sent an SMS, at nine in the evening there."""
    world = stage(*script)
    sms = sms_route(line=LINE, phone=PHONE)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", route=sms)
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name="Husam", time_zone="Asia/Tokyo"))
    world.post("Look after me", HUSAM, route=sms)
    settle(world)
    return world


def test_set_plan_says_that_a_plan_in_quiet_hours_waits() -> None:
    late = {"name": "Later", "instruction": "x", "run_after": "5 hours"}
    named = {"name": "Named", "instruction": "x", "scheduled_at": "2026-02-19T02:00"}
    soon = {"name": "Soon", "instruction": "x", "run_after": "30 minutes"}
    world = _asked_by_sms(calls(*(("set_plan", each) for each in (late, named, soon))), END)
    told = [content for _, content in _told(world)[:3]]
    assert QUIET in told[0]
    assert told[0].endswith("set the plan again with scheduled_at.")
    assert told[1].endswith("(Thursday 2026-02-19 02:00 in Asia/Tokyo)")
    assert told[2].endswith("(Wednesday 2026-02-18 21:30 in Asia/Tokyo)")
    plans = live(world.app.plans, Reach(tenant=TENANT, agent_id="agt_a", scopes=(SCOPE,)))
    assert {plan.name: plan.at_time_of(HUSAM.id) for plan in plans} == {
        "Later": False,
        "Named": True,
        "Soon": True,
    }


def test_set_plan_in_the_run_of_a_plan_is_not_the_persons_choice() -> None:
    named = {"name": "Named", "instruction": "x", "scheduled_at": "2026-02-19T02:00"}
    world = _asked_by_sms(END, calls(("set_plan", named)), END)
    trigger = Trigger(type="plan", traced_to=HUSAM.id)
    private = Audience(open=False, people=(HUSAM.id,))
    asked_by_service(world, trigger=trigger, audience=private, scope=SCOPE)
    world.drain()
    reach = Reach(tenant=TENANT, agent_id="agt_a", scopes=(SCOPE,))
    [plan] = live(world.app.plans, reach)
    assert (plan.set_by, plan.at_time_of(HUSAM.id)) == (HUSAM.id, False)


def test_set_plan_in_group_takes_the_agents_zone() -> None:
    world = stage(
        calls(("set_plan", {"name": "Daily", "instruction": "x", "cron": "0 9 * * *"})),
        END,
        time_zone="Asia/Amman",
    )
    world.chat(HUSAM, COACH)
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name="Husam", time_zone="Asia/Tokyo"))
    world.post("Remind us at nine", HUSAM)
    settle(world)
    assert _told(world)[0][1].endswith("09:00 in Asia/Amman)")


def test_set_plan_with_a_zone_keeps_it() -> None:
    cron = {"cron": "0 9 * * *", "time_zone": "Europe/Berlin"}
    world = stage(calls(("set_plan", {"name": "Daily", "instruction": "x"} | cron)), END)
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.app.users.create(TENANT, NewUser(id=HUSAM.id, name="Husam", time_zone="Asia/Tokyo"))
    world.post("Remind me at nine in Berlin", HUSAM)
    settle(world)
    assert _told(world)[0][1].endswith("09:00 in Europe/Berlin)")


def test_an_agent_that_has_left_another_chat_reaches_it_no_more() -> None:
    world = stage()
    world.chat(HUSAM, COACH, chat_id="chat_2")
    world.close_membership(COACH, "chat_2")
    world.chat(HUSAM, COACH)
    actor(world, bot("agt_c", "Other"))
    world.chat(person("usr_x", "X"), bot("agt_c", "Other"), chat_id="chat_3")
    for chat_id in ("chat_2", "chat_3"):
        world.model.script.append(
            calls(
                ("send_message", {"text": "Hi", "chat_id": chat_id}),
                ("read_messages", {"chat_id": chat_id}),
            )
        )
        world.post("Go", HUSAM)
        world.drain()
        assert (
            world.model.told
            == ["error: chat not found: you are not a member of a chat with this id"] * 2
        )
        assert world.texts(chat_id) == []


def test_next_request_repeats_unreadable_arguments_as_an_object() -> None:
    world = _asked(calls(("send_message", "{oops")), END)
    [answer] = [m for m in world.model.requests[-1].messages if m.role == "assistant"]
    assert [json.loads(call.arguments) for call in answer.tool_calls] == [{"unreadable": "{oops"}]
