"""An operator signs a person out: tokens and tickets from before are refused."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unauthenticated
from tests.support.api_client import Client, operator
from tests.support.builders import NOON, TENANT, World, person

HUSAM = person()
PATH = f"/v1/users/{HUSAM.id}/sign-out"


@pytest.fixture
def world() -> World:
    world = World()
    world.known(HUSAM)
    return world


def with_token_of(husam: Client, moment: Any) -> Client:
    return replace(husam, claims={**husam.claims, "iat": moment})


def seconds(world: World) -> str:
    return str(int(world.clock.now().timestamp()))


def test_token_from_before_the_sign_out_is_refused_and_a_new_one_works(
    world: World, husam: Client
) -> None:
    old = with_token_of(husam, seconds(world))
    assert old.get("/v1/me").status == 200
    world.clock.advance(1)
    assert operator(world).post(PATH, None).status == 204
    refused = old.get("/v1/me")
    assert (refused.status, refused.body["code"]) == (401, "unauthenticated")
    world.clock.advance(1)
    assert with_token_of(husam, seconds(world)).get("/v1/me").status == 200
    assert husam.get("/v1/me").status == 401  # without `iat`


def test_sign_out_refuses_an_operator_too(world: World) -> None:
    world.known(person("usr_op", "Op"))
    assert operator(world).post("/v1/users/usr_op/sign-out", None).status == 204
    assert operator(world).get("/v1/users").status == 401


def test_sign_out_closes_connections_and_voids_tickets(world: World) -> None:
    tickets, live = world.app.live_tickets, world.app.live_connections
    ends_at = NOON + timedelta(days=1)
    used = tickets.issue(TENANT, HUSAM.id, token_ends_at=ends_at).ticket
    unused = tickets.issue(TENANT, HUSAM.id, token_ends_at=ends_at).ticket
    live.connect(used, "c1")
    assert operator(world).post(PATH, None).status == 204
    assert live.find("c1") is None
    with pytest.raises(Unauthenticated):
        live.connect(unused, "c2")
    world.clock.advance(1)
    later = tickets.issue(TENANT, HUSAM.id, token_ends_at=ends_at).ticket
    assert live.connect(later, "c3").id == "c3"


def test_sign_out_during_a_connection_refuses_the_connection(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends_at = NOON + timedelta(days=1)
    ticket = world.app.live_tickets.issue(TENANT, HUSAM.id, token_ends_at=ends_at).ticket
    transact = world.table.transact

    def late(writes: Any) -> None:
        monkeypatch.undo()
        assert operator(world).post(PATH, None).status == 204
        transact(writes)

    monkeypatch.setattr(world.table, "transact", late)
    with pytest.raises(Unauthenticated):
        world.app.live_connections.connect(ticket, "c1")
    assert world.app.live_connections.find("c1") is None


def test_sign_out_of_an_unknown_person_is_not_found(world: World) -> None:
    assert operator(world).post("/v1/users/usr_nobody/sign-out", None).status == 404


def test_sign_out_is_audited(world: World) -> None:
    operator(world).post(PATH, None)
    [entry] = operator(world).get("/v1/audit").body["items"]
    assert (entry["verb"], entry["ids"]) == ("change", {"user_id": HUSAM.id})
