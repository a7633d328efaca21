"""A reminder that a person asks for by SMS: it comes due with context, and arrives by SMS."""

from urllib.parse import quote

from tests.e2e.client import Client
from tests.e2e.conftest import StartStack
from tests.support.scripted_openai import ScriptedOpenAI

DAY = 86_400
REMIND = {"name": "stretch", "instruction": "Remind Dana to stretch", "run_after": "1 day"}
NO_QUIET_HOURS = '{"from": "00:00", "to": "00:00"}'
BACK = {"text": "Dana has a stiff back.", "kind": "core"}


def coach(client: Client, admin: str) -> str:
    """Let the demo's agent set plans; returns its id."""
    [agent] = client.ok("GET", "/v1/agents", token=admin)["items"]
    tools = {"enabled_tools": ["send_message", "save_memory", "set_plan"]}
    client.ok("PATCH", f"/v1/agents/{agent['id']}", tools, token=admin)
    agent_id: str = agent["id"]
    return agent_id


def know_dana(client: Client, admin: str) -> str:
    """Give the person on the phone a name and a profile; returns the person's id."""
    [user] = client.ok("GET", f"/v1/users?phone={quote(client.phone)}", token=admin)["items"]
    told = {"name": "Dana", "profile": {"goals": "touch my toes"}}
    path = f"/v1/users/{user['id']}?reason=The+complaint+4711"
    client.ok("PATCH", path, told, token=admin)
    user_id: str = user["id"]
    return user_id


def test_reminder_set_by_sms_is_sent_to_its_person_by_sms(
    start: StartStack, model: ScriptedOpenAI
) -> None:
    client = start(quiet_hours=NO_QUIET_HOURS)
    admin = client.token("ops", "admin")
    agent = coach(client, admin)
    model.say("Hello! Sitting is hard on the back.")
    client.text("I sit all day")
    client.drain()
    dana = know_dana(client, admin)
    model.call_tools(("save_memory", BACK), ("set_plan", REMIND)).say("I will.")
    client.text("Remind me tomorrow to stretch")
    client.drain()
    before = len(model.calls)
    model.say("Time to stretch, Dana!")
    client.turn(DAY + 60)
    client.drain()
    [call] = model.calls[before:]
    prompt = "\n".join(str(message["content"]) for message in call.body["messages"])
    for part in (
        "I sit all day",
        "Remind me tomorrow to stretch",
        "touch my toes",
        "Dana has a stiff back.",
        "Remind Dana to stretch",
        'Your plan "stretch", set by Dana, was due at ',
    ):
        assert part in prompt
    assert client.texts()[-1] == "Time to stretch, Dana!"
    path = f"/v1/agents/{agent}/runs?reason=The+complaint+4711"
    [run, *_] = client.ok("GET", path, token=admin)["items"]
    assert (run["status"], run["trigger"]["type"]) == ("done", "plan")
    assert run["trigger"]["traced_to"] == dana
    assert run["chat_id"] is not None


def test_reminder_after_stop_sends_no_sms(start: StartStack, model: ScriptedOpenAI) -> None:
    client = start(quiet_hours=NO_QUIET_HOURS)
    admin = client.token("ops", "admin")
    agent = coach(client, admin)
    model.say("Hello!")
    client.text("Hello")
    client.drain()
    dana = know_dana(client, admin)
    path = f"/v1/agents/{agent}/plans?reason=The+complaint+4711"
    client.ok("POST", path, REMIND | {"user_id": dana}, token=admin)
    client.text("STOP")
    client.drain()
    sent = client.texts()
    model.default = "Time to stretch, Dana!"
    client.turn(DAY + 60)
    client.drain()
    assert client.texts() == sent
