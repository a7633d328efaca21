"""Operators list an agent's chats, without titles and words."""

import pytest

from tests.support.api_client import Client, operator
from tests.support.builders import World, bot, person
from tests.support.fakes import ScriptedModel

HUSAM, LENA, COACH, GUIDE = person(), person("usr_lena", "Lena"), bot(), bot("agt_b", "Guide")
CHATS = "/v1/agents/agt_a/chats"


@pytest.fixture
def world() -> World:
    world = World(model=ScriptedModel.saying(default="[silence]"))
    world.agent()
    world.agent("agt_b", "Guide")
    world.chat(HUSAM, LENA, COACH, chat_id="chat_old", title="Knee surgery")
    world.chat(HUSAM, LENA, COACH, chat_id="chat_new")
    world.chat(HUSAM, COACH, chat_id="chat_own", kind="direct", visibility="private")
    world.chat(HUSAM, GUIDE, chat_id="chat_else")
    world.post("Hello", HUSAM, chat_id="chat_old")
    world.clock.advance(1)
    world.post("My knee hurts", HUSAM, chat_id="chat_new")
    world.drain()
    return world


@pytest.fixture
def admin(world: World) -> Client:
    client = operator(world)
    for user in (HUSAM, LENA):
        client.post("/v1/users", {"id": user.id, "name": user.name})
    return client


def ids(admin: Client, **query: str) -> list[str]:
    return [chat["id"] for chat in admin.all_pages(CHATS, limit=1, **query)]


def test_agent_chats_are_the_open_ones_newest_first(admin: Client) -> None:
    assert ids(admin) == ["chat_new", "chat_old"]


def test_agent_chats_with_a_user_are_the_open_and_private_ones_of_both(admin: Client) -> None:
    assert sorted(ids(admin, user_id="usr_husam")) == ["chat_new", "chat_old", "chat_own"]
    assert sorted(ids(admin, user_id="usr_lena")) == ["chat_new", "chat_old"]


def test_agent_chat_shows_no_title_and_no_words(admin: Client) -> None:
    newest, oldest = admin.get(CHATS).body["items"]
    assert newest == {
        "id": "chat_new",
        "kind": "group",
        "visibility": "open",
        "last_seq": 1,
        "last_message_at": newest["last_message_at"],
        "members": 3,
    }
    assert newest["last_message_at"] > oldest["last_message_at"]


def test_agent_chats_omit_discarded_chats_and_chats_that_the_agent_has_left(
    world: World, admin: Client
) -> None:
    client = Client(world, sub="usr_husam")
    assert client.delete("/v1/chats/chat_new").status == 204
    assert client.delete("/v1/chats/chat_old/members/agent/agt_a").status == 204
    assert ids(admin) == []
    assert ids(admin, user_id="usr_husam") == ["chat_own"]


def test_agent_chats_are_audited_with_the_user(admin: Client) -> None:
    admin.get(CHATS, user_id="usr_husam")
    entry = admin.get("/v1/audit").body["items"][0]
    assert (entry["verb"], entry["kind"], entry["who"]) == ("read", "chat", "usr_op")
    assert entry["ids"] == {"agent_id": "agt_a", "user_id": "usr_husam"}
