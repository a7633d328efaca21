"""Tools of a tenant over the HTTP API for operators."""

from typing import Any

import pytest

import admin_api
from tests.support.api_client import Client
from tests.support.builders import World
from tests.support.own_tools import BOOK, LOOK_UP, waiting_call

TOOLS = "/v1/tools"
NAMED = f"{TOOLS}/order_status"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    return world


def test_tool_is_created_changed_restored_and_deleted(admin: Client) -> None:
    made = admin.post(TOOLS, LOOK_UP)
    assert (made.status, made.body["version"], made.body["asks"]) == (201, 1, "none")
    assert made.body["secret"].startswith("whsec_")
    assert "secret" not in admin.get(NAMED).body
    changed = admin.patch(NAMED, {"timeout_seconds": 5, "approval": "person"}).body
    assert (changed["version"], changed["timeout_seconds"], changed["asks"]) == (2, 5, "person")
    versions = admin.get(f"{NAMED}/versions").body["items"]
    assert [each["version"] for each in versions] == [2, 1]
    restored = admin.post(f"{NAMED}/versions/1/restore", {})
    assert (restored.status, restored.body["timeout_seconds"]) == (200, 10)
    assert restored.body["asks"] == "none"
    assert [each["name"] for each in admin.get(TOOLS).body["items"]] == ["order_status"]
    assert [admin.delete(NAMED).status, admin.delete(NAMED).status] == [204, 404]
    assert admin.get(f"{NAMED}/versions").status == 404


def test_schema_of_a_tool_is_kept_in_the_words_that_providers_accept(admin: Client) -> None:
    day = {"title": "Day", "anyOf": [{"$ref": "#/$defs/Day"}, {"type": "null"}], "default": None}
    schema = {
        "type": "object",
        "title": "Look",
        "properties": {"day": day, "order": {"type": "string"}},
    }
    defined = {"$defs": {"Day": {"type": "string", "format": "date"}}}
    made = admin.post(TOOLS, LOOK_UP | {"parameters": schema | defined | {"required": ["order"]}})
    assert made.status == 201
    assert made.body["parameters"] == {
        "type": "object",
        "properties": {"day": {"type": "string"}, "order": {"type": "string"}},
        "required": ["order"],
    }
    unclear = {"type": "object", "properties": {"order": {"title": "Order"}}}
    refused = admin.patch(NAMED, {"parameters": unclear})
    assert refused.status == 422
    assert refused.body["detail"].startswith("parameters.properties.order.type: ")


def test_new_secret_takes_the_old_ones_place(admin: Client) -> None:
    made = admin.post(TOOLS, LOOK_UP).body
    renewed = admin.post(f"{NAMED}/secret", {})
    assert renewed.status == 200
    assert renewed.body["secret"] != made["secret"]


def test_tool_with_used_name_is_409(admin: Client) -> None:
    assert admin.post(TOOLS, LOOK_UP).status == 201
    assert admin.post(TOOLS, LOOK_UP).status == 409


HTTP: dict[str, Any] = {"method": "GET", "url": "https://shop.example/{order}"}
ARN = "arn:aws:secretsmanager:eu-west-1:1:secret:"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "send_message"}, "name"),
        ({"description": ""}, "description"),
        ({"parameters": {"type": "array"}}, "parameters.type"),
        ({"http": None}, "http"),
        ({"python": {"function": "f"}}, "http"),
        ({"http": None, "python": {"function": "f"}}, "python.function"),
        ({"http": HTTP | {"url": "http://shop.example/{order}"}}, "http.url"),
        ({"http": HTTP | {"url": "https://shop.example/{who}"}}, "http.url"),
        ({"http": HTTP | {"url": "https://shop.example/{order"}}, "http.url"),
        ({"from_private": "ask", "approval": "operator"}, "from_private"),
        (
            {"credentials": {"secret_arn": f"{ARN}skein-twilio", "header": "X-Key"}},
            "credentials.secret_arn",
        ),
        (
            {"credentials": {"secret_arn": f"{ARN}skein-tools/other/x", "header": "X-Key"}},
            "credentials.secret_arn",
        ),
    ],
)
def test_tool_that_cannot_work_is_refused_with_the_name_of_the_field(
    admin: Client, changes: dict[str, Any], field: str
) -> None:
    refused = admin.post(TOOLS, LOOK_UP | changes)
    assert refused.status == 422
    assert refused.body["detail"].startswith(f"{field}:")
    assert admin.get(TOOLS).body["items"] == []


@pytest.mark.parametrize(
    "http",
    [
        HTTP | {"url": "https://{order}.example/"},
        HTTP | {"url": "https://me:pw@shop.example/"},
        HTTP | {"headers": {"Host": "other"}},
        HTTP | {"headers": {"Skein-Context": "x"}},
        HTTP | {"headers": {"X-A": "a\r\nX-B: b"}},
    ],
)
def test_request_that_could_reach_another_host_is_refused(
    admin: Client, http: dict[str, Any]
) -> None:
    assert admin.post(TOOLS, LOOK_UP | {"http": http}).status == 422


def test_agent_has_only_tools_that_exist(admin: Client) -> None:
    unknown = admin.patch("/v1/agents/agt_a", {"enabled_tools": ["order_status"]})
    assert unknown.status == 422
    admin.post(TOOLS, LOOK_UP)
    admin.post(TOOLS, BOOK)
    both = ["send_message", "order_status", "book_table"]
    assert admin.patch("/v1/agents/agt_a", {"enabled_tools": both}).body["enabled_tools"] == both
    shown = admin.get("/v1/agents/agt_a").body
    assert shown["enabled_tools"] == both


def test_operator_tries_a_tool_with_arguments(world: World, admin: Client) -> None:
    admin.post(TOOLS, LOOK_UP)
    tried = admin.post(f"{NAMED}/try", {"arguments": {"order": "17"}})
    assert (tried.status, tried.body["status"]) == (200, "done")
    assert world.service.requests[0].url == "https://shop.example/orders/17"
    assert tried.body["usage"]["http_status"] == 200
    refused = admin.post(f"{NAMED}/try", {"arguments": {}})
    assert (refused.status, len(world.service.requests)) == (422, 1)


def test_private_call_is_decided_with_the_role_privacy_and_a_reason(world: World) -> None:
    path = f"/v1/approvals/{waiting_call(world, 'agt_a', tool='book_table', private=True)}"
    approved, why = {"decision": "approved"}, "The team asked me to look"
    support, privacy = (
        Client(world, api=admin_api, sub="usr_op", scope=scope, claims={})
        for scope in ("support", "support privacy")
    )
    [listed] = support.get("/v1/approvals").body["items"]
    assert (listed["tool"], listed["private"], listed["decision"]) == ("book_table", True, None)
    assert support.post(path, approved).status == 403
    assert support.post(path, approved, reason=why).status == 403
    assert privacy.post(path, approved).status == 403
    decided = privacy.post(path, approved, reason=why)
    assert (decided.status, decided.body["decided_by"]) == (200, "usr_op")
    assert privacy.post(path, approved, reason=why).status == 200
    assert privacy.post(path, {"decision": "refused"}, reason=why).status == 409
    assert support.get("/v1/approvals").body["items"] == []
