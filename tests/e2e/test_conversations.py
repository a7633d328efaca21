"""The README's conversations: texts and API calls go in, answers come out."""

from typing import Any

from skein.prompts import render
from tests.e2e.client import LINE, Client
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import DEFAULT_MODELS, ScriptedOpenAI


def test_a_text_gets_an_answer_from_the_model(client: Client, model: ScriptedOpenAI) -> None:
    model.say("Ten, with a straight back.")
    answer = client.text("How many push-ups?")
    assert (answer["status"], answer["body"]) == (200, "<Response/>")
    client.drain()
    (sms,) = client.ok("GET", f"/local/sms?to={client.phone}")["items"]
    assert (sms["from"], sms["to"]) == (LINE, client.phone)
    assert (sms["body"], sms["status"]) == ("Ten, with a straight back.", "delivered")
    assert "How many push-ups?" in model.prompts()[0][-1]["content"]


def test_the_next_text_is_answered_with_the_first_in_mind(
    client: Client, model: ScriptedOpenAI
) -> None:
    model.say("Ten.").say("Twenty.")
    client.text("How many push-ups?")
    client.drain()
    client.text("And squats?")
    client.drain()
    assert client.texts() == ["Ten.", "Twenty."]
    roles = [message["role"] for message in model.prompts()[1] if message["role"] != "system"]
    assert roles == ["user", "assistant", "user"]


def test_after_half_an_hour_or_a_wish_to_start_over_a_new_session_begins(
    client: Client, model: ScriptedOpenAI
) -> None:
    model.say("Ten.").say("Twenty.").say("Why not?")
    client.text("How many push-ups?")
    client.drain()
    client.turn(1_800)
    client.text("And squats?")
    client.drain()
    asked = len(model.prompts())
    client.text("Start over!")
    client.drain()
    assert len(model.prompts()) == asked
    client.text("Is tennis good for me?")
    client.drain()
    reset = render("session_reset")
    assert client.texts() == ["Ten.", "Twenty.", reset, "Why not?"]
    *_, second, third = (
        "\n".join(message["content"] for message in prompt) for prompt in model.prompts()
    )
    assert "push-ups" not in second
    assert "They have spoken." in second  # the summary of what was said before
    assert "squats" not in third
    assert "They have spoken." not in third


def test_a_text_that_twilio_sends_twice_is_answered_once(
    client: Client, model: ScriptedOpenAI
) -> None:
    model.say("Ten.")
    first = client.text("How many push-ups?", message_sid="SM1")
    client.drain()
    second = client.text("How many push-ups?", message_sid="SM1")
    client.drain()
    assert first == second
    assert client.texts() == ["Ten."]


def test_a_burst_of_texts_becomes_one_answer_that_has_read_them_all(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start(reply_debounce_seconds=600, reply_debounce_max_seconds=900)
    client.text("Hi")
    client.turn(400)
    client.text("it's me")
    client.turn(400)
    client.text("from the gym")
    assert not model.calls
    model.say("Hello to all three.")
    client.turn(101)
    assert client.texts() == ["Hello to all three."]
    (prompt,) = model.prompts()
    asked = " ".join(message["content"] for message in prompt if message["role"] == "user")
    assert all(text in asked for text in ("Hi", "it's me", "from the gym"))


def test_over_the_limit_one_notice_comes_and_then_silence_until_there_is_room(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    waits = {"reply_debounce_seconds": 600, "reply_debounce_max_seconds": 600}
    client = start(user_messages_per_minute=2, **waits)
    model.say("Ten.").say("Twenty.")
    for text in ("How many?", "Push-ups, I mean", "Hello?", "Anybody?"):
        client.text(text)
    client.drain()
    notice, answer = client.texts()
    assert answer == "Ten."
    assert "a minute" in notice
    client.turn(61)
    client.text("And squats?")
    client.drain()
    assert client.texts() == [notice, answer, "Twenty."]


def test_people_and_agents_talk_through_the_api(client: Client, model: ScriptedOpenAI) -> None:
    model.say("Revenue rose.")
    admin, husam = client.token("ops", "admin"), client.token("husam", "chat")
    agent = client.ok("POST", "/v1/agents", {"name": "Analyst", "listed": True}, token=admin)
    chat = _chat(client, husam, agent["id"])
    path = f"/v1/chats/{chat['id']}/messages"
    question = {"text": "How was the quarter?", "client_id": "1"}
    first = client.call("POST", path, question, token=husam)
    again = client.call("POST", path, question, token=husam)
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json
    client.drain()
    messages = client.ok("GET", path, token=husam)["items"]
    assert [(m["seq"], m["sender"]["kind"], m["text"]) for m in messages] == [
        (1, "user", "How was the quarter?"),
        (2, "agent", "Revenue rose."),
    ]
    assert client.call("GET", path, token=client.token("stranger")).status == 404
    assert client.call("GET", "/v1/agents", token=husam).status == 403


def test_a_model_that_is_down_for_a_while_only_delays_the_answer(
    client: Client, model: ScriptedOpenAI
) -> None:
    model.fail(503).fail(503).say("Here I am again.")
    client.text("Are you there?")
    client.drain()
    assert client.texts() == ["Here I am again."]


def test_sender_of_stop_receives_nothing_until_start(client: Client, model: ScriptedOpenAI) -> None:
    client.text("STOP")
    client.drain()
    client.turn(3600)
    assert client.texts() == []
    client.text("START")
    model.say("Welcome back.")
    client.text("Hello again")
    client.drain()
    assert client.texts() == ["Welcome back."]


def test_a_phone_that_twilio_refuses_gets_no_more_tries(
    client: Client, model: ScriptedOpenAI
) -> None:
    unsubscribed = "+15005550004"
    model.say("You will not see this.")
    client.text("Hi", sender=unsubscribed)
    client.drain()
    client.turn(3600)
    assert client.texts(unsubscribed) == []


def _chat(client: Client, token: str, agent_id: str) -> Any:
    members = [{"kind": "agent", "id": agent_id}]
    new = {
        "title": "Project Alpha",
        "kind": "direct",
        "visibility": "private",
        "members": members,
    }
    return client.ok("POST", "/v1/chats", new, token=token)


def test_agent_with_a_model_that_the_api_does_not_list_has_a_warning(client: Client) -> None:
    operator = client.token("ops", "admin", tenant="models")
    create = {"name": "Coach", "model": "gtp-4"}
    agent = client.ok("POST", "/v1/agents", create, token=operator)
    assert [warning["code"] for warning in agent["warnings"]] == ["unlisted_model"]
    listed = client.ok(
        "PATCH", f"/v1/agents/{agent['id']}", {"model": DEFAULT_MODELS[0]}, token=operator
    )
    assert listed["warnings"] == []
