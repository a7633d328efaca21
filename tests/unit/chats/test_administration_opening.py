"""A chat that is opened under a client's own id is opened once, however often it is asked for."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from skein.errors import Conflict
from skein.models.api.chats import MemberRequest, NewChat
from skein.models.chats.chat import Chat
from skein.models.common.base import NamedMember
from skein.services.chats.opening import OpenedChat
from tests.support.agents import rival
from tests.support.api_client import Client
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import MeanwhileTable

HUSAM, BEN, COACH = person(), person("usr_ben", "Ben"), bot()
BODY: dict[str, Any] = {
    "client_id": "mine",
    "kind": "group",
    "title": "Alpha",
    "members": [{"kind": "agent", "id": "agt_a"}, {"kind": "user", "id": "usr_ben"}],
}


@pytest.fixture
def world() -> World:
    world = World(overrides={"table": MeanwhileTable()})
    world.table = rival(world)
    world.agent()
    world.known(HUSAM, BEN)
    world.chat(HUSAM, BEN, chat_id="chat_shared")
    return world


def create(world: World, by: NamedMember = HUSAM, **changes: Any) -> OpenedChat:
    return world.app.chat_admin.create(TENANT, by, NewChat.model_validate(BODY | changes))


def chats(world: World) -> list[str]:
    found = [key.pk for key in world.table.all_keys() if key.sk == "META" and "#CHAT#" in key.pk]
    return [pk for pk in found if not pk.endswith("chat_shared")]


def test_opening_a_chat_again_answers_200_with_the_same_body(world: World) -> None:
    client = Client(world)
    first, second = (client.post("/v1/chats", BODY) for _ in range(2))
    assert (first.status, second.status) == (201, 200)
    assert first.body == second.body
    assert len(chats(world)) == 1


def test_opening_an_existing_chat_returns_it_unchanged(world: World) -> None:
    chat = create(world).chat
    world.post("Hello", HUSAM, chat_id=chat.id)
    world.app.agents.delete(TENANT, COACH.id)
    again = create(world, title="Beta", kind="group", members=[])
    assert not again.created
    assert (again.chat.title, again.chat.last_seq) == ("Alpha", 1)
    assert again.chat.roster == (HUSAM, COACH, BEN)


def test_an_id_is_its_callers_own_and_without_one_every_chat_is_new(world: World) -> None:
    opened = [create(world), create(world, BEN), create(world, client_id="other")]
    opened += [create(world, client_id=None) for _ in range(2)]
    assert all(each.created for each in opened)
    assert len({each.chat.id for each in opened}) == 5
    ann = Client(world, tenant="other").post("/v1/chats", BODY | {"members": []})
    assert (ann.status, ann.body["last_seq"]) == (201, 0)


def test_open_chat_again_after_leaving_reveals_nothing(world: World) -> None:
    chat = create(world).chat
    world.app.chat_admin.remove_member(TENANT, chat.id, HUSAM.ref, HUSAM.ref)
    with pytest.raises(Conflict, match="has left"):
        create(world)
    answer = Client(world).post("/v1/chats", BODY)
    assert (answer.status, answer.code) == (409, "conflict")


def test_concurrent_open_returns_the_chat_that_was_stored_first(world: World) -> None:
    table = rival(world)
    others: list[OpenedChat] = []
    table.before = ("META", lambda: others.append(create(world)))
    mine = create(world)
    assert [mine.created, others[0].created] == [False, True]
    assert mine.chat == others[0].chat
    assert len(chats(world)) == 1


def test_concurrent_creates_with_one_client_id_open_one_chat(world: World) -> None:
    members = [MemberRequest(kind="user", id=f"usr_{n:02d}") for n in range(99)]
    full = [member.model_dump() for member in members]
    world.known(*(person(member.id, "Somebody") for member in members))
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: create(world, members=full), range(8)))
    assert sorted(each.created for each in opened) == [False] * 7 + [True]
    [chat_id] = {each.chat.id for each in opened}
    stored = world.table.get(Chat.key_of(TENANT, chat_id))
    assert stored is not None
    assert all(each.chat == Chat.from_item(stored) for each in opened)
    assert all(world.membership(member.ref, chat_id).active for member in opened[0].chat.roster)


def test_open_chat_gives_id_that_does_not_follow_from_creator_and_client_id(world: World) -> None:
    other = World()
    other.agent()
    other.known(HUSAM, BEN)
    other.ids.ulid()  # ids of two worlds differ, as those of two moments do
    ids = {create(each).chat.id for each in (world, other)}
    assert len(ids) == 2


@pytest.mark.parametrize("client_id", ["", "x" * 129, 5, "a\0b"])
def test_an_id_that_does_not_fit_is_422(world: World, client_id: object) -> None:
    assert Client(world).post("/v1/chats", BODY | {"client_id": client_id}).status == 422
    assert chats(world) == []
