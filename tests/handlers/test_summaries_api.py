"""What operators and people see of summaries: an agent's instruction, and a chat's summary."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_client import Client, operator
from tests.support.builders import World, bot, person

HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
DEFAULT = (
    (Path(__file__).resolve().parents[2] / "prompts" / "agent_summary_instruction.md")
    .read_text(encoding="utf-8")
    .strip()
)
COOLDOWN = 300


def _record(text: str) -> str:
    return json.dumps({"summary": text, "lines": ["One.", "Two."]})


def _world(**chat: Any) -> World:
    world = World()
    world.agent()
    world.known(AHMAD)
    world.chat(HUSAM, COACH, respond="manual", **chat)
    world.chat_elsewhere(HUSAM, COACH)
    return world


def _talk(world: World, count: int) -> None:
    for n in range(count):
        world.post(f"fact {n}", HUSAM)
    world.drain()


def _asked(world: World) -> str:
    """What the model was asked last for an agent's note."""
    return next(
        request.messages[0].content
        for request in reversed(world.model.summary_requests)
        if "lines" in str(request.answer_schema)
    )


# ---------------------------------------------------------------------- an agent's instruction


def test_instruction_of_the_api_reaches_the_model() -> None:
    world = _world()
    admin = operator(world)
    answer = admin.patch("/v1/agents/agt_a", {"summary_instruction": "Only numbers."})
    assert (answer.status, answer.body["summary_instruction"]) == (200, "Only numbers.")
    assert admin.get("/v1/agents/agt_a").body["summary_instruction"] == "Only numbers."
    _talk(world, 2)
    assert "Only numbers." in _asked(world)
    assert DEFAULT not in _asked(world)


def test_an_agent_can_be_made_with_one() -> None:
    admin = operator(World())
    new = {"name": "Analyst", "summary_instruction": "Only numbers."}
    answer = admin.post("/v1/agents", new)
    assert (answer.status, answer.body["summary_instruction"]) == (201, "Only numbers.")


@pytest.mark.parametrize("blank", [None, "", "  \n\t "])
def test_a_blank_instruction_is_the_default(blank: str | None) -> None:
    world = _world()
    admin = operator(world)
    admin.patch("/v1/agents/agt_a", {"summary_instruction": "Only numbers."})
    assert admin.patch("/v1/agents/agt_a", {"summary_instruction": blank}).status == 200
    _talk(world, 2)
    assert DEFAULT in _asked(world)
    assert "Only numbers." not in _asked(world)


def test_an_instruction_has_ten_thousand_characters_at_most() -> None:
    world = _world()
    admin = operator(world)
    longest = "\u00e9" * 10_000
    answer = admin.patch("/v1/agents/agt_a", {"summary_instruction": longest})
    assert (answer.status, answer.body["summary_instruction"]) == (200, longest)
    for call in (
        admin.patch("/v1/agents/agt_a", {"summary_instruction": f"{longest}x"}),
        admin.post("/v1/agents", {"name": "B", "summary_instruction": f"{longest}x"}),
    ):
        assert (call.status, call.code) == (422, "unprocessable")
    assert admin.get("/v1/agents/agt_a").body["summary_instruction"] == longest


def test_instruction_that_looks_like_a_template_reaches_the_model_unchanged() -> None:
    world = _world()
    words = "Give ${identity} and $$ and $previous {lines}"
    operator(world).patch("/v1/agents/agt_a", {"summary_instruction": words})
    _talk(world, 2)
    assert words in _asked(world)


# ---------------------------------------------------------------------- a chat's summary


def test_a_chat_shows_its_summary_wherever_it_is_shown() -> None:
    world = _world()
    husam = Client(world)
    assert husam.get("/v1/chats/chat_1").body["summary"] is None
    world.model.summaries.extend([_record("Husam gave ten facts.")] * 2)
    _talk(world, 10)
    shown = [
        husam.get("/v1/chats/chat_1").body,
        next(each for each in husam.get("/v1/chats").body["items"] if each["id"] == "chat_1"),
        husam.patch("/v1/chats/chat_1", {"title": "Beta"}).body,
        husam.put("/v1/chats/chat_1/members/user/usr_ahmad").body,
    ]
    assert [chat["summary"] for chat in shown] == ["Husam gave ten facts."] * 4


def test_a_chat_shows_the_newest_summary_and_not_the_one_that_prompts_show() -> None:
    world = _world(kind="direct", visibility="private")
    for n in range(3):
        world.model.summaries.extend([_record(f"Summary {n}.")] * 2)
        _talk(world, 15)
        world.clock.advance(COOLDOWN)
        world.tick()
        world.drain()
    newest = Client(world).get("/v1/chats/chat_1").body["summary"]
    record = world.stored_chat().summary
    assert record is not None
    assert newest == record.text


def test_new_member_of_private_chat_does_not_get_the_earlier_summary() -> None:
    world = _world(visibility="private")
    husam, ahmad = Client(world), Client(world, sub=AHMAD.id, claims={"name": "Ahmad"})
    world.model.summaries.extend([_record("The secret is 7.")] * 2)
    _talk(world, 10)
    assert husam.get("/v1/chats/chat_1").body["summary"] == "The secret is 7."
    husam.put("/v1/chats/chat_1/members/user/usr_ahmad")
    assert ahmad.post("/v1/chats/chat_1/invitation", {"accept": True}).status == 204
    for client in (husam, ahmad):
        assert client.get("/v1/chats/chat_1").body["summary"] is None
    world.clock.advance(COOLDOWN)
    world.model.summaries.extend([_record("They greeted Ahmad.")] * 2)
    _talk(world, 3)
    assert ahmad.get("/v1/chats/chat_1").body["summary"] == "They greeted Ahmad."
    for request in world.model.summary_requests[-2:]:
        assert "The secret is 7." not in str(request.messages)


def test_no_agents_note_is_shown_by_the_api() -> None:
    world = _world()
    world.model.summaries.extend([json.dumps({"lines": ["Keep an eye", "on Husam."]})] * 4)
    _talk(world, 5)
    assert world.membership(COACH).summary is not None
    for path in ("/v1/chats", "/v1/chats/chat_1", "/v1/chats/chat_1/messages"):
        assert "Keep an eye" not in str(Client(world).get(path).body)
