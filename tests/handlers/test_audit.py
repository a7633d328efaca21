"""Who read or changed what: each call says whether it is audited, and then leaves an entry."""

import json
from types import ModuleType

import pytest
from aws_lambda_powertools.event_handler import Response

import admin_api
from routes.app import Api
from routes.router import ApiRouter, no_content
from skein.errors import Ambiguous, ConditionFailed, Unavailable
from skein.models.common.storage import Missing, Put, Query, Write
from skein.privacy.models.audit import AuditEntry
from skein.settings import Settings
from tests.support.api_client import WHY, Client, everything, operator, recorded
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.number_codes import prove

DAY_SECONDS = 86_400


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(person(), bot())
    world.known(person())
    return world


def entries(world: World, tenant: str = TENANT) -> list[AuditEntry]:
    """All of today's, in order."""
    page = world.table.query(Query(AuditEntry.partition(tenant, world.clock.now())))
    return [AuditEntry.from_item(item) for item in page.items]


def told(world: World) -> list[tuple[str, str, str, dict[str, str]]]:
    return [(entry.who, entry.verb, entry.kind, entry.ids) for entry in entries(world)]


# ---------------------------------------------------------------------- entries


def test_operator_access_is_in_the_audit_log(world: World, admin: Client) -> None:
    made = admin.post("/v1/users", {"name": "Ahmad"}).body["id"]
    admin.patch(f"/v1/users/{made}", {"name": "Ahmed"})
    admin.get("/v1/agents")
    admin.get("/v1/agents/agt_a/context", chat_id="chat_1")
    admin.get("/v1/agents/agt_a/goals", user_id="usr_husam", reason=WHY, limit=5)
    admin.delete("/v1/agents/agt_a")
    assert told(world) == [
        ("usr_op", "create", "user", {"user_id": made}),
        ("usr_op", "change", "user", {"user_id": made}),
        ("usr_op", "read", "agent", {}),
        ("usr_op", "read", "context", {"agent_id": "agt_a", "chat_id": "chat_1"}),
        ("usr_op", "read", "goal", {"agent_id": "agt_a", "user_id": "usr_husam"}),
        ("usr_op", "delete", "agent", {"agent_id": "agt_a"}),
    ]


def test_audit_entry_has_time_scope_route_and_request_id(world: World, admin: Client) -> None:
    admin.get("/v1/agents/agt_a")
    [entry] = entries(world)
    assert entry.at == NOON
    assert entry.scope == "support"
    assert entry.route == "GET /v1/agents/{agent_id}"
    assert entry.request_id == recorded("mobile_api")["requestContext"]["requestId"]


def test_a_line_is_named_by_its_number(world: World, admin: Client) -> None:
    assert admin.post("/v1/lines", {"phone": LINE, "agent_id": "agt_a"}).status == 201
    assert admin.get("/v1/lines/+15005550006").status == 200
    assert told(world) == [
        ("usr_op", "create", "line", {"phone": LINE}),
        ("usr_op", "read", "line", {"phone": LINE}),
    ]


@pytest.mark.parametrize("spelled", [PHONE, PHONE.replace("+", " "), "+1 (500) 555-0100"])
def test_audit_of_a_phone_number_in_a_query_is_masked(
    world: World, admin: Client, spelled: str
) -> None:
    assert admin.get("/v1/users", phone=spelled).status == 200
    assert told(world) == [("usr_op", "read", "user", {"phone": "+1500***0100"})]


def test_audit_of_a_formatted_phone_number_in_a_path_is_masked(world: World, admin: Client) -> None:
    admin.post("/v1/users", {"id": "usr_ann", "name": "Ann"})
    code = prove(world.table, world.clock, "usr_ann", PHONE)
    path = "/v1/users/usr_ann/phones/+1 (500) 555-0100"
    assert admin.put(path, {"code": code}).status == 200
    ids = {"user_id": "usr_ann", "phone": "+1500***0100"}
    assert told(world)[-1] == ("usr_op", "change", "number", ids)


def test_audit_of_a_users_chats_names_the_user(world: World, admin: Client) -> None:
    assert admin.get(f"/v1/users/{person().id}/chats").status == 200
    assert told(world) == [("usr_op", "read", "chat", {"user_id": person().id})]


def test_a_persons_number_is_masked(world: World) -> None:
    router = ApiRouter("users", "user")

    @router.put("/v1/users/<user_id>/numbers/<number>", "Link a number")
    def link(user_id: str, number: str) -> Response[None]:
        return no_content()

    modules = {"numbers": ("/v1/users",)}
    api = Api(scope="admin", modules=modules, routers_in=lambda _: [router.routes])
    function = ModuleType("admin_api")  # with this one call
    vars(function)["handler"] = api.resolve
    admin = Client(world, api=function, sub="usr_op", scope="admin", claims={})
    assert admin.put(f"/v1/users/usr_husam/numbers/{PHONE}").status == 204
    assert told(world) == [
        ("usr_op", "change", "user", {"user_id": "usr_husam", "number": "+1500***0100"})
    ]


def test_audit_of_a_query_holds_the_ids_that_the_route_takes(world: World, admin: Client) -> None:
    refused = admin.get("/v1/agents/agt_a/goals", user_id="usr_husam", other_id="MARKEDWORD")
    assert refused.status == 422
    assert told(world) == []
    assert (
        admin.get("/v1/agents/agt_a/goals", user_id="usr_husam", reason=WHY, limit=5).status == 200
    )
    ids = {"agent_id": "agt_a", "user_id": "usr_husam"}
    assert told(world) == [("usr_op", "read", "goal", ids)]


def test_adding_a_member_is_in_the_audit_log(world: World) -> None:
    world.agent("agt_b", "Nova")
    husam = Client(world)
    assert husam.put("/v1/chats/chat_1/members/agent/agt_b").status == 200
    ids = {"chat_id": "chat_1", "kind": "agent", "member_id": "agt_b"}
    assert told(world) == [("usr_husam", "change", "member", ids)]
    assert entries(world)[0].scope == "chat"


def test_member_calls_leave_no_audit_entry(world: World) -> None:
    husam = Client(world)
    husam.post("/v1/chats/chat_1/messages", {"text": "Hi", "client_id": "1"})
    husam.get("/v1/chats/chat_1/messages")
    husam.post("/v1/chats/chat_1/read", {"seq": 1})
    husam.get("/v1/me")
    assert entries(world) == []


def test_audit_entry_contains_no_content(world: World, admin: Client) -> None:
    secret = "MARKEDWORD"
    world.post(f"My {secret}", person())
    world.drain()
    [run] = world.runs()
    admin.get(f"/v1/runs/{run.id}")
    admin.post("/v1/agents/agt_a/goals", {"text": f"Win {secret}"})
    admin.post("/v1/agents", {"name": secret, "system_prompt": secret})
    admin.get("/v1/agents", cursor=secret)
    assert [entry.kind for entry in entries(world)] == ["run", "goal", "agent"]
    assert secret not in json.dumps([entry.attributes() for entry in entries(world)])


def test_refused_request_leaves_no_audit_entry(world: World, admin: Client) -> None:
    before = everything(world)
    assert admin.get("/v1/agents/agt_none").status == 404
    assert admin.post("/v1/agents", {}).status == 422
    assert Client(world, api=admin_api, scope="chat").get("/v1/agents").status == 403
    assert everything(world) == before
    assert entries(world) == []


# ---------------------------------------------------------------------- nothing goes unrecorded


def failing(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, *, stored: bool, times: int = 1
) -> list[Write]:
    """Let the next writes of an entry fail, before or after they reach the table."""
    written: list[Write] = []
    reach = type(world.table).write

    def write(one: Write) -> None:
        if isinstance(one.key.pk, str) and "#AUDIT#" in one.key.pk:
            written.append(one)
            if len(written) <= times:
                if stored:
                    reach(world.table, one)
                raise error
        reach(world.table, one)

    monkeypatch.setattr(world.table, "write", write)
    return written


def test_read_whose_audit_entry_fails_returns_503(
    world: World, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(world, monkeypatch, Unavailable("the table is gone"), stored=False)
    answer = admin.get("/v1/agents/agt_a")
    assert (answer.status, answer.code) == (503, "unavailable")
    assert admin.get("/v1/agents/agt_a").status == 200
    assert len(entries(world)) == 1


@pytest.mark.parametrize("stored", [True, False])
def test_audit_entry_with_lost_response_is_stored_once(
    world: World, admin: Client, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    written = failing(world, monkeypatch, Ambiguous("no answer"), stored=stored)
    assert admin.get("/v1/agents/agt_a").status == 200
    assert len(written) == 2
    assert len(entries(world)) == 1


def test_an_entry_is_never_written_over(
    world: World, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.get("/v1/agents/agt_a")
    [entry] = entries(world)
    with pytest.raises(ConditionFailed):
        world.table.write(Put(entry.key, entry.to_item(days=1), Missing()))
    written = failing(world, monkeypatch, Unavailable("never"), stored=False, times=0)
    admin.get("/v1/agents/agt_a")
    assert all(isinstance(one, Put) and one.condition == Missing() for one in written)


def test_audit_entries_expire_after_the_configured_days() -> None:
    world = World(Settings(audit_days=30))
    world.agent()
    operator(world).get("/v1/agents/agt_a")
    [item] = world.table.query(Query(AuditEntry.partition(TENANT, NOON))).items
    assert item["expires_at"] == NOON.timestamp() + 30 * DAY_SECONDS


# ---------------------------------------------------------------------- looking


def test_operators_read_the_audit_by_day(world: World, admin: Client) -> None:
    admin.get("/v1/agents/agt_a")
    world.clock.advance(DAY_SECONDS)
    admin.get("/v1/agents")
    [today] = admin.get("/v1/audit").body["items"]
    assert (today["verb"], today["kind"], today["ids"]) == ("read", "agent", {})
    [yesterday] = admin.get("/v1/audit", day="2026-02-18").body["items"]
    assert yesterday == {
        "id": yesterday["id"],
        "at": "2026-02-18T12:00:00.000Z",
        "who": "usr_op",
        "scope": "support",
        "refused": False,
        "verb": "read",
        "kind": "agent",
        "ids": {"agent_id": "agt_a"},
        "route": "GET /v1/agents/{agent_id}",
        "reason": None,
        "request_id": yesterday["request_id"],
    }


def test_reading_the_audit_is_audited(world: World, admin: Client) -> None:
    admin.get("/v1/audit", day="2026-02-17")
    assert told(world) == [("usr_op", "read", "audit", {"day": "2026-02-17"})]


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_pages_hold_every_entry_once_the_newest_first(
    world: World, admin: Client, limit: int
) -> None:
    for _ in range(7):
        admin.get("/v1/agents/agt_a")
        world.clock.advance(60)
    listed = admin.all_pages("/v1/audit", limit=limit, day="2026-02-18")
    times = [item["at"] for item in listed if item["kind"] == "agent"]
    assert len(set(times)) == 7
    assert times == sorted(times, reverse=True)


def test_audit_cursor_is_valid_only_for_its_day_and_list(world: World, admin: Client) -> None:
    for _ in range(3):
        admin.get("/v1/agents/agt_a")
    first = admin.get("/v1/audit", limit=1).body
    world.clock.advance(DAY_SECONDS)
    cursor = first["next_cursor"]
    [second] = admin.get("/v1/audit", limit=1, cursor=cursor).body["items"]
    assert second["at"] == "2026-02-18T12:00:00.000Z"
    assert admin.get("/v1/audit", day="2026-02-19", cursor=cursor).status == 400
    assert admin.get("/v1/agents", cursor=cursor).status == 400
