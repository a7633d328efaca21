"""Orders of errands: who may be named, whose yes they take, and what is stored and shown."""

from typing import Any

import pytest

from tests.support.agents import results_of
from tests.support.api_client import WHY, Client, operator
from tests.support.builders import person
from tests.support.errands import ALICE, COACH, HOME, SARAH, TEAM, TO_ASK, Errands, asked
from tests.support.fakes import calls

BEN = person("usr_ben", "Ben")
CARL = person("usr_carl", "Carl")


def _result(world: Errands, arguments: dict[str, Any], chat_id: str = HOME) -> str:
    """What the model is told of its call."""
    world.model.script.append(calls(("ask_someone", TO_ASK[1] | arguments)))
    world.asks(chat_id=chat_id)
    return results_of(world, world.runs(chat_id)[-1])[0].content


def test_errand_question_is_sent_only_after_the_asker_consents() -> None:
    world = Errands()
    result = _result(world, {})
    assert "not asked yet" in result
    question = world.messages(HOME)[-1].choice
    assert question is not None
    assert question.question == (
        'Ask Sarah? Alice asks: "when can you come?" Yes sends exactly this.'
    )
    assert (question.purpose, world.errands, world.bodies) == ("consent", [], [])
    world.agrees("no")
    assert (world.errands, world.bodies) == ([], [])


def test_question_of_an_open_chat_is_asked_at_once() -> None:
    world = Errands()
    world.chat(ALICE, SARAH, COACH, chat_id="chat_open", title="Club")
    assert "the question goes to Sarah" in _result(world, {}, "chat_open")
    assert "everybody in your organization" in world.bodies[-1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"person": "Tom"}, "nobody whose name is"),
        ({"person": "Alice"}, "nobody whose name is"),
        ({"person": "Carl"}, "nobody whose name is"),  # of a chat that Alice is not in
        ({"person": "Ben"}, "give one of these ids: usr_ben, usr_ben2"),
        ({"until": "8 days"}, "at most 7 days"),
        ({"until": "soon"}, "until must be"),
    ],
)
def test_order_that_cannot_be_carried_out_is_corrected(
    arguments: dict[str, Any], error: str
) -> None:
    world = Errands()
    world.chat(ALICE, BEN, person("usr_ben2", "Ben"), COACH, chat_id="chat_2")
    world.chat(CARL, COACH, chat_id="chat_3")
    assert error in _result(world, arguments)


def test_errand_in_group_does_not_find_contacts_of_private_chats() -> None:
    world = Errands()
    world.chat(ALICE, BEN, COACH, chat_id="chat_2", visibility="private")
    assert "nobody whose name is" in _result(world, {"person": "Ben"}, TEAM)
    assert "not asked yet" in _result(world, {"person": "Ben"})


def test_several_people_are_one_errand_each_tied_together() -> None:
    world = Errands()
    world.known(BEN)
    world.chat(ALICE, BEN, COACH, chat_id="chat_2", visibility="private")
    _result(world, {"also_ask": ["Ben", "Sarah"]})
    world.agrees()
    ben, sarah = world.errands
    assert (ben.asked.name, sarah.asked.name) == ("Ben", "Sarah")
    assert ben.group_id == sarah.group_id
    assert "Ask Sarah and Ben" in world.texts(HOME)[1]


def test_both_sides_are_shown_one_line() -> None:
    world = asked()
    world.post("And?", ALICE, chat_id=HOME)
    world.drain()
    prompt = world.model.prompt
    assert 'ERRANDS:\n  - "Sarah" was asked "when can you come?", open until 2026-02-20' in prompt
    world.texts_in("What is this?")
    prompt = world.model.prompt
    assert r'"Alice asks: \"when can you come?\""' in prompt
    assert "ERRANDS" not in prompt
    world.post("Hi", SARAH, chat_id=TEAM)
    world.drain()
    assert "when can you come" not in world.model.prompt


def test_asker_and_operators_list_errands() -> None:
    world = asked()
    world.texts_in(f"{world.code} Thursday")
    [own] = Client(world, sub=ALICE.id).get("/v1/me/errands").body["items"]
    assert (own["question"], own["answer"], own["state"]) == (
        "when can you come?",
        "Thursday",
        "answered",
    )
    assert Client(world, sub=SARAH.id).get("/v1/me/errands").body["items"] == []
    admin = operator(world)
    [withheld] = admin.get("/v1/errands").body["items"]
    assert (withheld["state"], withheld["answer"], withheld["question"]) == ("answered", None, None)
    [shown] = admin.get("/v1/errands", reason=WHY).body["items"]
    assert shown == own


def test_question_that_the_asker_has_open_already_is_not_asked_again() -> None:
    world = Errands()
    _result(world, {})
    assert "already asked: " in _result(world, {})
    world.agrees()
    assert len(world.bodies) == 1
