"""'Tell the team that I am late', in the app and by SMS: one question, one yes, one post."""

from typing import Any

import pytest

from skein.models.chats.choice import YES
from tests.support.api_client import Client
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, says
from tests.support.sms_choices import REPLY, ready_phone

ALICE, BEN = person("alice", "Alice"), person("ben", "Ben")
COACH = bot()
TEAM: dict[str, Any] = {"chat_id": "chat_team", "title": "Team", "respond": "mention"}
LATE = "Alice is late"
TOLD = "I have asked you"


@pytest.fixture
def world() -> World:
    script = (says(LATE, chat_id="chat_team"), TOLD)
    world = World(model=ScriptedModel.saying(*script, default="Good."))
    world.agent()
    world.known(ALICE, BEN)
    world.chat(ALICE, COACH, kind="direct", visibility="private", title=None)
    world.chat(ALICE, BEN, COACH, visibility="private", **TEAM)
    return world


def say(world: World, text: str) -> None:
    body = {"text": text, "client_id": text}
    assert Client(world, sub=ALICE.id).post("/v1/chats/chat_1/messages", body).status == 201
    world.drain()


def test_app_asks_once_and_posts_once(world: World) -> None:
    alice, ben = Client(world, sub=ALICE.id), Client(world, sub=BEN.id)
    say(world, "Tell the team that I am late")
    [asked] = alice.get("/v1/me/choices").body["items"]
    assert asked["question"] == f'Post in "Team" (Ben): "{LATE}"? Yes posts this in your name.'
    assert ben.get("/v1/chats/chat_team/messages").body["items"] == []

    answer = {"choice": {"seq": asked["seq"], "option": YES}, "client_id": "yes"}
    assert alice.post("/v1/chats/chat_1/messages", answer).status == 201
    world.drain()

    [post] = ben.get("/v1/chats/chat_team/messages").body["items"]
    assert (post["text"], post["sender"]["id"]) == (LATE, ALICE.id)
    assert (post["via"]["agent_id"], post["via"]["agent_name"]) == (COACH.id, "Coach")
    assert alice.get("/v1/me/choices").body["items"] == []
    [consent] = alice.get("/v1/me/consents").body["items"]
    assert [each["status"] for each in consent["posts"]] == ["posted"]


def test_model_learns_the_answer_in_its_next_activation(world: World) -> None:
    say(world, "Tell the team that I am late")
    answer = {"choice": {"seq": 2, "option": YES}, "client_id": "yes"}
    Client(world, sub=ALICE.id).post("/v1/chats/chat_1/messages", answer)
    world.drain()
    say(world, "Did you?")
    told = world.model.requests[-1].messages
    shown = "\n".join(message.content for message in told)
    assert f'Post in "Team" (Ben): "{LATE}"?' in shown
    assert "Yes" in shown.split("Post in")[1]


@pytest.mark.parametrize(
    ("history_format", "entry"),
    [
        ("roles", f"[Alice (by Coach) (human)] {LATE}"),
        ("timeline", f'Alice (by Coach): "{LATE}"'),
    ],
)
def test_prompts_name_the_person_and_the_agent(
    world: World, history_format: str, entry: str
) -> None:
    banker = bot("agt_b", "Banker")
    world.agent(banker.id, banker.name, history_format=history_format)
    world.app.chat_admin.add_member(TENANT, "chat_team", BEN, banker.ref)
    say(world, "Tell the team that I am late")
    answer = {"choice": {"seq": 2, "option": YES}, "client_id": "yes"}
    Client(world, sub=ALICE.id).post("/v1/chats/chat_1/messages", answer)
    world.drain()
    asked = {"text": "@Banker, noted?", "client_id": "noted"}
    Client(world, sub=BEN.id).post("/v1/chats/chat_team/messages", asked)
    world.drain()
    told = "\n".join(message.content for message in world.model.requests[-1].messages)
    assert entry in told


def test_model_learns_that_words_were_not_posted(world: World) -> None:
    say(world, "Tell the team that I am late")
    world.app.chat_admin.remove_member(TENANT, "chat_team", ALICE.ref, ALICE.ref)
    answer = {"choice": {"seq": 2, "option": YES}, "client_id": "yes"}
    Client(world, sub=ALICE.id).post("/v1/chats/chat_1/messages", answer)
    world.drain()
    say(world, "Did you?")
    told = "\n".join(message.content for message in world.model.requests[-1].messages)
    assert 'Not posted in "Team": you are no longer a member of it.' in told


def test_sms_asks_once_and_posts_once() -> None:
    phone = ready_phone()
    world = phone.world
    texter = world.messages(phone.chat_id)[0].sender
    world.chat(texter, BEN, COACH, visibility="private", **TEAM)
    world.model.script.extend([says(LATE, chat_id="chat_team"), TOLD])
    phone.text("Tell the team that I am late")
    [asked] = [body for body in world.sms.bodies if "Post in" in body]
    assert asked.startswith(f'Post in "Team" (Ben): "{LATE}"?')
    codes = dict(REPLY.findall(asked))

    phone.text(codes["Yes"])

    [post] = world.messages("chat_team")
    assert (post.text, post.sender.ref) == (LATE, texter.ref)
    assert post.via is not None
