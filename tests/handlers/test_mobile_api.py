"""The HTTP API for people in chats, through the gateway's own event shapes."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skein.errors import Contention
from skein.models.common.person_names import tagged
from tests.support.api_client import Client, operator, recorded
from tests.support.builders import TENANT, World, bot, person

ROOT = Path(__file__).resolve().parents[2]
HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
MESSAGES = "/v1/chats/chat_1/messages"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(HUSAM, AHMAD, bot())
    return world


# ---------------------------------------------------------------------- the directory


def test_directory_lists_agents_that_operators_list(world: World, husam: Client) -> None:
    admin = operator(world)
    assert husam.get("/v1/agents/directory").body == {"items": [], "next_cursor": None}
    new = {"name": "Cook", "listed": True, "description": " Knows recipes "}
    cook = admin.post("/v1/agents", new).body["id"]
    admin.post("/v1/agents", {"name": "Hidden", "description": "Works elsewhere"})
    admin.patch("/v1/agents/agt_a", {"listed": True})
    assert husam.get("/v1/agents/directory").body["items"] == [
        {"id": cook, "name": "Cook", "description": "Knows recipes"},
        {"id": "agt_a", "name": "Coach", "description": None},
    ]


def test_directory_after_a_change_of_an_agent_shows_the_change(world: World, husam: Client) -> None:
    admin = operator(world)
    admin.patch("/v1/agents/agt_a", {"listed": True, "description": "Coaches"})
    admin.patch("/v1/agents/agt_a", {"name": "Trainer", "description": None})
    [entry] = husam.get("/v1/agents/directory").body["items"]
    assert entry == {"id": "agt_a", "name": "Trainer", "description": None}


@pytest.mark.parametrize("ending", ["unlist", "delete"])
def test_directory_after_an_agent_is_unlisted_or_deleted_omits_it(
    world: World, husam: Client, ending: str
) -> None:
    admin = operator(world)
    admin.patch("/v1/agents/agt_a", {"listed": True})
    if ending == "unlist":
        admin.patch("/v1/agents/agt_a", {"listed": False})
    else:
        admin.delete("/v1/agents/agt_a")
    assert husam.get("/v1/agents/directory").body["items"] == []


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_directory_in_pages_lists_each_agent_once(world: World, husam: Client, limit: int) -> None:
    admin = operator(world)
    made = [
        admin.post("/v1/agents", {"name": f"Bot {n}", "listed": True}).body["id"] for n in range(5)
    ]
    listed = husam.all_pages("/v1/agents/directory", limit=limit)
    assert [entry["id"] for entry in listed] == made


# ---------------------------------------------------------------------- read marks


def test_members_are_listed_with_their_read_marks(
    world: World, husam: Client, ahmad: Client
) -> None:
    for number in range(3):
        husam.post(MESSAGES, {"text": f"Message {number}", "client_id": str(number)})
    ahmad.post("/v1/chats/chat_1/read", {"seq": 2})
    assert husam.get("/v1/chats/chat_1/members").body == {
        "items": [
            {"kind": "agent", "id": "agt_a", "name": "Coach"}
            | {"state": "member", "role": "member", "seen_seq": 0},
            {"kind": "user", "id": "usr_ahmad", "name": "Ahmad"}
            | {"state": "member", "role": "member", "seen_seq": 2},
            {"kind": "user", "id": "usr_husam", "name": "Husam"}
            | {"state": "member", "role": "owner", "seen_seq": 3},
        ],
        "next_cursor": None,
    }
    ahmad.post("/v1/chats/chat_1/read", {"seq": 1})
    world.model.script.append("I read it all")
    world.drain()
    marks = {
        each["id"]: each["seen_seq"] for each in ahmad.get("/v1/chats/chat_1/members").body["items"]
    }
    assert (marks["usr_ahmad"], marks["agt_a"]) == (2, 3)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_members_in_pages_are_listed_once(husam: Client, limit: int) -> None:
    members = husam.all_pages("/v1/chats/chat_1/members", limit=limit)
    assert [each["id"] for each in members] == ["agt_a", "usr_ahmad", "usr_husam"]


def test_members_who_have_left_or_been_renamed_are_listed_as_they_are_now(
    world: World, husam: Client, ahmad: Client
) -> None:
    world.known(HUSAM, AHMAD)
    ahmad.delete("/v1/chats/chat_1/members/user/usr_ahmad")
    husam.patch("/v1/me", {"name": "Sam"})
    world.clock.advance(60)
    world.drain()
    names = [each["name"] for each in husam.get("/v1/chats/chat_1/members").body["items"]]
    assert names == ["Coach", tagged("Sam", TENANT, HUSAM.id)]
    assert ahmad.get("/v1/chats/chat_1/members").status == 404


# ---------------------------------------------------------------------- a conversation


def test_the_recorded_event_posts_a_message(world: World) -> None:
    answer = Client(world).send(recorded("mobile_api"))
    assert answer.status == 201
    assert world.texts() == ["Let's finalize the Q4 report"]


def test_a_message_comes_back_with_every_field(husam: Client) -> None:
    answer = husam.post(MESSAGES, {"text": "Hello", "client_id": "a"})
    assert answer.status == 201
    assert answer.body.pop("id").startswith("msg_")
    assert answer.body == {
        "chat_id": "chat_1",
        "seq": 1,
        "kind": "text",
        "text": "Hello",
        "sender": {"kind": "user", "id": "usr_husam", "name": "Husam"},
        "client_id": "a",
        "reply_to": None,
        "choice": None,
        "via": None,
        "media": [],
        "sharing_rules": [],
        "sources": [],
        "run_id": None,
        "created_at": "2026-02-18T12:00:00.000Z",
    }
    assert answer.raw["headers"] == {"Content-Type": "application/json"}


def test_a_repeated_client_id_answers_200_with_the_same_body(husam: Client) -> None:
    first = husam.post(MESSAGES, {"text": "Hello", "client_id": "a"})
    husam.post(MESSAGES, {"text": "More", "client_id": "b", "reply_to": 1})
    again = husam.post(MESSAGES, {"text": "Hello", "client_id": "a"})
    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body
    assert [item["text"] for item in husam.get(MESSAGES).body["items"]] == ["Hello", "More"]


def test_concurrent_posts_each_get_their_own_message(world: World) -> None:
    people = [Client(world), Client(world, sub=AHMAD.id, claims={})]

    def post(number: int) -> Any:
        who = people[number % 2]
        return who.post(MESSAGES, {"text": f"{who.sub} {number}", "client_id": str(number)}).body

    with ThreadPoolExecutor(8) as pool:
        bodies = list(pool.map(post, range(24)))
    assert sorted(body["seq"] for body in bodies) == list(range(1, 25))
    assert all(body["text"].startswith(body["sender"]["id"]) for body in bodies)


def test_a_chat_from_its_beginning_to_its_end(world: World) -> None:
    husam = Client(world)
    members = [{"kind": "agent", "id": "agt_a"}]
    opened = husam.post("/v1/chats", {"title": "Beta", "kind": "group", "members": members})
    assert opened.status == 201
    chat = f"/v1/chats/{opened.body['id']}"
    assert opened.body | {"id": "?"} == {
        "id": "?",
        "title": "Beta",
        "kind": "group",
        "visibility": "open",
        "respond": "every",
        "consolidate": None,
        "summary": None,
        "last_seq": 0,
        "last_message_at": None,
        "members": [
            {
                "kind": "user",
                "id": "usr_husam",
                "name": "Husam",
                "state": "member",
                "role": "owner",
            },
            {"kind": "agent", "id": "agt_a", "name": "Coach", "state": "member", "role": "member"},
        ],
        "created_at": "2026-02-18T12:00:00.000Z",
        "discarded_at": None,
    }
    assert husam.patch(chat, {"title": "Gamma", "respond": "mention"}).body["title"] == "Gamma"
    assert husam.put(f"{chat}/members/user/usr_ahmad").status == 404
    world.known(person("usr_ahmad", "Ahmad"))
    added = husam.put(f"{chat}/members/user/usr_ahmad")
    assert (added.status, len(added.body["members"])) == (200, 3)
    assert Client(world, sub="usr_ahmad").post(f"{chat}/invitation", {"accept": True}).status == 204
    assert husam.delete(f"{chat}/members/agent/agt_a").status == 204
    assert husam.post(f"{chat}/messages", {"text": "Hi", "client_id": "1"}).status == 201
    assert Client(world, sub="usr_ahmad").get(chat).body["unread"] == 1

    gone = husam.delete(chat)
    assert (gone.status, gone.body) == (204, None)
    assert husam.delete(chat).status == 204
    assert husam.get(chat).body["discarded_at"] == "2026-02-18T12:00:00.000Z"
    assert husam.get(f"{chat}/messages").status == 200
    refused = husam.post(f"{chat}/messages", {"text": "Hi?", "client_id": "2"})
    assert (refused.status, refused.code) == (409, "conflict")
    assert husam.patch(chat, {"title": "Delta"}).status == 409
    assert opened.body["id"] not in [item["id"] for item in husam.all_pages("/v1/chats")]


def test_list_of_chats_has_unread_counts_and_last_senders(husam: Client, ahmad: Client) -> None:
    husam.post(MESSAGES, {"text": "One", "client_id": "1"})
    husam.post(MESSAGES, {"text": "Two", "client_id": "2"})
    [item] = ahmad.get("/v1/chats").body["items"]
    assert item["unread"] == 2
    assert item["last_message"] == {
        "seq": 2,
        "text": "Two",
        "sender": {"kind": "user", "id": "usr_husam", "name": "Husam"},
        "created_at": "2026-02-18T12:00:00.000Z",
    }
    assert item["last_message_at"] == item["last_message"]["created_at"]
    read = ahmad.post("/v1/chats/chat_1/read", {"seq": 1})
    assert (read.status, read.body) == (200, {"seen_seq": 1, "unread": 1})
    assert ahmad.post("/v1/chats/chat_1/read", {"seq": 0}).body == {"seen_seq": 1, "unread": 1}
    assert ahmad.post("/v1/chats/chat_1/read", {"seq": 9}).body == {"seen_seq": 2, "unread": 0}
    assert [chat["unread"] for chat in husam.get("/v1/chats").body["items"]] == [0]


def test_messages_are_paged_forward_and_backward(husam: Client) -> None:
    for number in range(1, 8):
        husam.post(MESSAGES, {"text": "Hi", "client_id": str(number)})
    newer = [item["seq"] for item in husam.all_pages(MESSAGES, after=2, limit=2)]
    assert newer == [3, 4, 5, 6, 7]
    older = husam.get(MESSAGES, before=6, limit=3)
    assert [item["seq"] for item in older.body["items"]] == [3, 4, 5]


def test_delete_of_an_own_message_answers_204_at_the_first_call(husam: Client) -> None:
    husam.post(MESSAGES, {"text": "Hi", "client_id": "1"})
    assert husam.delete(f"{MESSAGES}/1").status == 204
    assert [(one["kind"], one["text"]) for one in husam.get(MESSAGES).body["items"]] == [
        ("deleted", "")
    ]


def test_respond_now_answers_202_with_the_run(husam: Client) -> None:
    for wish in ({"agent_id": "agt_a"}, {"all": True}):
        answer = husam.post("/v1/chats/chat_1/runs", wish)
        assert answer.status == 202
        [run] = answer.body["items"]
        assert (run["agent_id"], run["status"]) == ("agt_a", "queued")
        assert run["trigger"]["by"] == {"kind": "user", "id": "usr_husam"}
        assert (run["prompt"], run["steps"]) == (None, [])


def test_me_is_the_record_or_else_the_claims_of_the_token(world: World, husam: Client) -> None:
    expected: dict[str, Any] = {
        "id": "usr_husam",
        "name": "Husam",
        "name_source": "given",
        "phones": [],
        "time_zone": None,
        "quiet_hours": None,
        "profile": {},
        "tenant": TENANT,
        "scopes": ["chat"],
        "operators_read_chats": {"on": True, "since": None},
    }
    assert husam.get("/v1/me").body == expected
    operator(world).post("/v1/users", {"id": "usr_husam", "name": "Husam B."})
    assert husam.get("/v1/me").body == expected | {"name": "Husam B."}


def test_health_needs_no_token(world: World) -> None:
    event = recorded("api_docs")
    event["rawPath"] = event["requestContext"]["http"]["path"] = "/healthz"
    answer = Client(world).send(event)
    assert (answer.status, answer.body) == (200, {"status": "ok", "paused": []})


# ---------------------------------------------------------------------- our own faults


def test_contention_is_503(world: World, husam: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(_writes: Any) -> None:
        raise Contention("table acme-prod")

    monkeypatch.setattr(world.table, "transact", lose)
    answer = husam.post(MESSAGES, {"text": "Hi", "client_id": "1"})
    assert (answer.status, answer.code) == (503, "unavailable")
    assert "acme-prod" not in json.dumps(answer.body)


def test_unexpected_error_is_500_and_logged_without_message_texts(
    world: World,
    husam: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "a very private thing"

    def break_down(_writes: Any) -> None:
        raise RuntimeError(f"while storing: {secret}")

    monkeypatch.setattr(world.table, "transact", break_down)
    with caplog.at_level(logging.ERROR, logger="skein"):
        answer = husam.post(MESSAGES, {"text": secret, "client_id": "1"})
    assert (answer.status, answer.code) == (500, "internal")
    [record] = caplog.records
    logged = caplog.handler.format(record)
    assert "unexpected RuntimeError" in logged
    assert "in break_down" in logged
    assert secret not in logged + json.dumps(answer.body)


def test_request_identity_does_not_carry_over_to_the_next_request(
    world: World, husam: Client
) -> None:
    assert husam.get("/v1/me").body["id"] == "usr_husam"
    assert Client(world, sub="").get("/v1/me").status == 401
    assert Client(world, sub="usr_ahmad").get("/v1/me").body["id"] == "usr_ahmad"


# ---------------------------------------------------------------------- limits


def test_post_over_the_rate_limit_is_429_with_retry_after(world: World, husam: Client) -> None:
    for n in range(20):
        assert husam.post(MESSAGES, {"text": "Hi", "client_id": str(n)}).status == 201
    refused = husam.post(MESSAGES, {"text": "Hi", "client_id": "20"})
    assert (refused.status, refused.code) == (429, "rate_limited")
    assert refused.raw["headers"]["retry-after"] == "3"
    assert refused.body["details"] == {"retry_after_seconds": 3}
    assert len(world.texts()) == 20
    world.clock.advance(3)
    assert husam.post(MESSAGES, {"text": "Hi", "client_id": "20"}).status == 201


def test_repeated_post_over_the_rate_limit_returns_the_message(world: World, husam: Client) -> None:
    first = husam.post(MESSAGES, {"text": "Hi", "client_id": "0"})
    for n in range(1, 20):
        husam.post(MESSAGES, {"text": "Hi", "client_id": str(n)})
    again = husam.post(MESSAGES, {"text": "Hi", "client_id": "0"})
    assert (again.status, again.body) == (200, first.body)


def test_a_wish_for_an_answer_counts_as_a_message(world: World, husam: Client) -> None:
    wish = {"agent_id": "agt_a"}
    answers = [husam.post("/v1/chats/chat_1/runs", wish).status for _ in range(21)]
    assert answers == [202] * 20 + [429]


def test_rate_limit_of_one_person_does_not_affect_others(
    world: World, husam: Client, ahmad: Client
) -> None:
    for n in range(21):
        husam.post(MESSAGES, {"text": "Hi", "client_id": str(n)})
    assert ahmad.post(MESSAGES, {"text": "Hi", "client_id": "1"}).status == 201
    assert husam.get(MESSAGES).status == 200
