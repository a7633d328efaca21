"""The clock of the stack: turning, draining and resetting it, and what each call reports."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from local.timing import clock_control
from skein import bootstrap
from skein.models.chats.chat import Chat, Message
from skein.models.chats.consolidation import Consolidation
from skein.models.chats.membership import Membership
from skein.models.common.storage import Put, Write
from skein.models.directory.agent import Agent
from skein.services.runs.policy import WAIT_SECONDS
from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.builders import TENANT, bot, person
from tests.support.scripted_openai import ScriptedOpenAI

CHATS = 1_000
WHY = "?reason=The+complaint+4711"  # operators see private content for a reason
HOUR, WEEK = 3_600, 7 * 86_400
SHORT_DRAIN = 2.5
PATIENCE_SECONDS = 30.0
SLOW = {"reply_debounce_seconds": 600, "reply_debounce_max_seconds": 600}
ASK = ("send_message", {"text": "Which day?", "wait": True})


def fill(chats: int, *, consolidations: int = 0) -> None:
    """Store chats with two messages each; some have a consolidation that is due in six hours."""
    ports = bootstrap.app().ports
    now = ports.clock.now()
    agent = Agent(tenant=TENANT, id="agt_a", name="Coach", created_at=now)
    ports.table.write(Put(agent.key, agent.to_item()))
    for number in range(chats):
        due = number < consolidations
        at = (now + timedelta(hours=7)).replace(minute=0, second=0, microsecond=0)
        chat_id = f"chat_{number:06}"
        members = (person(f"usr_{number}"), bot())
        chat = Chat(
            tenant=TENANT,
            id=chat_id,
            kind="group",
            visibility="open",
            title="Morning run",
            roster=members,
            activity_hour=now,
            last_seq=2,
            last_message_at=now,
            consolidate=due,
            consolidation_at=at if due else None,
            created_at=now,
        )
        writes: list[Write] = [Put(chat.key, chat.to_item())]
        for seq, member in enumerate(members, 1):
            membership = Membership(tenant=TENANT, chat_id=chat_id, member=member)
            message = Message(
                tenant=TENANT,
                chat_id=chat_id,
                id=f"msg_{number}_{seq}",
                seq=seq,
                text="At seven?",
                sender=member,
                client_id=str(seq),
                created_at=now,
            )
            writes.append(Put(membership.key, membership.to_item(chat)))
            writes.append(Put(message.key, message.to_item()))
        if due:
            consolidation = Consolidation(tenant=TENANT, chat_id=chat_id, kind="group")
            writes.append(Put(consolidation.key, consolidation.to_item(at)))
        ports.table.transact(writes)


def turn(client: Client, seconds: float) -> Any:
    return client.ok("POST", "/local/clock", {"advance_seconds": seconds})


def drain(client: Client) -> Any:
    return client.ok("POST", "/local/drain")


def reset(client: Client) -> Any:
    return client.ok("POST", "/local/clock", {"reset": True})


def speak_by_tool(client: Client) -> None:
    """Let the demo's agent speak by `send_message`, with which it can wait for a reply."""
    admin = client.token("ops", "admin")
    [agent] = client.ok("GET", "/v1/agents", token=admin)["items"]
    client.ok("PATCH", f"/v1/agents/{agent['id']}", {"reply_mode": "tools"}, token=admin)


def offset(client: Client) -> float:
    found: float = client.ok("GET", "/local/config")["offset_seconds"]
    return found


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drain gives up sooner."""
    monkeypatch.setattr(clock_control, "DRAIN_SECONDS", SHORT_DRAIN)


# ---------------------------------------------------------------------- turning


def test_week_with_quiet_chats_fires_nothing(start: StartStack) -> None:
    client = start()
    fill(20)
    drain(client)  # which indexes the messages for recall
    done = turn(client, WEEK)["done"]
    assert done["jobs"] == {}
    assert done["fired"].get("BackgroundFinder", 0) == 0
    assert sum(done["fired"].values()) <= 8
    assert done["turned_seconds"] == WEEK


def test_week_fires_finders_once_for_the_hour_at_which_chats_are_due(start: StartStack) -> None:
    client = start()
    fill(20, consolidations=12)
    drain(client)  # which indexes the messages for recall
    done = turn(client, WEEK)["done"]
    assert done["jobs"] == {"BackgroundWorker": 12}
    assert done["fired"]["BackgroundFinder"] <= 4


@pytest.mark.slow
def test_week_with_a_thousand_due_consolidations_asks_the_model_once_for_each(
    start: StartStack, model: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.e2e.client.SECONDS", 120)
    client = start()
    fill(CHATS, consolidations=CHATS)
    drain(client)  # which indexes the messages for recall
    done = turn(client, WEEK)["done"]
    assert done["jobs"]["BackgroundWorker"] == CHATS
    assert len(model.memory_calls) == CHATS
    assert done["fired"]["BackgroundFinder"] <= 5


@pytest.mark.slow
def test_hour_and_week_with_a_thousand_chats_fire_a_few_functions(start: StartStack) -> None:
    client = start()
    fill(CHATS, consolidations=100)
    for seconds in (HOUR, WEEK):
        done = turn(client, seconds)["done"]
        assert sum(done["fired"].values()) <= 8


def test_turned_clock_shows_its_offset(start: StartStack) -> None:
    client = start()
    assert offset(client) == 0
    answer = turn(client, HOUR)
    assert answer["offset_seconds"] == offset(client) == HOUR
    config = client.ok("GET", "/local/config")
    ahead = datetime.fromisoformat(config["now"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < ahead <= timedelta(hours=1)


def test_plan_due_at_three_in_the_persons_night_sends_its_sms_at_eight(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    admin = client.token("ops", "admin")
    model.say("Hello.")
    client.text("Good evening")
    drain(client)
    [dana] = client.ok("GET", f"/v1/users?phone=%2B{client.phone[1:]}", token=admin)["items"]
    user = f"/v1/users/{dana['id']}"
    client.ok("PATCH", user, {"time_zone": "Asia/Tokyo"}, token=admin)
    [chat] = client.ok("GET", f"{user}/chats", token=admin)["items"]
    agent = f"/v1/agents/{chat['agent_id']}"
    client.ok("PATCH", agent, {"reply_mode": "tools"}, token=admin)
    now = datetime.fromisoformat(client.ok("GET", "/local/config")["now"])
    tomorrow = now.astimezone(ZoneInfo("Asia/Tokyo")).date() + timedelta(days=1)
    plan = {
        "name": "check-in",
        "instruction": "Ask Dana how she slept.",
        "scheduled_at": f"{tomorrow}T03:00",
        "time_zone": "Asia/Tokyo",
        "chat_id": chat["chat_id"],
    }
    plan_id = client.ok("POST", f"{agent}/plans{WHY}", plan, token=admin)["id"]
    plan_path = f"{agent}/plans/{plan_id}{WHY}&user_id={dana['id']}"
    three = datetime.combine(tomorrow, datetime.min.time(), ZoneInfo("Asia/Tokyo"))
    three += timedelta(hours=3)

    turn(client, (three - now).total_seconds() + HOUR)
    assert client.texts() == ["Hello."]
    waiting = client.ok("GET", plan_path, token=admin)
    assert datetime.fromisoformat(waiting["deferred_from"]) == three
    assert datetime.fromisoformat(waiting["next_at"]) == three + timedelta(hours=5)

    words = {"text": "How did you sleep?", "chat_id": chat["chat_id"]}
    model.call_tools(("send_message", words))
    turn(client, 4 * HOUR + 120)
    drain(client)
    assert client.texts() == ["Hello.", "How did you sleep?"]
    done = client.ok("GET", plan_path, token=admin)
    assert (done["status"], done["next_at"]) == ("done", None)


# ---------------------------------------------------------------------- draining


def test_drain_reports_its_work(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start(**SLOW)
    model.say("Ten.")
    client.text("How many?")
    report = drain(client)
    assert report["done"]["jobs"]["RunWorker"] >= 1
    assert report["done"]["jobs"]["SmsDelivery"] == 1
    assert report["done"]["status_callbacks"] == 3
    assert 590 < report["done"]["turned_seconds"] < 610
    assert {one["kind"] for one in report["waiting_for"]} <= {"background"}


def test_drain_does_not_turn_the_clock_past_a_wait_for_a_reply(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    speak_by_tool(client)
    model.call_tools(ASK)
    client.text("Plan my training")
    first = drain(client)
    [wait] = [one for one in first["waiting_for"] if one["kind"] == "reply"]
    assert wait["reason"] == "waiting_for_reply"
    assert wait["run_id"].startswith("run_")
    ends_in = datetime.fromisoformat(wait["until"]) - datetime.fromisoformat(first["now"])
    assert timedelta(seconds=WAIT_SECONDS - 100) < ends_in <= timedelta(seconds=WAIT_SECONDS)
    assert drain(client)["done"]["turned_seconds"] == 0

    model.call_tools(("send_message", {"text": "On Monday then."}))
    client.text("Monday")
    last = drain(client)
    assert last["done"]["turned_seconds"] < 60, "the old time-out is no reason to turn the clock"
    assert client.texts() == ["Which day?", "On Monday then."]
    assert not [one for one in last["waiting_for"] if one["kind"] == "reply"]


@pytest.mark.usefixtures("hurried")
def test_drain_gives_up_on_a_model_at_work_and_names_the_queue(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    model.say("At last.", latency=4.0)
    client.text("Hello?")
    answer = client.call("POST", "/local/drain")
    assert answer.status == 503
    error = answer.json
    assert error["detail"] == "Gave up: TurnsQueue has 1 running batch."
    assert error["details"]["done"]["jobs"]["RunWorker"] == 1
    waiting = error["details"]["waiting_for"]
    assert [one["kind"] for one in waiting] == ["run", "background"]
    assert waiting[1]["work"] == "direct_consolidation"
    assert offset(client) < 60
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not client.texts() and time.monotonic() < give_up:
        time.sleep(0.1)
    assert client.texts() == ["At last."]


def test_drain_waits_in_real_time_for_a_model_that_fails(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start(reply_debounce_seconds=0)
    model.fail(503).fail(503).say("Here I am.")  # the client itself tries twice
    client.text("Are you there?")
    began = time.monotonic()
    report = drain(client)
    assert time.monotonic() - began > 1
    assert client.texts() == ["Here I am."]
    assert report["done"]["turned_seconds"] < 1


@pytest.mark.usefixtures("hurried")
def test_drain_gives_up_on_a_model_whose_next_try_comes_too_late(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    model.fail(503).fail(503)
    client.text("Are you there?")
    answer = client.call("POST", "/local/drain")
    assert answer.status == 503
    error = answer.json
    assert error["detail"].startswith("Gave up: the model does not answer run_")
    [wait] = [one for one in error["details"]["waiting_for"] if one["kind"] == "model"]
    assert wait["reason"] == "model_unavailable"
    assert wait["until"] in error["detail"]
    assert offset(client) < 60


def test_drain_returns_at_once_if_the_key_is_refused(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    model.fail(401)
    client.text("Are you there?")
    [wait] = [one for one in drain(client)["waiting_for"] if one["kind"] == "model_settings"]
    assert wait["reason"] == "model_key_refused"
    assert offset(client) < 60


def test_drain_turns_past_no_delay_that_ends_after_a_failing_models_next_try(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start(**SLOW)
    model.fail(401)
    client.text("Are you there?")
    drain(client)
    before = offset(client)
    client.text("And I?", sender="+14155550123")
    answer = client.call("POST", "/local/drain")
    assert answer.status == 503
    assert "the clock must not be turned past" in answer.json["detail"]
    assert offset(client) == before


def test_drain_reports_plans_and_background_work_and_leaves_them(start: StartStack) -> None:
    client = start()
    admin = client.token("ops", "admin")
    [agent] = client.ok("GET", "/v1/agents", token=admin)["items"]
    plan = {"name": "stretch", "instruction": "Ask.", "run_after": "1 hour"}
    client.ok("POST", f"/v1/agents/{agent['id']}/plans", plan, token=admin)
    fill(4, consolidations=3)
    drain(client)  # which indexes the messages for recall
    report = drain(client)
    plans, background = report["waiting_for"]
    assert (plans["kind"], plans["name"]) == ("plan", "stretch")
    shown = {name: background[name] for name in ("kind", "work", "count")}
    assert shown == {"kind": "background", "work": "consolidation", "count": 3}
    assert report["done"] == {
        "jobs": {},
        "fired": {},
        "changes": {},
        "status_callbacks": 0,
        "turned_seconds": 0,
    }


# ---------------------------------------------------------------------- resetting


def test_reset_returns_to_real_time_and_new_messages_are_answered(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start(user_messages_per_minute=2)
    turn(client, WEEK)
    for number in (1, 2):
        model.say(f"Answer {number}.")
        client.text(f"Question {number}")
        drain(client)
    report = reset(client)
    assert report["offset_seconds"] == offset(client) == 0
    assert report["corrected"]["items"] > 0, "the rate limit was full until next week"
    assert datetime.fromisoformat(report["now"]) - datetime.now(UTC) < timedelta(seconds=5)
    turn(client, 60)
    model.say("Answer 3.")
    client.text("Question 3")
    drain(client)
    assert client.texts() == ["Answer 1.", "Answer 2.", "Answer 3."]
    assert offset(client) < 120


def test_reset_brings_back_work_that_waited_for_the_model(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    turn(client, WEEK)
    model.fail(401)
    client.text("Are you there?")
    drain(client)
    reset(client)
    model.say("Here I am.")
    turn(client, 120)
    assert client.texts() == ["Here I am."]


def test_reset_leaves_a_wait_for_a_reply_and_the_reply_resumes_the_run(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start()
    speak_by_tool(client)
    turn(client, WEEK)
    model.call_tools(ASK)
    client.text("Plan my training")
    drain(client)
    report = reset(client)
    [wait] = [one for one in report["waiting_for"] if one["kind"] == "reply"]
    assert datetime.fromisoformat(wait["until"]) - datetime.now(UTC) > timedelta(days=6)
    model.call_tools(("send_message", {"text": "On Monday then."}))
    client.text("Monday")
    drain(client)
    assert client.texts() == ["Which day?", "On Monday then."]


def test_reset_makes_schedules_fire_by_real_time(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start()
    turn(client, WEEK)
    reset(client)
    fill(1, consolidations=1)
    drain(client)  # which indexes the messages for recall
    assert turn(client, 8 * HOUR)["done"]["jobs"] == {"BackgroundWorker": 1}
    assert len(model.memory_calls) == 1


@pytest.mark.parametrize(
    "body", [{"reset": False}, {"reset": "yes"}, {"reset": True, "advance_seconds": 1}]
)
def test_reset_with_another_value_is_refused(client: Client, body: dict[str, object]) -> None:
    answer = client.call("POST", "/local/clock", body)
    assert answer.status == 400
    assert answer.json["detail"] == "`reset` must be true, and the only field."
