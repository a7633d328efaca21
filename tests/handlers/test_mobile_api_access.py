"""Who may call the HTTP API for people in chats."""

from typing import Any

import pytest

import admin_api
import mobile_api
from skein.services.quotas.read_limits import FREE_READS
from skein.settings import Settings
from tests.support.api_client import Client, recorded
from tests.support.builders import TENANT, World, bot, person

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
MESSAGES = "/v1/chats/chat_1/messages"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(HUSAM, AHMAD, bot())
    return world


@pytest.mark.parametrize("scope", ["admin", "", "chats", "CHAT", None, 7, {"chat": True}])
def test_call_without_scope_is_rejected(
    world: World, scope: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = Client(world, scope=scope).post(MESSAGES, {"bad": "body"})
    assert (answer.status, answer.code) == (403, "forbidden")
    assert world.texts() == []
    assert caplog.records == []  # least of all as an error with a traceback


@pytest.mark.parametrize("scope", ["admin chat", "chat", ["chat", "admin"], "[admin chat]"])
def test_scopes_come_in_several_spellings(world: World, scope: Any) -> None:
    assert Client(world, scope=scope).get("/v1/me").status == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": None},
        {"sub": ""},
        {"sub": "a b"},
        {"sub": "x" * 129},
        {"sub": 7},
        {"tenant": None},
        {"tenant": ""},
        {"tenant": "x" * 65},
        {"tenant": ["acme"]},
    ],
)
def test_invalid_claims_are_401(world: World, claims: dict[str, Any]) -> None:
    answer = Client(world, claims=claims).get("/v1/chats")
    assert (answer.status, answer.code) == (401, "unauthenticated")


@pytest.mark.parametrize("authorizer", [None, {}, {"jwt": None}, {"jwt": {"claims": None}}])
def test_call_without_claims_is_rejected(world: World, authorizer: Any) -> None:
    event = recorded("mobile_api")
    event["requestContext"]["authorizer"] = authorizer
    assert Client(world).send(event).status == 401
    del event["requestContext"]["authorizer"]
    assert Client(world).send(event).status == 401
    assert world.texts() == []


def test_claims_of_the_gateway_of_an_earlier_release_still_count(world: World) -> None:
    """While a deployment changes the functions first, and the gateway's authorizer after them."""
    event = recorded("mobile_api")
    found = event["requestContext"]["authorizer"].pop("lambda")
    event["requestContext"]["authorizer"]["jwt"] = {"claims": found["claims"], "scopes": None}
    event["rawPath"] = event["requestContext"]["http"]["path"] = "/v1/me"
    event["requestContext"]["http"]["method"] = "GET"
    del event["body"]
    assert Client(world).send(event).status == 200


@pytest.mark.parametrize("name", [None, "", "   ", 42, "N" * 500])
def test_token_with_unusual_name_is_accepted(world: World, name: Any) -> None:
    answer = Client(world, sub="usr_new", claims={"name": name}).get("/v1/me")
    assert answer.status == 200
    assert 1 <= len(answer.body["name"]) <= 200


# ---------------------------------------------------------------------- claims of other issuers


def status(claims: dict[str, Any], scope: Any = None, **settings: Any) -> int:
    world = World(Settings(**settings))
    return Client(world, scope=scope, tenant=None, claims=claims).get("/v1/me").status  # type: ignore[arg-type]


@pytest.mark.parametrize("scopes", ["chat other", ["chat"], "[chat admin]"])
def test_token_with_scopes_in_scp_is_accepted(scopes: Any) -> None:
    assert status({"scp": scopes, "tenant": TENANT}) == 200


def test_scopes_count_with_the_prefix_only() -> None:
    claims = {"tenant": TENANT}
    assert status(claims, "openid skein/chat", jwt_scope_prefix="skein/") == 200
    assert status(claims, "openid chat", jwt_scope_prefix="skein/") == 403
    assert status(claims, "skein/chat") == 403


def test_scopes_of_claims_that_are_not_set_do_not_count() -> None:
    claims = {"tenant": TENANT, "permissions": ["chat"]}
    assert status(claims) == 403
    assert status(claims, jwt_scope_claims=("permissions",)) == 200
    assert status(claims, "chat", jwt_scope_claims=("scp",)) == 403


def test_tenant_comes_from_the_claim_that_is_set() -> None:
    claim = "https://skein.example/tenant"
    settings = {"jwt_tenant_claim": claim}
    assert status({claim: TENANT}, "chat", **settings) == 200
    assert status({"tenant": TENANT}, "chat", **settings) == 401


def test_fixed_tenant_wins_over_the_claim() -> None:
    world = World(Settings(jwt_tenant=TENANT))
    world.agent()
    world.known(person())
    world.chat(person(), bot())
    claims = {"name": "Husam", "tenant": "other"}
    chats = Client(world, claims=claims).get("/v1/chats").body["items"]
    assert [chat["id"] for chat in chats] == ["chat_1"]


@pytest.mark.parametrize("scope", ["chat", "admin"])
def test_person_who_reads_too_much_gets_429_until_the_bucket_refills(scope: str) -> None:
    world = World(Settings(user_reads_per_minute=20))
    reader = Client(world, scope=scope, api=mobile_api if scope == "chat" else admin_api)
    path = "/v1/chats" if scope == "chat" else "/v1/agents"
    answers = [reader.get(path) for _ in range(FREE_READS + 21)]
    assert {answer.status for answer in answers[:-1]} == {200}
    refused = answers[-1]
    assert (refused.status, refused.code) == (429, "rate_limited")
    assert int(refused.raw["headers"]["retry-after"]) > 0
    world.clock.advance(60)
    assert reader.get(path).status == 200


def test_tickets_count_as_ten_reads_each() -> None:
    world = World(Settings(user_reads_per_minute=20, live_url="wss://live.example"))
    reader = Client(world)
    answers = [reader.post("/v1/live", {}).status for _ in range(FREE_READS // 10 + 3)]
    assert answers == [201] * (FREE_READS // 10 + 2) + [429]
