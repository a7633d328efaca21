"""What the HTTP API for people in chats does with input that does not fit."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import admin_api
from tests.support.api_client import (
    CHAT_CALLS,
    PROBLEM_FIELDS,
    Client,
    Context,
    everything,
    recorded,
)
from tests.support.builders import World, bot, person
from tests.support.examples import examples

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
MESSAGES = "/v1/chats/chat_1/messages"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(HUSAM, AHMAD, bot())
    return world


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "Hi"},
        {"client_id": "1"},
        {"text": "", "client_id": "1"},
        {"text": "  \n ", "client_id": "1"},
        {"text": "x" * 20_001, "client_id": "1"},
        {"text": "Hi", "client_id": ""},
        {"text": "Hi", "client_id": "x" * 129},
        {"text": 7, "client_id": "1"},
        {"text": ["Hi"], "client_id": "1"},
        {"text": "Hi", "client_id": "1", "sender": "usr_ahmad"},
        {"text": "Hi", "client_id": "1", "reply_to": 1},
        {"text": "Hi", "client_id": "1", "reply_to": 0},
        {"text": "Hi", "client_id": "1", "reply_to": 10**30},
        {"text": "Hi \0", "client_id": "1"},
        {"text": "Hi", "client_id": "\0"},
    ],
)
def test_values_that_do_not_fit_are_422_and_store_nothing(
    world: World, husam: Client, body: dict[str, Any]
) -> None:
    answer = husam.post(MESSAGES, body)
    assert (answer.status, answer.code) == (422, "unprocessable")
    assert world.texts() == []


def test_reason_of_a_value_that_is_no_list_names_a_list(husam: Client) -> None:
    answer = husam.post("/v1/chats", {"title": "A", "members": "usr_ahmad"})
    reasons = answer.body["details"]["reasons"]
    assert {"where": ["body", "members"], "why": "Input should be a valid list"} in reasons


def test_validation_error_names_field_and_cause_but_not_the_value(husam: Client) -> None:
    answer = husam.post(MESSAGES, {"text": "secret" * 5_000, "client_id": "1"})
    [reason] = answer.body["details"]["reasons"]
    assert reason["where"] == ["body", "text"]
    assert "20000" in reason["why"]
    assert "secret" not in json.dumps(answer.body)


def test_error_is_a_problem_with_the_id_of_the_request_in_the_logs(husam: Client) -> None:
    answer = husam.get("/v1/chats/chat_unknown")
    assert answer.raw["headers"]["content-type"] == "application/problem+json"
    assert answer.body == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "chat not found",
        "code": "not_found",
        "details": {},
        "request_id": Context.aws_request_id,
    }


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "null",
        "[]",
        '[{"text": "Hi", "client_id": "1"}]',
        '"text"',
        "7",
        "{",
        "{'text': 'Hi'}",
        '{"text": "\\ud800", "client_id": "1"}',
        '{"text": NaN, "client_id": "1"}',
        '{"text": "Hi", "client_id": "1"} trailing',
        "\ud800",
        "[" * 100_000,
        b'{"text": "\xff", "client_id": "1"}',
        b"\xc3\x28",
        b"\x00\x01",
    ],
)
def test_body_that_is_not_a_json_object_is_400_and_stores_nothing(
    world: World, husam: Client, raw: str | bytes
) -> None:
    answer = husam.call("POST", MESSAGES, raw=raw)
    assert answer.status in ({422} if raw == "" else {400})
    assert set(answer.body) == PROBLEM_FIELDS
    assert world.texts() == []


def test_a_body_in_base64_is_decoded(world: World, husam: Client) -> None:
    raw = json.dumps({"text": "مرحبا", "client_id": "1"}, ensure_ascii=False).encode()
    assert husam.call("POST", MESSAGES, raw=raw).status == 201
    assert world.texts() == ["مرحبا"]


def test_body_marked_as_base64_must_be_base64(world: World, husam: Client) -> None:
    event = recorded("mobile_api") | {"isBase64Encoded": True}
    assert husam.send(event).status == 400
    assert world.texts() == []


@pytest.mark.parametrize("size", [262_145, 3_000_000])
def test_a_huge_body_is_413(world: World, husam: Client, size: int) -> None:
    for raw in (b"x" * size, "x" * size):
        answer = husam.call("POST", MESSAGES, raw=raw)
        assert (answer.status, answer.code) == (413, "too_large")
    assert world.texts() == []


def test_only_json_is_taken(world: World, husam: Client) -> None:
    raw = json.dumps({"text": "Hi", "client_id": "1"})
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "a/b"):
        for body in (raw, ""):
            answer = husam.call("POST", MESSAGES, raw=body, content_type=kind)
            assert (answer.status, answer.code) == (415, "unsupported_media_type")
    assert world.texts() == []
    kind = "Application/JSON; charset=utf-8"
    assert husam.call("POST", MESSAGES, raw=raw, content_type=kind).status == 201


def test_call_without_a_body_takes_any_content_type(husam: Client) -> None:
    assert husam.call("POST", "/v1/live", raw="", content_type="text/plain").status == 201


def test_the_longest_text_is_taken_whole(world: World, husam: Client) -> None:
    text = "\U0001f600" * 20_000
    assert husam.post(MESSAGES, {"text": text, "client_id": "1"}).status == 201
    assert husam.get(MESSAGES).body["items"][0]["text"] == text


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 101},
        {"limit": "many"},
        {"after": -1},
        {"before": 0},
        {"after": 10**15},
        {"cursor": "x" * 1_001},
    ],
)
def test_queries_out_of_bounds_are_422(husam: Client, query: dict[str, Any]) -> None:
    assert husam.get(MESSAGES, **query).status == 422


@pytest.mark.parametrize("cursor", ["x", "e30", "not base64!", "bnVsbA", "%00", "\ud83d\ude00"])
@pytest.mark.parametrize("path", ["/v1/chats", MESSAGES])
def test_forged_cursors_are_400(husam: Client, path: str, cursor: str) -> None:
    answer = husam.call("GET", path, query={"cursor": cursor.encode(errors="replace").decode()})
    assert (answer.status, answer.code) == (400, "invalid")


def test_a_cursor_of_one_list_is_no_cursor_of_another(husam: Client) -> None:
    for number in range(3):
        husam.post(MESSAGES, {"text": "Hi", "client_id": str(number)})
    cursor = husam.get(MESSAGES, limit=1).body["next_cursor"]
    assert husam.get("/v1/chats", cursor=cursor).status == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chats", {}),
        ("/v1/chats", {"kind": "channel"}),
        ("/v1/chats", {"kind": "group", "visibility": "secret"}),
        ("/v1/chats", {"kind": "group", "title": "x" * 201}),
        ("/v1/chats", {"kind": "group", "members": [{"kind": "agent"}]}),
        ("/v1/chats", {"kind": "group", "members": [{"kind": "user", "id": "a b"}]}),
        ("/v1/chats", {"kind": "group", "members": [{"kind": "agent", "id": "agt_unknown"}]}),
        ("/v1/chats", {"kind": "group", "members": [{"kind": "user", "id": "u"}] * 101}),
        ("/v1/chats", {"kind": "direct", "members": []}),
        ("/v1/chats/chat_1/read", {"seq": -1}),
        ("/v1/chats/chat_1/read", {"seq": "last"}),
        ("/v1/chats/chat_1/runs", {}),
        ("/v1/chats/chat_1/runs", {"all": False}),
        ("/v1/chats/chat_1/runs", {"all": True, "agent_id": "agt_a"}),
    ],
)
def test_other_bodies_that_do_not_fit_are_422(
    world: World, husam: Client, path: str, body: dict[str, Any]
) -> None:
    before = everything(world)
    assert husam.post(path, body).status == 422
    assert everything(world) == before


def test_visibility_never_changes(husam: Client) -> None:
    assert husam.patch("/v1/chats/chat_1", {"visibility": "private"}).status == 422


def test_only_known_kinds_of_members_exist(husam: Client) -> None:
    assert husam.put("/v1/chats/chat_1/members/robot/agt_a").status == 422
    assert husam.put("/v1/chats/chat_1/members/agent/agt_unknown").status == 404
    assert husam.put(f"/v1/chats/chat_1/members/user/{'x' * 129}").status == 422


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "give agent_id or all"),
        ({"agent_id": "agt_a", "all": True}, "give either agent_id or all, not both"),
    ],
)
def test_malformed_input_is_refused_without_words_of_the_library(
    husam: Client, body: dict[str, object], why: str
) -> None:
    answer = husam.post("/v1/chats/chat_1/runs", body)
    [reason] = answer.body["details"]["reasons"]
    assert reason == {"where": ["body"], "why": why}


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/unknown"), ("GET", "/"), ("PUT", "/v1/chats"), ("DELETE", "/v1/me")],
)
def test_unknown_route_is_404_with_an_error_body(husam: Client, method: str, path: str) -> None:
    answer = husam.call(method, path)
    assert (answer.status, answer.code) == (404, "not_found")
    # Behind the gateway, what no route of people's matches reaches the operators' function.
    enter_chat_failed = Client(husam.world, api=admin_api, sub=husam.sub).call(method, path)
    assert (enter_chat_failed.status, enter_chat_failed.code) == (404, "not_found")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "client_id", "seq", "kind", "members", "all", "id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    route=st.sampled_from([*CHAT_CALLS, ("POST", "/v1/chats", None), ("GET", "/v1/chats", None)]),
    body=JSON,
    chat=st.text(max_size=12) | st.just("chat_1"),
    query=st.dictionaries(
        st.sampled_from(["limit", "cursor", "after", "before"]), st.text(max_size=10), max_size=2
    ),
)
def test_random_input_never_causes_a_server_error(
    world: World,
    route: tuple[str, str, Any],
    body: Any,
    chat: str,
    query: dict[str, str],
) -> None:
    method, path, _ = route
    raw = json.dumps(body)
    answer = Client(world).call(method, path.format(chat=chat), raw=raw, query=query)
    assert answer.status < 500


def test_many_unknown_query_parameters_are_named_in_part(husam: Client) -> None:
    query = {f"{number:02}" + "x" * 300: "1" for number in range(30)}
    reasons = husam.get("/v1/chats", **query).body["details"]["reasons"]
    assert len(reasons) == 20
    assert reasons[0]["where"] == ["query", "00" + "x" * 198]


def test_misspelled_cursor_does_not_start_the_list_over(husam: Client) -> None:
    assert husam.get("/v1/chats", Cursor="abc").status == 422
    assert husam.get("/v1/chats", limit=1).status == 200
