"""`send_message` says words for people, and in text mode only in other chats."""

from typing import Any

import pytest

from skein.agent.tools.send_message import NOTHING_TO_SAY, TEXT_GOES_HERE
from skein.models.common.base import NamedMember
from tests.support.agents import results_of, settle, the_run
from tests.support.builders import World, bot, person
from tests.support.fakes import Script, ScriptedModel, says

HUSAM, COACH = person(), bot()
TOOLS = ("send_message", "read_messages")


def world_with(
    *script: Script,
    other_chat: bool = True,
    visibility: str = "private",
    others: tuple[NamedMember, ...] = (HUSAM,),
    **agent: Any,
) -> World:
    """A direct chat in which Husam has said hello, and maybe another chat with the agent."""
    world = World(model=ScriptedModel.saying(*script, default="Hello!"))
    world.agent(enabled_tools=TOOLS, **agent)
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    if other_chat:
        sales = {"title": "Sales", "respond": "manual", "visibility": visibility}
        world.chat(*others, COACH, chat_id="chat_2", **sales)
    world.post("Hello", HUSAM)
    settle(world)
    return world


def schema_of_request(world: World) -> dict[str, Any] | None:
    tools = {tool.name: tool.parameters for tool in world.model.requests[0].tools}
    return tools.get("send_message")


def test_text_mode_without_another_chat_offers_no_send_message() -> None:
    world = world_with(other_chat=False)
    assert schema_of_request(world) is None
    assert [tool.name for tool in world.model.requests[0].tools] == ["read_messages"]


def test_private_chat_without_shared_chats_offers_no_send_message() -> None:
    world = world_with(visibility="open", others=(person("sarah", "Sarah"),))
    assert schema_of_request(world) is None
    assert "you cannot post in chats that others read" in world.model.prompt


def test_private_chat_whose_person_can_consent_offers_send_message_to_other_chats() -> None:
    world = world_with(visibility="open")
    schema = schema_of_request(world)
    assert schema is not None
    assert "also_in" in schema["properties"]
    assert "the person is asked first" in world.model.prompt


def test_private_chat_whose_words_may_go_to_the_other_chat_mentions_no_limit() -> None:
    assert "you cannot post" not in world_with().model.prompt


def test_text_mode_with_another_chat_asks_for_its_id() -> None:
    schema = schema_of_request(world_with())
    assert schema is not None
    assert {"text", "chat_id"} <= set(schema["required"])
    assert schema["properties"]["chat_id"]["type"] == "string"


@pytest.mark.parametrize("other_chat", [True, False])
def test_tools_mode_offers_send_message_for_the_active_chat(*, other_chat: bool) -> None:
    world = world_with(says("Hi"), other_chat=other_chat, reply_mode="tools")
    schema = schema_of_request(world)
    assert schema is not None
    assert "chat_id" not in schema["required"] or "anyOf" in schema["properties"]["chat_id"]
    assert world.texts()[1:2] == ["Hi"]


@pytest.mark.parametrize("arguments", [{}, {"chat_id": "chat_1"}, {"wait": True}])
def test_message_to_the_active_chat_in_text_mode_is_refused_with_advice(
    arguments: dict[str, Any],
) -> None:
    world = world_with(says("Hi", **arguments))
    [result] = results_of(world, the_run(world))
    assert (result.status, result.content) == ("correctable", f"error: {TEXT_GOES_HERE}")
    assert world.texts() == ["Hello", "Hello!"]


def test_message_to_another_chat_in_text_mode_is_sent() -> None:
    world = world_with(says("Hi, all", chat_id="chat_2"))
    assert world.texts("chat_2") == ["Hi, all"]
    assert world.texts() == ["Hello", "Hello!"]


def test_question_in_another_chat_in_text_mode_waits_there() -> None:
    world = world_with(says("Figures?", chat_id="chat_2", wait=True))
    assert the_run(world).status == "waiting"
    world.post("Ten", HUSAM, chat_id="chat_2")
    settle(world)
    assert the_run(world).status == "done"


def test_question_in_text_mode_is_the_text_and_its_reply_starts_the_next_run() -> None:
    world = World(model=ScriptedModel.saying("Shall I?", "Done."))
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    for text in ("Publish", "Yes"):
        world.post(text, HUSAM)
        settle(world)
    assert world.texts() == ["Publish", "Shall I?", "Yes", "Done."]
    assert "Shall I?" in [message.content for message in world.model.requests[1].messages]


@pytest.mark.parametrize("text", ["[Silence].", "[Coach (agent)] [silence]", "\u200b"])
def test_message_without_words_is_refused_with_advice(text: str) -> None:
    world = world_with(says(text), "[silence]", reply_mode="tools")
    [result] = results_of(world, the_run(world))
    assert (result.status, result.content) == ("correctable", f"error: {NOTHING_TO_SAY}")
    assert world.texts() == ["Hello"]


def test_message_is_sent_without_labels() -> None:
    world = world_with(says("[Coach (agent)] Hi. [silence]"), reply_mode="tools")
    assert world.texts()[1:2] == ["Hi."]
