"""Operators read a chat: with a reason, and only if the tenant allows it."""

from datetime import timedelta

import pytest

import admin_api
from skein.errors import Unavailable
from skein.models.common.base import rfc3339
from tests.support.api_client import Client, everything
from tests.support.builders import World, bot, person
from tests.support.fakes import ScriptedModel

HUSAM, COACH = person(), bot()
TRANSCRIPT = "/v1/transcripts/chat_1"


@pytest.fixture
def world() -> World:
    world = World(model=ScriptedModel.saying(default="[silence]"))
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    for n in range(3):
        world.post(f"Message {n}", HUSAM)
    world.drain()
    return world


def test_transcript_with_a_reason_shows_messages_and_members(admin: Client) -> None:
    body = admin.get(TRANSCRIPT, reason="The complaint 4711").body
    assert [message["text"] for message in body["items"]] == [f"Message {n}" for n in range(3)]
    assert [member["id"] for member in body["members"]] == ["usr_husam", "agt_a"]
    assert len(admin.all_pages(TRANSCRIPT, reason="The complaint 4711", limit=2)) == 3


@pytest.mark.parametrize("query", [{}, {"reason": ""}, {"reason": "    "}, {"reason": "x" * 301}])
def test_transcript_without_a_usable_reason_is_refused(
    admin: Client, query: dict[str, str]
) -> None:
    assert admin.get(TRANSCRIPT, **query).status == 422
    assert admin.get("/v1/audit").body["items"] == []


def test_transcript_is_audited_with_its_reason_and_changes_nothing_else(
    world: World, admin: Client
) -> None:
    before = everything(world)
    admin.get(TRANSCRIPT, reason="The complaint 4711")
    [entry] = admin.get("/v1/audit").body["items"]
    assert (entry["verb"], entry["kind"], entry["who"]) == ("read", "message", "usr_op")
    assert (entry["ids"], entry["reason"]) == ({"chat_id": "chat_1"}, "The complaint 4711")
    assert everything(world) == before


def test_transcript_whose_audit_fails_shows_nothing(
    world: World, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_: object) -> None:
        raise Unavailable("down")

    monkeypatch.setattr(world.table, "write", down)
    monkeypatch.setattr(world.table, "transact", down)
    answer = admin.get(TRANSCRIPT, reason="The complaint 4711")
    assert answer.status == 503
    assert "Message" not in str(answer.body)


def test_tenant_that_forbids_reading_shows_operators_no_words(world: World, admin: Client) -> None:
    run = world.runs()[0]
    assert admin.patch("/v1/settings", {"operators_read_chats": False}).status == 200
    assert admin.get(TRANSCRIPT, reason="The complaint 4711").status == 403
    assert admin.get("/v1/agents/agt_a/context", chat_id="chat_1").status == 403
    assert admin.get("/v1/agents/agt_a/recall", q="Message").status == 403
    assert admin.post(f"/v1/runs/{run.id}/replay", {}).status == 403
    shown = admin.get(f"/v1/runs/{run.id}")
    assert (shown.status, shown.body["prompt"], shown.body["steps"]) == (200, None, [])
    assert "Message" not in str(shown.body)
    assert Client(world).get("/v1/chats/chat_1/messages").status == 200


# ---------------------------------------------------------------------- operators_read_chats


@pytest.mark.parametrize("value", [True, None])
@pytest.mark.parametrize("scope", ["support", "privacy", "support privacy"])
def test_operator_who_is_no_owner_cannot_turn_reading_on_again(
    world: World, admin: Client, scope: str, value: bool | None
) -> None:
    admin.patch("/v1/settings", {"operators_read_chats": False})
    other = Client(world, api=admin_api, sub="usr_s", scope=scope, claims={})
    assert other.patch("/v1/settings", {"operators_read_chats": value}).status == 403
    assert other.get(TRANSCRIPT, reason="The complaint 4711").status == 403
    refused, forbidden = admin.get("/v1/audit", limit=2).body["items"][::-1]
    assert refused["refused"]
    assert refused["route"] == "PATCH /v1/settings"
    assert forbidden["refused"]


def test_people_see_whether_operators_read_and_since_when(world: World, admin: Client) -> None:
    husam = Client(world)
    assert husam.get("/v1/me").body["operators_read_chats"] == {"on": True, "since": None}
    admin.patch("/v1/settings", {"operators_read_chats": False})
    off = husam.get("/v1/me").body["operators_read_chats"]
    world.clock.advance(3600)
    admin.patch("/v1/settings", {"apology": False})
    admin.patch("/v1/settings", {"operators_read_chats": False})
    assert husam.get("/v1/me").body["operators_read_chats"] == off
    assert off == {"on": False, "since": world_time(world, -3600)}
    admin.patch("/v1/settings", {"operators_read_chats": None})
    shown = husam.get("/v1/me").body["operators_read_chats"]
    assert shown == {"on": True, "since": world_time(world, 0)}


def world_time(world: World, seconds: int) -> str:
    return rfc3339(world.clock.now() + timedelta(seconds=seconds))
