"""API keys of servers, the tokens that they make for people, and who may do what with them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import admin_api
import mobile_api
from skein.identity.models.credential import Credential
from skein.models.common.base import rfc3339
from tests.support.api_client import Client, operator
from tests.support.bearers import Bearer, identified
from tests.support.builders import TENANT, World, person

HUSAM = person()
TOKENS = f"/v1/users/{HUSAM.id}/tokens"
OTHER = "globex"


@pytest.fixture
def world() -> World:
    world = World()
    world.known(HUSAM)
    return world


def made(world: World, *roles: str, tenant: str = TENANT, **more: Any) -> dict[str, Any]:
    answer = operator(world, tenant).post("/v1/keys", {"name": "server", "roles": roles, **more})
    assert answer.status == 201, answer.body
    key: dict[str, Any] = answer.body
    return key


def server(world: World, *roles: str, **more: Any) -> Bearer:
    return Bearer(world, api=admin_api, bearer=made(world, *roles, **more)["key"])


def app_of(maker: Bearer, **given: int) -> Bearer:
    """The app of a person, for whom a server has made a token."""
    answer = maker.post(TOKENS, given)
    assert answer.status == 201, answer.body
    return Bearer(maker.world, api=mobile_api, bearer=answer.body["token"])


def test_key_is_shown_once_and_only_its_hash_is_stored(world: World) -> None:
    key = made(world, "support", "tokens")
    assert key["key"].startswith("skein_key_")
    secret = key.pop("key").rpartition(".")[2]
    assert operator(world).get("/v1/keys").body["items"] == [key]
    assert secret not in str(world.table.all_items())


def test_server_acts_with_the_roles_of_its_key_and_is_audited_by_its_id(world: World) -> None:
    key = made(world, "support")
    client = Bearer(world, api=admin_api, bearer=key["key"])
    assert client.get("/v1/users").status == 200
    newest = operator(world).get("/v1/audit").body["items"][0]
    assert (newest["who"], newest["route"]) == (key["id"], "GET /v1/users")


@pytest.mark.parametrize(
    ("roles", "call", "path"),
    [
        (("support",), "get", "/v1/keys"),
        (("support",), "get", "/v1/audit"),
        (("tokens",), "get", "/v1/users"),
        (("support", "privacy", "owner"), "post", TOKENS),
    ],
)
def test_key_has_no_role_that_it_was_not_given(
    world: World, roles: tuple[str, ...], call: str, path: str
) -> None:
    client = server(world, *roles)
    answer = client.get(path) if call == "get" else client.post(path, {})
    assert answer.status == 403


def test_server_key_on_person_routes_is_403(world: World) -> None:
    client = server(world, "support", "privacy", "owner", "tokens")
    assert replace(client, api=mobile_api).get("/v1/me").status == 403


@pytest.mark.parametrize(
    ("scope", "roles", "status"),
    [
        ("owner", ["owner"], 201),
        ("owner", ["owner", "support"], 403),
        ("owner", ["tokens"], 403),  # who makes tokens can read everybody's private chats
        ("owner privacy", ["tokens", "privacy"], 201),
        ("support privacy", ["support"], 403),
        ("admin", ["admin"], 422),
        ("admin", [], 422),
    ],
)
def test_maker_gives_a_key_only_roles_of_their_own(
    world: World, scope: str, roles: list[str], status: int
) -> None:
    maker = replace(operator(world), scope=scope)
    assert maker.post("/v1/keys", {"name": "server", "roles": roles}).status == status


def test_key_makes_no_key_with_more_roles(world: World) -> None:
    client = server(world, "owner", "tokens")
    assert client.post("/v1/keys", {"name": "more", "roles": ["privacy"]}).status == 403
    assert client.post("/v1/keys", {"name": "more", "roles": ["tokens"]}).status == 403
    assert client.post("/v1/keys", {"name": "less", "roles": ["owner"]}).status == 201


def test_token_of_an_issuer_makes_no_tokens_whatever_its_scopes(world: World) -> None:
    for scope in ("admin", "tokens", "admin tokens", "support privacy owner tokens"):
        assert replace(operator(world), scope=scope).post(TOKENS, {}).status == 403


def test_token_opens_the_chats_of_its_person_only_and_no_call_of_operators(
    world: World,
) -> None:
    app = app_of(server(world, "tokens"))
    me = app.get("/v1/me")
    assert (me.status, me.body["id"]) == (200, HUSAM.id)
    for path in ("/v1/users", "/v1/keys", "/v1/audit"):
        assert replace(app, api=admin_api).get(path).status == 403
    assert replace(app, api=admin_api).post(TOKENS, {}).status == 403


def test_person_sees_that_a_token_was_made_for_them(world: World) -> None:
    key = made(world, "tokens")
    app = app_of(Bearer(world, api=admin_api, bearer=key["key"]))
    [access] = app.get("/v1/me/access").body["items"]
    assert (access["who"], access["verb"], access["kind"]) == (key["id"], "create", "token")
    entry = operator(world).get("/v1/audit").body["items"][0]
    assert (entry["scope"], entry["ids"]) == ("tokens", {"user_id": HUSAM.id})


@pytest.mark.parametrize("seconds", [59, 86_401, "60", True])
def test_token_is_valid_for_a_minute_to_a_day(world: World, seconds: Any) -> None:
    assert server(world, "tokens").post(TOKENS, {"expires_in_seconds": seconds}).status == 422


def test_token_for_unknown_or_erased_user_is_rejected(world: World) -> None:
    client = server(world, "tokens")
    assert client.post("/v1/users/usr_nobody/tokens", {}).status == 404
    erased = operator(world).delete(f"/v1/users/{HUSAM.id}")
    assert erased.status == 202
    assert client.post(TOKENS, {}).status == 404


def test_expired_token_and_expired_key_are_refused_though_the_gateway_keeps_its_result(
    world: World,
) -> None:
    ends = world.clock.now() + timedelta(hours=1)
    maker = server(world, "support", "tokens", expires_at=rfc3339(ends))
    short, long = app_of(maker, expires_in_seconds=60), app_of(maker, expires_in_seconds=86_400)
    assert [each.get("/v1/me").status for each in (short, long)] == [200, 200]
    assert maker.get("/v1/users").status == 200
    world.clock.advance(60)
    assert [each.get("/v1/me").status for each in (short, long)] == [401, 200]
    world.clock.advance(3_600)
    assert maker.get("/v1/users").status == 401
    assert long.get("/v1/me").status == 401  # a key's tokens end with it


def test_key_that_has_expired_already_is_refused(world: World) -> None:
    past = rfc3339(world.clock.now())
    body = {"name": "server", "roles": ["support"], "expires_at": past}
    assert operator(world).post("/v1/keys", body).status == 422


def test_revoked_key_and_its_tokens_are_refused_at_once(world: World) -> None:
    key = made(world, "support", "tokens")
    client = Bearer(world, api=admin_api, bearer=key["key"])
    app = app_of(client)
    assert (client.get("/v1/users").status, app.get("/v1/me").status) == (200, 200)
    assert operator(world).delete(f"/v1/keys/{key['id']}").status == 204
    assert (client.get("/v1/users").status, app.get("/v1/me").status) == (401, 401)
    assert "refused" in identified(client, client.bearer)
    assert operator(world).delete(f"/v1/keys/{key['id']}").status == 404


def test_sign_out_and_erasure_end_a_token_at_once_and_a_new_one_works(world: World) -> None:
    maker = server(world, "tokens")
    app = app_of(maker)
    assert app.get("/v1/me").status == 200
    world.clock.advance(1)
    assert operator(world).post(f"/v1/users/{HUSAM.id}/sign-out", None).status == 204
    assert app.get("/v1/me").status == 401
    world.clock.advance(1)
    again = app_of(maker)
    assert again.get("/v1/me").status == 200
    assert operator(world).delete(f"/v1/users/{HUSAM.id}").status == 202
    assert again.get("/v1/me").status == 401


def test_live_channel_of_a_token_ends_with_it(world: World) -> None:
    app = app_of(server(world, "tokens"), expires_in_seconds=60)
    ticket = app.post("/v1/live", None)
    assert ticket.status == 201
    assert ticket.body["expires_at"] == rfc3339(world.clock.now() + timedelta(seconds=60))
    world.clock.advance(60)
    assert app.post("/v1/live", None).status == 401


def test_key_and_tokens_reach_their_tenant_only(world: World) -> None:
    world.known(HUSAM)
    theirs = made(world, "support", "owner", "tokens", tenant=OTHER)
    client = Bearer(world, api=admin_api, bearer=theirs["key"])
    assert client.get("/v1/users").body["items"] == []
    assert client.post(TOKENS, {}).status == 404
    ours = made(world, "support")
    assert client.delete(f"/v1/keys/{ours['id']}").status == 404
    assert [each["id"] for each in client.get("/v1/keys").body["items"]] == [theirs["id"]]


def test_text_with_another_tenant_person_or_secret_is_refused(world: World) -> None:
    """Where the record is can be forged, but the secret is that of one record."""
    maker = server(world, "tokens")
    app = app_of(maker)
    key, token = Credential.parse(maker.bearer), Credential.parse(app.bearer)
    assert key is not None
    assert token is not None
    made(world, "owner", tenant=OTHER)
    forged = [
        key._replace(tenant=OTHER),
        key._replace(ids=("key_other",)),
        key._replace(secret=token.secret),
        key._replace(kind="token", ids=(HUSAM.id, *key.ids)),
        token._replace(tenant=OTHER),
        token._replace(ids=("usr_maya", token.ids[1])),
        token._replace(kind="key", ids=token.ids[1:]),
    ]
    for each in forged:
        assert identified(app, each.text) == {"refused": "the API key or token is unknown"}


@pytest.mark.parametrize("bearer", ["", "x", "skein_key_x.y", "skein_key_" + "A" * 50])
def test_text_that_is_no_credential_is_refused(world: World, husam: Client, bearer: str) -> None:
    assert identified(husam, bearer).keys() == {"refused"}
    refused = Bearer(world, api=admin_api, bearer=bearer).get("/v1/users")
    assert (refused.status, refused.code) == (401, "unauthenticated")


def test_refused_caller_reaches_nothing_even_with_claims_beside(world: World) -> None:
    client = Bearer(world, api=admin_api)
    claims = {"sub": "usr_op", "tenant": TENANT, "scope": "admin"}
    client.kept.update({"refused": "no", "claims": claims})
    assert client.get("/v1/users").status == 401
