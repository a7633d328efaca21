"""Visitors are shown their own chat and public content, whatever agents do, and nothing else."""

import re
from functools import cache
from typing import Any

import pytest

from skein.agent.tools import TOOLS
from skein.errors import Conflict
from skein.models.chats.chat import Chat
from skein.models.common.base import NamedMember
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Actor
from skein.models.visibility.provenance import NO_AUTHORS
from skein.workspace.documents import Documents
from skein.workspace.models.document import DocumentReach, Folder
from skein.workspace.skill_selection import shipped
from tests.support.agents import COACH, results_of
from tests.support.api_client import operator
from tests.support.builders import TENANT, World, person
from tests.support.consolidation import remembers
from tests.support.fakes import ScriptedModel, calls
from tests.support.sources import with_source

ANN, BEN = person("usr_ann", "Ann Mango"), person("usr_ben", "Ben")
VISITOR, OTHER = person("vis_1", "Visitor"), person("vis_2", "Visitor")
SECRET, PUBLIC = "mango", "papaya"
MEMORIES, DOCUMENTS = "/v1/agents/agt_a/memories", "/v1/agents/agt_a/documents"
LOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_memories", {"query": f"{SECRET} {PUBLIC}"}),
    ("recall", {"query": f"{SECRET}, please"}),
    ("search_knowledge", {"query": "When do you sell fruit?"}),
    ("list_documents", {}),
    ("read_document", {"name": "open.md"}),
    ("read_document", {"name": "public.md"}),
    ("read_skill", {"name": "open"}),
    ("read_skill", {"name": "public"}),
    ("get_my_runs", {}),
    ("read_messages", {"chat_id": "chat_team"}),
    ("borrow_context", {"chat_id": "chat_team"}),
)


def visit(
    world: World,
    who: NamedMember = VISITOR,
    tools: tuple[str, ...] | None = None,
    **fields: Any,
) -> Chat:
    """A chat of a visitor and the agent."""
    if tools is not None:
        world.pool(who.id, tools=tools)
    own = {"kind": "direct", "visibility": "private", "title": None}
    chat_id = f"chat_{who.id.replace('_', '')}"
    world.known(who)
    return world.chat(who, COACH, chat_id=chat_id, **(own | fields))


@pytest.fixture
def world() -> World:
    """A tenant with the secret in all kinds of open content, and public content beside it."""
    world = World(model=ScriptedModel.saying(default="Fine.")).continue_from(_shop())
    world.attach_feed()
    return world


@cache
def _shop() -> World:
    world = World(model=ScriptedModel.saying(default="Fine."))
    world.attach_feed()
    world.agent()
    world.known(ANN, BEN)
    title = f"The {SECRET} team"
    world.chat(ANN, BEN, COACH, chat_id="chat_team", title=title)
    world.post(f"The {SECRET} is ripe, please tell everyone.", ANN, chat_id="chat_team")
    world.drain()
    admin = operator(world)
    for public, word in ((False, SECRET), (True, PUBLIC)):
        name = "public" if public else "open"
        made = [
            admin.post(MEMORIES, {"kind": "core", "text": f"We sell {word}.", "public": public}),
            admin.post(
                DOCUMENTS,
                {"name": f"{name}.md", "text": f"A {word}.", "global": True, "public": public},
            ),
            admin.post("/v1/skills", {"name": name, "text": f"Cut the {word}.", "public": public}),
            admin.post("/v1/agents/agt_a/goals", {"text": f"Sell {SECRET}."}),
        ]
        assert [each.status for each in made] == [201] * 4
        audience = "public" if public else "everyone"
        with_source(world, f"# Fruit\n\nWe sell fruit, like {word}, at noon.", audience=audience)
    admin.post("/v1/skills", {"name": "core", "text": f"Praise the {SECRET}."})
    return world


def told(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


def asked(world: World, chat_id: str, who: NamedMember) -> str:
    world.post("When do you sell fruit?", who, chat_id=chat_id)
    world.drain()
    return told(world.model.requests[-1])


def test_prompt_for_a_visitor_has_public_content_and_no_open_content(world: World) -> None:
    visit(world)
    prompt = asked(world, "chat_vis1", VISITOR)
    assert SECRET not in prompt.casefold()
    for words in (f"We sell {PUBLIC}.", f"A {PUBLIC}.", f"like {PUBLIC}, at noon"):
        assert words in prompt
    for section in ("YOUR CHATS", "OTHER ACTIVE", "ACTIVE RUNS", "GOALS", "RECALLED"):
        assert section not in prompt


def test_prompt_for_a_member_has_open_and_public_content(world: World) -> None:
    world.chat(ANN, COACH, kind="direct", visibility="private", title=None)
    prompt = asked(world, "chat_1", ANN)
    for word in (SECRET, PUBLIC):
        assert f"We sell {word}." in prompt
        assert f"A {word}." in prompt


def test_tools_for_a_visitor_return_public_content_and_no_open_content(world: World) -> None:
    world.model.script.append(calls(*LOOKS))
    visit(world, tools=tuple(TOOLS))
    world.post("Look everywhere.", VISITOR, chat_id="chat_vis1")
    world.drain()
    [run] = world.runs("chat_vis1")
    results = "\n".join(result.content for result in results_of(world, run))
    assert SECRET not in results.casefold()
    for words in (f"We sell {PUBLIC}.", f"A {PUBLIC}.", f"Cut the {PUBLIC}."):
        assert words in results
    [listed] = re.findall("skill not found; there are: (.*)", results)
    assert set(listed.split(", ")) == set(shipped())
    assert run.status == "done"
    assert world.texts("chat_vis1")[-1] == "Fine."  # public content doesn't stop the answer


@pytest.mark.parametrize(
    ("listed", "offered"),
    [
        (None, {"ask_choice", "ask_a_person"}),  # an answer in text has no need of `end_run`
        (("search_knowledge",), {"search_knowledge"}),
        ((), set()),
    ],
)
def test_agent_has_the_tools_of_the_visit_in_place_of_its_own(
    world: World, listed: tuple[str, ...] | None, offered: set[str]
) -> None:
    visit(world, tools=listed)
    asked(world, "chat_vis1", VISITOR)
    assert {tool.name for tool in world.model.requests[-1].tools} == offered


def test_prompt_without_context_has_the_tools_of_the_visit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the table is slow")

    visit(world, tools=("search_knowledge",))
    monkeypatch.setattr(type(world.app.reader), "read", fail)
    world.model.script.append(calls(("search_knowledge", {"query": "When do you sell fruit?"})))
    asked(world, "chat_vis1", VISITOR)
    [run] = world.runs("chat_vis1")
    assert (run.status, run.marks) == ("done", ("context_unavailable",))
    assert {tool.name for tool in world.model.requests[-1].tools} == {"search_knowledge"}
    assert SECRET not in "\n".join(result.content for result in results_of(world, run))


def test_what_a_visitor_says_is_shown_to_nobody_else(world: World) -> None:
    visit(world, consolidate=True)
    visit(world, OTHER)
    world.chat(ANN, COACH, kind="direct", visibility="private", title=None)
    world.model.memories.append(remembers("They like kiwi.", journal=("They asked for kiwi.",)))
    world.post("Remember my kiwi, please.", VISITOR, chat_id="chat_vis1")
    world.drain()
    world.clock.advance(7 * 3_600)
    world.tick()
    world.drain()
    for chat_id, who in (("chat_vis2", OTHER), ("chat_1", ANN), ("chat_team", ANN)):
        assert "kiwi" not in asked(world, chat_id, who)
    kept = world.memories(scope="user:vis_1")
    assert {memory.audience for memory in kept} == {Audience(open=False, people=("vis_1",))}
    assert all("kiwi" not in memory.text for memory in world.memories())


def test_agents_cannot_change_public_documents(world: World) -> None:
    folder = Folder(tenant=TENANT, agent_id="agt_a")
    own = Actor(authors=NO_AUTHORS, outsiders=False)  # it may change the open document
    reach = DocumentReach(folders=(folder,), readers=OPEN, actor=own)
    world.app.get(Documents).write(reach, "open.md", f"The {SECRET}.")
    with pytest.raises(Conflict, match="only operators change it"):
        world.app.get(Documents).write(reach, "public.md", f"The {SECRET}.")


def test_memory_becomes_public_and_open_again(world: World) -> None:
    admin = operator(world)
    [memory] = [one for one in admin.get(MEMORIES).body["items"] if SECRET in one["text"]]
    visit(world)
    changes = [{"public": True}, {"confirmed": True}, {"public": False}]
    shown = []
    for change in changes:
        assert admin.patch(f"{MEMORIES}/{memory['id']}", change).status == 200
        shown.append(f"We sell {SECRET}." in asked(world, "chat_vis1", VISITOR))
    assert shown == [True, True, False]


def test_visitor_gets_no_roles(world: World) -> None:
    visit(world)
    answer = operator(world).patch("/v1/users/vis_1", {"roles": [{"role": "nurse"}]})
    assert answer.status == 422
    assert operator(world).post("/v1/users", {"id": "vis_3", "name": "Eve"}).status == 422
