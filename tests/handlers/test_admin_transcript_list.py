"""Operators list all chats of their tenant, without titles and words."""

import json

import pytest

from skein.models.chats.chat import Chat
from skein.models.common.storage import Update
from skein.models.outbox.jobs import UpkeepJob
from tests.support.api_client import Client, operator
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import ScriptedModel

HUSAM, LENA, COACH = person(), person("usr_lena", "Lena"), bot()
CHATS = "/v1/transcripts"


@pytest.fixture
def world() -> World:
    world = World(model=ScriptedModel.saying(default="[silence]"))
    world.agent()
    return world


def ids(world: World, limit: int = 100) -> list[str]:
    return [chat["id"] for chat in operator(world).all_pages(CHATS, limit=limit)]


def test_tenant_chats_are_open_and_private_ones_without_title_and_words(world: World) -> None:
    world.chat(HUSAM, LENA, COACH, chat_id="chat_open", title="Knee surgery")
    world.chat(HUSAM, COACH, chat_id="chat_own", kind="direct", visibility="private")
    world.post("My knee hurts", HUSAM, chat_id="chat_own")
    body = operator(world).get(CHATS).body
    own, opened = sorted(body["items"], key=lambda chat: chat["id"], reverse=True)
    assert (own["id"], own["kind"], own["visibility"], own["last_seq"]) == (
        "chat_own",
        "direct",
        "private",
        1,
    )
    assert {member["id"] for member in opened["members"]} == {HUSAM.id, LENA.id, COACH.id}
    assert set(own) == {
        "id",
        "kind",
        "visibility",
        "last_seq",
        "last_message_at",
        "members",
        "created_at",
        "discarded_at",
    }
    assert "knee" not in json.dumps(body).lower()


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_tenant_chats_come_in_pages_each_once_newest_hour_first(world: World, limit: int) -> None:
    for number in range(11):
        world.chat(HUSAM, COACH, chat_id=f"chat_{number:02d}", respond="manual")
        world.clock.advance(3_600)
    assert ids(world, limit) == [f"chat_{number:02d}" for number in reversed(range(11))]


def test_message_of_a_later_hour_moves_the_chat_up(world: World) -> None:
    world.chat(HUSAM, COACH, chat_id="chat_a", respond="manual")
    world.clock.advance(3_600)
    world.chat(HUSAM, COACH, chat_id="chat_b", respond="manual")
    world.clock.advance(3_600)
    world.post("Hello", HUSAM, chat_id="chat_a")
    world.drain()
    assert ids(world) == ["chat_a", "chat_b"]


def test_discarded_chat_is_listed_as_discarded(world: World) -> None:
    world.chat(HUSAM, COACH, chat_id="chat_a")
    world.app.chat_admin.discard(TENANT, "chat_a", HUSAM.ref)
    [chat] = operator(world).get(CHATS).body["items"]
    assert chat["discarded_at"] is not None


def test_chat_from_before_the_list_joins_it_with_its_next_upkeep(world: World) -> None:
    world.chat(HUSAM, COACH, chat_id="chat_a", respond="manual")
    key = Chat.key_of(TENANT, "chat_a")
    world.table.write(Update(key, set={"gsi1pk": None, "gsi1sk": None}))
    assert ids(world) == []
    world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id="chat_a"))
    assert ids(world) == ["chat_a"]


def test_tenant_chats_are_only_for_operators_of_the_tenant(world: World) -> None:
    world.chat(HUSAM, COACH, chat_id="chat_a")
    assert operator(world, tenant="other").get(CHATS).body["items"] == []
    assert Client(world, sub=HUSAM.id).get(CHATS).status in {403, 404}
    assert operator(world).get(CHATS, cursor="none").status == 400
    assert operator(world).get(CHATS).status == 200
    [entry, *_] = operator(world).get("/v1/audit").body["items"]
    assert (entry["verb"], entry["kind"], entry["route"]) == ("read", "chat", f"GET {CHATS}")
