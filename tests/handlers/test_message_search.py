"""`GET /v1/me/messages`: people search the messages of their own chats."""

from typing import Any

import pytest

from skein.models.chats.chat import Message
from skein.models.common.storage import Update
from skein.recall.message_search import MAX_INDEXES, indexes_of
from tests.support.api_client import Client, operator
from tests.support.builders import TENANT, World, bot, person
from tests.support.recalling import COACH, DEPOSIT, HUSAM, LENA, SECRET, deposits, indexed

CLERK = bot("agt_b", "Clerk")
SEARCH = "/v1/me/messages"


def stage() -> World:
    """Return a world with two agents, and messages about deposits in two chats."""
    world = deposits()
    world.agent("agt_b", "Clerk")
    return world


def found(world: World, who: str, q: str = "How high is the deposit?", **query: Any) -> list[Any]:
    answer = Client(world, sub=who).get(SEARCH, q=q, **query)
    assert answer.status == 200, answer.body
    items: list[Any] = answer.body["items"]
    return items


def texts(world: World, who: str, q: str = "How high is the deposit?", **query: Any) -> list[str]:
    return [item["text"] for item in found(world, who, q, **query)]


def test_search_returns_a_message_with_its_place_and_score() -> None:
    [item] = found(stage(), HUSAM.id)
    assert isinstance(item.pop("score"), float)
    assert item == {
        "chat_id": "chat_1",
        "seq": 1,
        "sender": {"kind": "user", "id": "usr_husam", "name": "Husam"},
        "text": DEPOSIT,
        "created_at": "2026-02-18T12:00:00.000Z",
    }


def test_search_finds_messages_of_the_own_chats_alone() -> None:
    world = stage()
    assert texts(world, HUSAM.id) == [DEPOSIT]
    assert set(texts(world, LENA.id)) == {DEPOSIT, SECRET}
    assert texts(world, "usr_nobody") == []


def test_search_in_open_chats_of_others_finds_nothing() -> None:
    """The open chats of an agent share one index, also those that the person is not in."""
    world = stage()
    world.known(person("usr_ahmad", "Ahmad"))
    world.chat(person("usr_ahmad", "Ahmad"), COACH, chat_id="chat_3", respond="manual")
    assert texts(world, "usr_ahmad") == []


def test_scores_do_not_depend_on_messages_that_the_person_may_not_read() -> None:
    scores = []
    for text in ("We need milk", "The deposit, the deposit, the landlord of the flat in Hafen"):
        world = stage()
        world.chat(LENA, COACH, chat_id="chat_3", respond="manual")  # open, without Husam
        world.post(text, LENA, chat_id="chat_3")
        indexed(world, "chat_3")
        scores.append([(item["seq"], item["score"]) for item in found(world, HUSAM.id)])
    assert scores[0] == scores[1] != []


def test_search_after_leaving_finds_nothing_of_the_chat() -> None:
    world = stage()
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, HUSAM.ref)
    assert texts(world, HUSAM.id) == []


def test_search_after_joining_finds_earlier_messages_as_the_list_of_messages_shows_them() -> None:
    world = stage()
    world.add(HUSAM, by=LENA, chat_id="chat_2")
    listed = Client(world, sub=HUSAM.id).get("/v1/chats/chat_2/messages")
    assert SECRET in [item["text"] for item in listed.body["items"]]
    assert SECRET in texts(world, HUSAM.id)


def test_search_finds_nothing_of_a_chat_before_the_invitation_is_accepted() -> None:
    world = stage()
    world.app.chat_admin.remove_member(TENANT, "chat_1", LENA.ref, LENA.ref)
    world.app.chat_admin.add_member(TENANT, "chat_2", LENA, HUSAM.ref)
    assert world.stored_chat("chat_2").invitation(HUSAM.id) is not None
    assert SECRET not in texts(world, HUSAM.id)


def test_search_never_finds_a_deleted_message() -> None:
    world = stage()
    lena = Client(world, sub=LENA.id)
    assert lena.delete("/v1/chats/chat_2/messages/1").status == 204
    assert texts(world, LENA.id) == [DEPOSIT]


def test_search_never_finds_an_erased_message_that_is_still_indexed() -> None:
    world = stage()
    key = Message.key_of(TENANT, "chat_1", 1)
    world.table.write(Update(key, set={"kind": "erased", "text": ""}))
    assert texts(world, HUSAM.id) == []


def test_search_finds_nothing_in_a_discarded_chat() -> None:
    world = stage()
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    assert texts(world, HUSAM.id) == []


def test_search_of_a_chat_with_two_agents_returns_each_message_once() -> None:
    world = stage()
    world.chat(HUSAM, COACH, CLERK, chat_id="chat_4", respond="manual")
    world.post("My locker is number 218", HUSAM, chat_id="chat_4")
    indexed(world, "chat_4")
    assert texts(world, HUSAM.id, "locker").count("My locker is number 218") == 1


def test_search_returns_at_most_the_limit() -> None:
    assert len(texts(stage(), LENA.id, limit=1)) == 1


def test_search_costs_the_same_for_many_messages() -> None:
    costs = []
    for count in (1, 60):
        world = stage()
        for number in range(count):
            world.post(f"The deposit of flat {number} is due", HUSAM)
        indexed(world, "chat_1")
        world.table.log.clear()
        found(world, HUSAM.id, limit=50)
        costs.append([call.method for call in world.table.log])
    assert sorted(costs[0]) == sorted(costs[1])


@pytest.mark.parametrize("query", [{}, {"q": ""}, {"q": "x" * 501}, {"q": "a", "limit": 51}])
def test_search_with_invalid_parameters_is_refused(query: dict[str, Any]) -> None:
    assert Client(stage(), sub=HUSAM.id).get(SEARCH, **query).status == 422


def test_search_is_for_people() -> None:
    assert operator(stage()).get(SEARCH, q="deposit").status in {403, 404}


def test_at_most_eight_indexes_are_searched_those_of_the_newest_chats_first() -> None:
    world = World()
    chats = []
    for number in range(MAX_INDEXES + 2):
        agent = bot(f"agt_{number}", f"Agent {number}")
        world.agent(agent.id, agent.name)
        world.chat(HUSAM, agent, chat_id=f"chat_{number}")
        chats.append(world.stored_chat(f"chat_{number}"))
    assert indexes_of(chats) == tuple((f"agt_{number}", None) for number in range(MAX_INDEXES))
