"""A person has an agent forget: the words are found, shown to them alone, and gone after a yes."""

from typing import Any

import pytest

from skein.models.chats.chat import Message
from skein.models.chats.choice import NO, YES
from skein.services.choices.answering import Answering, GivenAnswer
from tests.support.agents import COACH, actor
from tests.support.builders import TENANT, World
from tests.support.erasure import (
    BEN,
    ZOE,
    backup,
    indexed,
    lines_of,
    restoration,
    restored,
    settle,
)
from tests.support.fakes import ScriptedModel, calls

CODE = "quokka"
HOME, GROUP = "chat_home", "chat_group"
ASKS = calls(("forget", {"query": "PIN"}))


def world_of(*script: Any) -> World:
    world = World(model=ScriptedModel.saying(*script, default=calls("end_run")))
    actor(world, reply_mode="text")
    world.known(ZOE, BEN)
    world.chat(ZOE, COACH, chat_id=HOME, kind="direct", visibility="private")
    return world


def told(*then: Any) -> World:
    """Zoë has told her PIN; the agent has saved and said it."""
    saved = ("save_memory", {"text": f"The PIN is {CODE}", "kind": "core"})
    aim = ("set_goal", {"text": f"Keep {CODE}"})
    world = world_of(calls(saved, aim), f"I keep {CODE}", *then)
    world.post(f"My PIN is {CODE}", ZOE, chat_id=HOME)
    settle(world)
    indexed(world)
    return world


def question(world: World) -> Message:
    [asked] = [each for each in world.messages(HOME) if each.kind == "choice"]
    return asked


def answer(world: World, option: str) -> None:
    given = GivenAnswer(
        tenant=TENANT,
        chat_id=HOME,
        person_id=ZOE.id,
        seq=question(world).seq,
        option=option,
        client_id="answer",
    )
    world.app.get(Answering).answer(given)
    finish(world)


def finish(world: World) -> None:
    for _ in range(6):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    settle(world)
    assert not [key for key in world.table.all_keys() if "#ERASURES" in key.pk]


def traces(world: World) -> list[str]:
    return [key for key, text in lines_of(world) if CODE in text or "Forget my" in text]


def test_yes_leaves_no_trace_of_what_is_forgotten() -> None:
    world = told("Nice", ASKS)
    world.post("I like tea", ZOE, chat_id=HOME)
    settle(world)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    assert CODE in question(world).text
    answer(world, YES)
    assert traces(world) == []
    assert "I like tea" in world.texts(HOME)
    assert [e for e in world.table.all_keys() if "FORGETTING" in e.sk] == []
    asked = len(world.model.requests)
    world.post("What is my PIN?", ZOE, chat_id=HOME)
    settle(world)
    shown = [each.content for request in world.model.requests[asked:] for each in request.messages]
    assert shown
    assert not [text for text in shown if CODE in text]


def test_restored_table_holds_nothing_of_what_was_forgotten() -> None:
    old = told(ASKS)
    items = backup(old)
    old.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(old)
    answer(old, YES)
    world = restored(old, items)
    assert traces(world)
    # The request and the question are not in the backup.
    assert set(restoration(world).run()) == {"done", "nothing_to_erase"}
    assert traces(world) == []


def test_no_changes_nothing() -> None:
    world = told(ASKS)
    world.post("Forget my PIN", ZOE, chat_id=HOME)
    settle(world)
    answer(world, NO)
    assert f"My PIN is {CODE}" in world.texts(HOME)


def test_request_in_a_group_is_asked_in_the_direct_chat_and_keeps_words_of_others() -> None:
    world = told(ASKS)
    world.chat(ZOE, BEN, COACH, chat_id=GROUP, respond="mention", visibility="private")
    world.post(f"Her PIN is {CODE}, she told me", BEN, chat_id=GROUP)
    world.post("@Coach forget my PIN", ZOE, chat_id=GROUP)
    settle(world)
    assert [each.kind for each in world.messages(GROUP)].count("choice") == 0
    assert "Words of others stay" in question(world).text
    assert "she told me" not in question(world).text
    answer(world, YES)
    assert world.texts(GROUP) == [f"Her PIN is {CODE}, she told me", ""]
    assert f"My PIN is {CODE}" not in world.texts(HOME)


@pytest.mark.parametrize("query", ["umbrella", "of the"])
def test_what_is_not_found_asks_nothing(query: str) -> None:
    world = told(calls(("forget", {"query": query})), "Nothing")
    world.post("Forget it", ZOE, chat_id=HOME)
    settle(world)
    assert [each for each in world.messages(HOME) if each.kind == "choice"] == []
