"""Drafts: made for the holder, of the current session of one chat alone."""

import pytest

from skein.errors import Unavailable
from skein.models.visibility.ownership import Owner
from tests.support.agents import COACH, HUSAM, settle, stage
from tests.support.api_client import operator
from tests.support.builders import TENANT, World
from tests.support.desk import Desk


@pytest.fixture
def world() -> World:
    """Coach remembers figs, and Husam spoke of dates in another chat and of plums yesterday."""
    world = stage()
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    world.app.memories.add(owner, "Husam loves figs.", "core", made_by="api")
    world.chat(HUSAM, COACH, chat_id="chat_2", kind="direct", visibility="private")
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.post("I love dates", HUSAM, chat_id="chat_2")
    world.post("I love plums", HUSAM)
    settle(world)
    world.clock.advance(24 * 3_600)
    world.post("Where is my parcel?", HUSAM)
    settle(world)
    return world


@pytest.mark.parametrize("kind", ["answer", "briefing", "summary"])
def test_model_is_shown_the_current_session_of_the_chat_alone(world: World, kind: str) -> None:
    mia = Desk(world)
    mia.take()
    mia.say("I am looking into it")
    world.model.script.append("It comes on Friday.")
    made = mia.client.post(f"{mia.path}/drafts", {"kind": kind})
    assert made.status == 200, made.body
    assert (made.body["text"], made.body["agent_id"]) == ("It comes on Friday.", COACH.id)
    assert (made.body["from_seq"], made.body["to_seq"]) == (2, 3)
    shown = "\n".join(message.content for message in world.model.requests[-1].messages)
    assert "Where is my parcel?" in shown
    assert "Mia (team)" in shown
    assert [fruit for fruit in ("figs", "dates", "plums") if fruit in shown] == []
    assert not world.model.requests[-1].tools
    assert [message.text for message in world.messages()][2:] == ["I am looking into it"]


def test_draft_counts_as_usage_and_an_unusable_one_too(world: World) -> None:
    mia = Desk(world)
    mia.take()
    before = _usage(world)
    world.model.script += ["Soon.", " "]
    assert mia.client.post(f"{mia.path}/drafts", {"kind": "answer"}).status == 200
    assert _usage(world) > before
    assert mia.client.post(f"{mia.path}/drafts", {"kind": "answer"}).status == 503


def test_only_the_holder_gets_drafts_and_only_of_agents_of_the_chat(world: World) -> None:
    mia, tom = Desk(world), Desk(world, sub="op_tom", name="Tom")
    mia.take()
    assert tom.client.post(f"{tom.path}/drafts", {"kind": "answer"}).status == 409
    body = {"kind": "answer", "agent_id": "agt_b"}
    assert mia.client.post(f"{mia.path}/drafts", body).status == 404
    world.model.script.append(Unavailable("the model is down"))
    assert mia.client.post(f"{mia.path}/drafts", {"kind": "answer"}).status == 503


def _usage(world: World) -> int:
    return int(operator(world).get("/v1/usage", by="agent").body["total"]["calls"])
