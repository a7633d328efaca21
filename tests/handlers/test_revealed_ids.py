"""Ids that people see name no private chat of others, and tell nobody who opened a chat."""

import json
from typing import Any

import pytest

from skein.models.common.reason import Reason, reason_attributes
from skein.models.common.storage import Update
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from tests.support.agents import AHMAD, COACH, HUSAM, asked_by_service, settle, stage
from tests.support.api_client import CHAT_CALLS, Answer, Client, operator
from tests.support.builders import TENANT, World
from tests.support.fakes import calls, says

SECRET = "chat_secret"
OPEN = "chat_1"
MESSAGES = f"/v1/chats/{OPEN}/messages"
GROUP = "chat_group"
MESSAGES_OF_GROUP = f"/v1/chats/{GROUP}/messages"


@pytest.fixture
def world() -> World:
    """An open group, a private one that Ahmad is not in yet, and a direct chat with Husam."""
    world = stage()
    world.known(AHMAD)
    world.chat(HUSAM, AHMAD, COACH, respond="mention")
    world.chat(HUSAM, COACH, chat_id=GROUP, respond="mention", visibility="private")
    world.chat(HUSAM, COACH, chat_id=SECRET, kind="direct", visibility="private")
    return world


def told_in_private(world: World, **arguments: Any) -> None:
    """In the direct chat, Husam has the agent say something in his group; then Ahmad joins it."""
    world.model.script.append(says("The numbers are late", chat_id=GROUP, **arguments))
    world.post("Tell them that the numbers are late", HUSAM, chat_id=SECRET)
    settle(world)
    assert world.texts(GROUP)[-1] == "The numbers are late"
    ahmad_joins(world)


def ahmad_joins(world: World) -> None:
    world.add(AHMAD, chat_id=GROUP)


def ahmad(world: World) -> Client:
    return Client(world, sub=AHMAD.id, claims={"name": AHMAD.name})


def newest(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = answer.body["items"][-1]
    return message


@pytest.mark.parametrize("wait", [False, True])
def test_message_sent_from_private_chat_hides_run_and_chat_ids(world: World, wait: bool) -> None:
    told_in_private(world, wait=wait)
    stored = world.messages(GROUP)[-1]
    assert stored.run_id is not None
    assert SECRET in stored.run_id
    assert SECRET in stored.client_id

    first, again = (newest(ahmad(world).get(MESSAGES_OF_GROUP)) for _ in range(2))

    assert first == again
    assert first["run_id"] is None
    assert first["client_id"] not in {stored.client_id, stored.run_id}
    assert stored.run_id.split("_")[1] not in json.dumps(first)


def test_member_calls_never_reveal_the_id_of_anothers_private_chat(world: World) -> None:
    told_in_private(world, wait=True)
    world.app.chat_admin.set_role(TENANT, GROUP, HUSAM.ref, AHMAD.ref, "owner")
    world.post("@Coach, and?", AHMAD, chat_id=GROUP)
    client = ahmad(world)
    paths = [("GET", "/v1/chats", None), ("GET", "/v1/me", None)]
    for method, path, body in [*paths, *CHAT_CALLS]:
        if method != "DELETE" and "usr_stranger" not in path:
            answer = client.call(method, path.format(chat=GROUP), body)
            assert answer.status < 300, path
            assert SECRET not in json.dumps(answer.body), path
    assert client.get(f"/v1/chats/{SECRET}").status == 404


def test_message_said_by_run_of_the_same_chat_names_its_run(world: World) -> None:
    world.model.script.append(says("Soon"))
    world.post("@Coach, when?", AHMAD)
    settle(world)
    [run] = world.runs()
    message = newest(ahmad(world).get(MESSAGES))
    assert (message["text"], message["run_id"]) == ("Soon", run.id)
    assert run.id not in message["client_id"]


def test_message_said_by_run_without_a_chat_names_no_run(world: World) -> None:
    world.model.script.append(says("A build has failed", chat_id=OPEN))
    run = asked_by_service(world)
    settle(world)
    message = newest(ahmad(world).get(MESSAGES))
    assert (message["text"], message["run_id"]) == ("A build has failed", None)
    assert run.id not in json.dumps(message)


def test_every_agents_message_has_a_client_id_of_its_own(world: World) -> None:
    world.model.script.append(
        calls(*(("send_message", {"text": text, "chat_id": GROUP}) for text in "abc"))
    )
    world.post("Tell them", HUSAM, chat_id=SECRET)
    settle(world)
    ahmad_joins(world)
    ids = [item["client_id"] for item in ahmad(world).get(MESSAGES_OF_GROUP).body["items"]]
    assert len(set(ids)) == len(ids) == 3


def test_persons_client_id_stays_as_posted(world: World) -> None:
    Client(world).post(MESSAGES, {"text": "Hi", "client_id": "my own"})
    for client in (Client(world), ahmad(world)):
        assert newest(client.get(MESSAGES))["client_id"] == "my own"


def test_respond_now_reveals_neither_the_canceler_nor_the_trace_of_a_run(world: World) -> None:
    path = f"/v1/chats/{OPEN}/runs"
    run_id = ahmad(world).post(path, {"all": True}).body["items"][0]["id"]
    trigger = Trigger(type="chat_message", seq=1, from_seq=1, by=COACH.ref, traced_to=HUSAM.id)
    change = {
        "error": f"stopped by run_1_{SECRET}",
        "trigger": trigger.model_dump(mode="json"),
        "merged_into": f"run_1_{SECRET}",
        **reason_attributes(Reason.ATTEMPT_FAILED, world.clock.now()),
    }
    world.table.write(Update(Run.key_of(TENANT, run_id), set=change))

    told = ahmad(world).post(path, {"all": True}).body["items"][0]
    known = operator(world).get(f"/v1/runs/{run_id}").body

    assert (told["id"], told["error"], told["trigger"]["traced_to"]) == (run_id, None, None)
    hidden = (told["reason"], told["meaning"], told["reasons"], told["merged_into"])
    assert hidden == (None, None, [], None)
    assert known["error"] == change["error"]
    assert known["merged_into"] == change["merged_into"]


def test_export_of_a_person_names_no_run_of_another_chat(world: World) -> None:
    world.chat(AHMAD, COACH, chat_id="chat_ahmad", kind="direct", visibility="private")
    world.known(AHMAD)
    world.model.script.append(says("As you wished", chat_id="chat_ahmad"))
    world.post("@Coach, write to me alone", AHMAD)
    settle(world)
    [run] = world.runs()
    assert world.texts("chat_ahmad") == ["As you wished"]
    exported = operator(world).get(f"/v1/users/{AHMAD.id}/export").body
    assert run.id not in json.dumps(exported["messages"])


def test_prompt_in_another_chat_shows_a_group_wait_without_the_direct_chats_id(
    world: World,
) -> None:
    told_in_private(world, wait=True)
    [waiting] = world.runs(SECRET)
    assert waiting.status == "waiting"
    world.chat(AHMAD, COACH, chat_id="chat_2", title="Beside", visibility="private")
    world.model.script.append(calls("get_my_runs"))
    world.post("What are you at?", AHMAD, chat_id="chat_2")
    settle(world)
    prompt = world.model.prompt
    assert '  - waiting for a reply by Husam or Ahmad in "Project Alpha"\n' in prompt
    assert SECRET not in prompt
    assert SECRET not in "".join(world.model.told)


def test_agent_in_the_private_chat_itself_is_told_the_id_of_its_waiting_run(world: World) -> None:
    told_in_private(world, wait=True)
    [waiting] = world.runs(SECRET)
    world.post("And?", HUSAM, chat_id=SECRET)
    settle(world)
    line = f'  - waiting for a reply by Husam or Ahmad in "Project Alpha" (id: {waiting.id})\n'
    assert line in world.model.prompt
