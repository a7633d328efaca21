"""The words of the team: how prompts, memories and recall show them, and how they are erased."""

import json
from typing import Any

from skein.models.runs.completion import ModelRequest
from skein.recall.models.stored import RecallPassage
from tests.support.agents import COACH, settle
from tests.support.api_client import WHY, Client, operator
from tests.support.builders import TENANT, World
from tests.support.desk import Desk
from tests.support.erasure import BEN, MARK, ZOE, erase, indexed, lines_of, world_of
from tests.support.live import connect

CHAT = "chat_1"


def held(world: World, **chat: Any) -> Desk:
    world.known(BEN)
    world.chat(ZOE, *([] if chat.get("kind") == "direct" else [BEN]), COACH, **chat)
    world.post(f"Do you know {MARK}?", ZOE)
    settle(world)
    mia = Desk(world)
    assert mia.take().status == 200
    return mia


def prompt_of(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


def test_next_prompt_names_the_team_and_shows_the_briefing() -> None:
    world = world_of()
    mia = held(world)
    mia.say("Your parcel comes on Friday")
    mia.hand_back("I promised Friday")
    world.post("Thanks", BEN)
    settle(world)
    prompt = prompt_of(world.model.requests[-1])
    assert 'Mia (team): "Your parcel comes on Friday"' in prompt
    assert "Mia (team) (human)" in prompt
    assert "HANDED BACK: Mia (team) held this chat after msg:1 and handed it back" in prompt
    assert 'told you: "I promised Friday"' in prompt


def test_roles_show_the_team_as_a_human_and_never_as_the_agent() -> None:
    world = world_of()
    world.agent(COACH.id, COACH.name)
    mia = held(world, kind="direct", visibility="private")
    mia.say("Your parcel comes on Friday")
    mia.hand_back()
    world.post("Thanks", ZOE)
    settle(world)
    messages = world.model.requests[-1].messages
    [said] = [message for message in messages if "on Friday" in message.content]
    assert (said.role, said.content) == ("user", "[Mia (team) (human)] Your parcel comes on Friday")


def test_team_messages_are_consolidated_into_memories() -> None:
    world = world_of()
    mia = held(world, consolidate=True)
    asked: list[str] = []

    def memories(request: ModelRequest) -> str:
        asked.append(prompt_of(request))
        return json.dumps({"journal": ["Mia promised a parcel."], "core": []})

    world.model.memories.extend([memories] * 3)
    mia.say("Your parcel comes on Friday")
    mia.hand_back()
    world.hours_pass(8)
    [prompt] = asked
    assert 'Mia (team) (human): "Your parcel comes on Friday"' in prompt


def test_words_of_the_team_are_recalled_under_their_name() -> None:
    world = world_of()
    mia = held(world)
    mia.say("The parcel has the number 4711 and comes on Friday")
    mia.hand_back()
    indexed(world)
    path, query = f"/v1/agents/{COACH.id}/recall", {"q": "number of the parcel", "reason": WHY}
    found = operator(world).get(path, chat_id=CHAT, **query)
    [sender] = [each["sender"] for each in found.body["items"] if "4711" in each["text"]]
    assert sender == {"kind": "team", "id": "op_mia", "name": "Mia"}
    passages = [item for item in world.table.all_items().values() if "recall_author" in item]
    [made] = [p for p in map(RecallPassage.from_item, passages) if p.name == "Mia"]
    assert made.recall_author == "team:op_mia"
    assert made.made_from.writers.empty


def test_erasure_deletes_team_messages_and_the_briefing() -> None:
    world = world_of()
    mia = held(world, kind="direct", visibility="private")
    mia.say(f"You asked: Do you know {MARK}?", "1")
    mia.hand_back(f"She asks about {MARK}")
    settle(world)
    erase(world)
    assert [key for key, text in lines_of(world) if MARK in text] == []
    assert [message.kind for message in world.messages()] == ["erased", "erased"]


def test_deleted_message_takes_the_briefing_along() -> None:
    world = world_of()
    mia = held(world)
    mia.hand_back(f"She asks about {MARK}")
    world.app.message_deletion.delete(TENANT, ZOE.ref, CHAT, 1)
    for _ in range(5):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    left = [key for key, text in lines_of(world) if MARK in text]
    assert [key for key in left if "USER" not in key] == []


def test_export_of_a_person_has_the_team_and_the_briefing_of_their_direct_chat() -> None:
    world = world_of()
    mia = held(world, kind="direct", visibility="private")
    mia.say("Your parcel comes on Friday")
    mia.hand_back("I promised Friday")
    exported = operator(world).get(f"/v1/users/{ZOE.id}/export").body
    senders = [message["sender"]["name"] for message in exported["messages"]]
    assert senders == [ZOE.name, "Mia"]
    assert "I promised Friday" in json.dumps(exported["kept"])


def test_people_receive_words_of_the_team_over_the_live_channel() -> None:
    world = world_of()
    world.attach_feed()
    mia = held(world, kind="direct", visibility="private")
    connect(world, ZOE.id, "phone")
    world.drain()
    mia.say("Your parcel comes on Friday")
    world.drain()
    [frame] = [each for each in world.sockets.frames("phone") if each["type"] == "message"]
    message = frame["message"]
    assert (message["kind"], message["text"]) == ("team", "Your parcel comes on Friday")
    assert message["sender"] == {"kind": "team", "id": "op_mia", "name": "Mia"}
    own = Client(world, sub=ZOE.id).get("/v1/chats").body["items"]
    assert [(chat["unread"], chat["last_message"]["sender"]["kind"]) for chat in own] == [
        (1, "team")
    ]
