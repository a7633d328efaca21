"""Choices in the HTTP API: how a message shows its question, and how people answer."""

from typing import Any

import pytest

from skein.models.chats.chat import Via
from skein.models.chats.person_choices import PersonChoices
from tests.support.api_client import Client
from tests.support.builders import TENANT, World
from tests.support.choices import AHMAD, COACH, HUSAM, ask, choices_of

MESSAGES = "/v1/chats/chat_1/messages"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, AHMAD, COACH, respond="manual")
    return world


def answered(client: Client, client_id: str = "a", **choice: Any) -> Any:
    return client.post(MESSAGES, {"choice": {"seq": 1} | choice, "client_id": client_id})


def test_question_is_shown_with_its_options_and_status(world: World, ahmad: Client) -> None:
    ask(world)
    [shown] = ahmad.get(MESSAGES).body["items"]
    assert (shown["kind"], shown["via"]) == ("choice", None)
    assert shown["choice"] == {
        "question": "Shall I book it?",
        "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
        "addressee": "usr_husam",
        "purpose": "question",
        "expires_at": "2026-02-19T12:00:00.000Z",
        "status": "open",
        "answer": None,
        "repeats": None,
    }
    world.clock.advance(24 * 3_600)
    [shown] = ahmad.get(MESSAGES).body["items"]
    assert shown["choice"]["status"] == "expired"


def test_answer_is_a_message_and_is_shown_in_the_question(world: World, husam: Client) -> None:
    ask(world)
    answer = answered(husam, option="no")
    assert answer.status == 201
    facts = ("kind", "text", "reply_to", "choice")
    assert [answer.body[name] for name in facts] == ["text", "No", 1, None]
    question, _ = husam.get(MESSAGES).body["items"]
    assert question["choice"]["status"] == "answered"
    at = "2026-02-18T12:00:00.000Z"
    assert question["choice"]["answer"] == {"option": "no", "seq": 2, "at": at}
    again = answered(husam, option="no")
    assert (again.status, again.body) == (200, answer.body)


def test_answer_in_words(world: World, husam: Client) -> None:
    ask(world, options=())
    assert answered(husam, text="On Monday").body["text"] == "On Monday"


def test_answer_starts_one_run_of_the_agent_that_asked(world: World, husam: Client) -> None:
    ask(world)
    answered(husam, option="yes")
    world.drain()
    assert [run.trigger.seq for run in world.runs()] == [2]
    assert world.texts()[-1] == "Hello!"


@pytest.mark.parametrize(
    ("choice", "status"),
    [
        ({"option": "maybe"}, 422),
        ({"text": "Yes"}, 422),
        ({}, 422),
        ({"option": "yes", "text": "Yes"}, 422),
        ({"seq": 2, "option": "yes"}, 404),
        ({"seq": 0, "option": "yes"}, 422),
    ],
)
def test_wrong_answer_is_refused(
    world: World, husam: Client, choice: dict[str, Any], status: int
) -> None:
    ask(world)
    assert answered(husam, **choice).status == status
    assert len(world.messages()) == 1


@pytest.mark.parametrize("more", [{"text": "Yes"}, {"reply_to": 1}])
def test_answer_has_no_text_or_reply_of_its_own(
    world: World, husam: Client, more: dict[str, Any]
) -> None:
    ask(world)
    body = {"choice": {"seq": 1, "option": "yes"}, "client_id": "a"}
    assert husam.post(MESSAGES, body | more).status == 422


def test_message_without_text_and_choice_is_refused(husam: Client) -> None:
    assert husam.post(MESSAGES, {"client_id": "a"}).status == 422


def test_only_the_addressee_may_answer(world: World, ahmad: Client) -> None:
    ask(world)
    assert answered(ahmad, option="yes").status == 403
    assert answered(Client(world, sub="usr_none"), option="yes").status == 404


def test_question_that_is_over_is_a_conflict(world: World, husam: Client) -> None:
    ask(world)
    answered(husam, option="yes")
    over = answered(husam, "b", option="no")
    assert over.status == 409
    assert over.body["details"] == {"status": "answered"}
    ask(world, client_id="ask-2")
    world.clock.advance(24 * 3_600)
    late = answered(husam, "c", seq=3, option="no")
    assert late.status == 409
    assert late.body["details"] == {"status": "expired"}


def test_open_choices_are_listed_for_their_addressee(
    world: World, husam: Client, ahmad: Client
) -> None:
    assert husam.get("/v1/me/choices").body == {"items": [], "next_cursor": None}
    ask(world)
    ask(world, client_id="ask-2", options=(), question="When?")
    first, second = husam.get("/v1/me/choices").body["items"]
    assert first == {
        "chat_id": "chat_1",
        "chat_title": "Project Alpha",
        "seq": 1,
        "agent_id": "agt_a",
        "purpose": "question",
        "question": "Shall I book it?",
        "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
        "expires_at": "2026-02-19T12:00:00.000Z",
        "invitation": None,
    }
    assert (second["seq"], second["options"]) == (2, [])
    assert ahmad.get("/v1/me/choices").body["items"] == []
    answered(husam, option="yes")
    assert [each["seq"] for each in husam.get("/v1/me/choices").body["items"]] == [2]
    world.clock.advance(24 * 3_600)
    assert husam.get("/v1/me/choices").body["items"] == []


@pytest.mark.parametrize("end", ["left", "discarded"])
def test_choices_of_chats_without_the_caller_are_not_listed(
    world: World, husam: Client, end: str
) -> None:
    ask(world)
    member = "/members/user/usr_husam" if end == "left" else ""
    assert husam.delete(f"/v1/chats/chat_1{member}").status == 204
    assert husam.get("/v1/me/choices").body["items"] == []


def test_words_of_an_agent_are_shown_without_the_chat_of_the_choice(
    world: World, ahmad: Client
) -> None:
    via = Via(agent_id="agt_a", agent_name="Coach", chat_id="chat_private", choice_seq=7)
    world.post("I am late", HUSAM, via=via)
    [shown] = ahmad.get(MESSAGES).body["items"]
    assert shown["via"] == {"agent_id": "agt_a", "agent_name": "Coach", "choice_seq": None}


def test_open_choices_are_one_item_of_the_person(world: World) -> None:
    ask(world)
    assert world.table.get(PersonChoices.key_of(TENANT, HUSAM.id)) is not None
    assert choices_of(world).version == 1
