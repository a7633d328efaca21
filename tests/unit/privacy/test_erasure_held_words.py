"""Erasure of words that messages and saves of agents merely held: placeholders, no more."""

from typing import Any

import pytest

from skein.models.common.storage import Query
from skein.models.visibility.ownership import owned_partition
from skein.workspace.models.document import Document
from tests.support.agents import COACH
from tests.support.builders import TENANT, World
from tests.support.erasure import (
    BEN,
    BENS,
    ELSEWHERE,
    OPEN,
    PRIVATE,
    ZOE,
    erase,
    group,
    settle,
    traces,
    world_of,
)
from tests.support.fakes import calls

SAID = "I have never liked the blue car"
HELD = f"{ZOE.id} wrote: {SAID}. Ben, what do you say?"
LEFT = "[erased] wrote: [erased]. Ben, what do you say?"


def asked(world: World, *kept: Any, chat_id: str) -> None:
    """Let Ben ask, and Coach make tool calls; both have written there before."""
    world.model.script.extend([calls(*kept), calls("end_run")])
    world.post("@Coach what do you think?", BEN, chat_id=chat_id)
    settle(world)


def stored(world: World, prefix: str, scope: str | None = None) -> list[dict[str, Any]]:
    """Return Coach's items of a kind in a scope."""
    return list(
        world.table.query(Query.under(owned_partition(TENANT, COACH.id, scope), prefix)).items
    )


@pytest.mark.parametrize("visibility", ["open", "private"])
def test_answer_that_held_their_words_stays_without_quotes_and_ids(visibility: str) -> None:
    world = world_of()
    group(world, PRIVATE, ZOE, BEN, visibility=visibility)
    world.post("Good morning", BEN, chat_id=PRIVATE)
    world.post(SAID, ZOE, chat_id=PRIVATE)
    asked(world, ("send_message", {"text": HELD}), chat_id=PRIVATE)
    erase(world)
    texts = [(message.kind, message.text) for message in world.messages(PRIVATE)]
    assert texts == [
        ("text", "Good morning"),
        ("erased", ""),
        ("text", "@Coach what do you think?"),
        ("text", LEFT),
    ]
    last = world.stored_chat(PRIVATE).last_message
    assert last is not None
    assert last.text == LEFT
    assert traces(world, "blue car") == {}


def test_answer_to_the_person_alone_in_a_group_goes() -> None:
    world = world_of(calls(("send_message", {"text": "Noted."})))
    group(world, OPEN, ZOE, BEN)
    world.post(f"@Coach {SAID}", ZOE, chat_id=OPEN)
    settle(world)
    erase(world)
    assert [message.kind for message in world.messages(OPEN)] == ["erased", "erased"]


@pytest.mark.parametrize("visibility", ["open", "private"])
def test_tools_saves_from_several_people_lose_quotes_and_ids_only(visibility: str) -> None:
    world = world_of()
    group(world, PRIVATE, ZOE, BEN, visibility=visibility)
    world.post("Good morning", BEN, chat_id=PRIVATE)
    world.post(SAID, ZOE, chat_id=PRIVATE)
    saves = (
        ("set_goal", {"text": HELD}),
        ("save_memory", {"text": HELD, "kind": "core"}),
        ("set_plan", {"name": f"For {ZOE.id}", "instruction": HELD, "run_after": "1 week"}),
        ("write_document", {"name": f"{ZOE.id}.md", "text": HELD}),
        ("create_thread", {"concern": HELD, "documents": [f"{ZOE.id}.md"]}),
    )
    asked(world, *saves, chat_id=PRIVATE)
    erase(world)
    scope = f"chat:{PRIVATE}" if visibility == "private" else None
    assert [item["text"] for item in stored(world, "GOAL#", scope)] == [LEFT]
    assert [item["text"] for item in stored(world, "FACT#", scope)] == [LEFT]
    [plan] = stored(world, "PLAN#", scope)
    assert (plan["name"], plan["instruction"]) == ("For [erased]", LEFT)
    [document] = [Document.from_item(item) for item in stored(world, "DOC#", scope)]
    assert (document.name, document.text) == ("[erased].md", LEFT)
    [thread] = stored(world, "OWNED#THREAD#", scope)
    assert (thread["concern"], thread["documents"]) == (LEFT, ["[erased].md"])
    assert traces(world, "blue car") == {}


def test_words_that_an_agent_carried_to_another_persons_chat_are_replaced_there() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.chat(BEN, COACH, chat_id=BENS, kind="direct", visibility="private")
    world.post(SAID, ZOE, chat_id=OPEN)
    look = calls(("read_messages", {"chat_id": OPEN}))
    world.model.script.append(look)
    keep = ("set_goal", {"text": HELD})
    world.model.script.extend([calls(keep, ("send_message", {"text": HELD})), calls("end_run")])
    world.post("What is up?", BEN, chat_id=BENS)
    settle(world)
    erase(world)
    assert world.messages(BENS)[-1].text == LEFT
    assert [item["text"] for item in stored(world, "GOAL#", f"user:{BEN.id}")] == [LEFT]
    assert traces(world, "blue car") == {}


def test_erasure_of_one_who_only_listened_changes_nothing_of_others() -> None:
    world = world_of()
    group(world, PRIVATE, ZOE, BEN, visibility="private")
    group(world, ELSEWHERE, BEN)
    saves = (("set_goal", {"text": HELD}), ("send_message", {"text": HELD}))
    asked(world, *saves, chat_id=PRIVATE)
    before = [(message.kind, message.text) for message in world.messages(PRIVATE)]
    erase(world)
    assert [(message.kind, message.text) for message in world.messages(PRIVATE)] == before
    [goal] = stored(world, "GOAL#", f"chat:{PRIVATE}")
    assert (goal["text"], goal["audience"]["people"]) == (HELD, [BEN.id])
