"""Agents remember, forget and search: once each, within reach, and told what came of it."""

import json
from datetime import timedelta
from typing import Any

import pytest

from skein.memory.models.memory import JOURNAL_DAYS, Memory
from skein.models.runs.step import ToolResult
from skein.models.visibility.provenance import MadeFrom, SourceLabel
from tests.support.agents import AHMAD, COACH, HUSAM, results_of, settle, stage
from tests.support.builders import NOON, TENANT, World
from tests.support.fakes import calls
from tests.support.memories import OWNER, add, live

DIRECT = {"kind": "direct", "visibility": "private"}
PRIVATE = {"visibility": "private"}
FADING_DAY = f"{NOON + timedelta(days=JOURNAL_DAYS):%Y-%m-%d}"


def _asked(world: World, *tools: tuple[str, dict[str, Any]], chat_id: str = "chat_1") -> list[str]:
    """Have the agent call tools in a chat of Husam's; what came back of each."""
    return [result.content for result in _results(world, *tools, chat_id=chat_id)]


def _results(
    world: World, *tools: tuple[str, dict[str, Any]], chat_id: str = "chat_1"
) -> list[ToolResult]:
    world.model.script.append(calls(*tools, "end_run"))
    world.post("Hi", HUSAM, chat_id=chat_id)
    settle(world)
    newest = max(world.runs(chat_id), key=lambda run: run.id)
    return results_of(world, newest)[: len(tools)]


def _saving(text: str, kind: str = "core") -> tuple[str, dict[str, Any]]:
    return ("save_memory", {"text": text, "kind": kind})


def _searching(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("search_memories", {"query": query, **more})


def _group(**fields: Any) -> World:
    world = stage()
    world.chat(HUSAM, COACH, **fields)
    return world


def _remembered(world: World, scope: str | None = None) -> list[Memory]:
    reach = OWNER.reach.model_copy(update={"agent_id": COACH.id, "scopes": (scope,)})
    return world.app.memories.live(reach)


# ---------------------------------------------------------------------- save


def test_saved_memory_has_an_id_only_for_an_agent_that_can_forget_it() -> None:
    world = _group()
    world.agent(COACH.id, reply_mode="tools", enabled_tools=("save_memory", "end_run"))
    assert _asked(world, _saving("Husam likes tea")) == ["remembered"]


def test_saved_memory_has_its_source_and_is_shown() -> None:
    world = _group()
    [told] = _asked(world, _saving("Husam likes tea"))
    [memory] = _remembered(world)
    assert told == f"remembered, id: {memory.id}"
    assert (memory.made_by, memory.source_chat_id) == ("tool", "chat_1")
    label = SourceLabel.of([HUSAM], title="Project Alpha")
    assert memory.made_from == MadeFrom.messages("chat_1", 1, 1, [HUSAM.id], label)
    [run] = world.runs()
    assert memory.source_run_id == run.id
    world.post("Again", HUSAM)
    settle(world)
    assert 'CORE MEMORIES:\n  - [2026-02-18] Husam: "Husam likes tea"' in world.model.prompt


def test_save_memory_result_states_when_a_journal_entry_fades() -> None:
    world = _group()
    [told] = _asked(world, _saving("Husam is away", "journal"))
    [memory] = _remembered(world)
    assert told == f"remembered, id: {memory.id}; it fades on {FADING_DAY}"


def test_save_memory_twice_says_that_it_exists() -> None:
    world = _group()
    first, again = _asked(world, _saving("Husam likes tea"), _saving("husam likes TEA!", "journal"))
    [memory] = _remembered(world)
    assert first == f"remembered, id: {memory.id}"
    assert again == f"this memory already exists, id: {memory.id}"


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "", "kind": "core"},
        {"text": " ", "kind": "core"},
        {"text": "x" * 10_001, "kind": "core"},
        {"text": "x", "kind": "constitutional"},
        {"text": "x"},
        {"text": "x", "kind": "core", "constitutional": True},
    ],
)
def test_invalid_memory_arguments_are_correctable(arguments: dict[str, Any]) -> None:
    world = _group()
    [result] = _results(world, ("save_memory", arguments))
    assert result.status == "correctable"
    assert _remembered(world) == []


def test_memory_saved_in_private_is_limited_to_its_audience() -> None:
    world = _group(**DIRECT)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_team", **PRIVATE)
    _asked(world, _saving("Husam's secret"))
    _asked(world, _saving("The team's secret"), chat_id="chat_team")
    [own] = _remembered(world, "user:usr_husam")
    assert (own.text, own.audience.people) == ("Husam's secret", ("usr_husam",))
    [team] = _remembered(world, "chat:chat_team")
    assert (team.text, team.audience.people) == ("The team's secret", ("usr_ahmad", "usr_husam"))
    assert _remembered(world) == []


# ---------------------------------------------------------------------- forget


def test_forgotten_memory_is_not_shown() -> None:
    world = _group()
    _asked(world, _saving("Husam likes tea"))
    [memory] = _remembered(world)
    assert _asked(world, ("forget_memory", {"memory_id": memory.id})) == ["forgotten"]
    assert _remembered(world) == []
    assert _asked(world, ("forget_memory", {"memory_id": memory.id})) == ["forgotten"]


def test_forget_constitutional_or_unreachable_memory_is_refused() -> None:
    world = _group()
    owner = OWNER.model_copy(update={"agent_id": COACH.id})
    law = add(world, "Be kind", owner=owner, constitutional=True)
    secret = add(world, "Secret", owner=owner.model_copy(update={"scope": "user:usr_husam"}))
    results = _results(
        world, *(("forget_memory", {"memory_id": i}) for i in (law.id, secret.id, "mem_none"))
    )
    assert [result.status for result in results] == ["failed"] * 3
    assert [memory.text for memory in _remembered(world)] == ["Be kind"]
    assert len(_remembered(world, "user:usr_husam")) == 1


# ---------------------------------------------------------------------- search


def test_search_result_has_id_kind_and_day() -> None:
    world = _group()
    owner = OWNER.model_copy(update={"agent_id": COACH.id})
    note = add(world, 'Husam said:\n"More tea!"', owner=owner, kind="journal")
    core = add(world, "Husam drinks tea, tea and tea", owner=owner)
    add(world, "Ahmad drinks coffee", owner=owner)
    law = add(world, "Tea\nis free", owner=owner, constitutional=True)
    [told] = _asked(world, _searching("tea"))
    assert told.splitlines() == [
        f"- {law.id} (core, 2026-02-18) (operator) Tea is free",
        f'- {core.id} (core, 2026-02-18) "Husam drinks tea, tea and tea"',
        f"- {note.id} (journal, 2026-02-18, fades on {FADING_DAY}) "
        + json.dumps('Husam said:\n"More tea!"'),
    ]
    assert _asked(world, _searching("tea", limit=1))[0].count("\n") == 0
    assert _asked(world, _searching("wine")) == ["no memories found"]


def test_search_finds_only_memories_of_the_current_readers() -> None:
    world = _group(**DIRECT)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_team", **PRIVATE)
    world.chat(HUSAM, COACH, chat_id="chat_open")
    _asked(world, _saving("The secret of Husam"))
    _asked(world, _saving("The secret of the team"), chat_id="chat_team")
    _asked(world, _saving("An open secret"), chat_id="chat_open")

    def found(chat_id: str) -> set[str]:
        [told] = _asked(world, _searching("secret"), chat_id=chat_id)
        return {json.loads(line.rsplit(": ", 1)[1]) for line in told.splitlines()}

    assert found("chat_1") == {"The secret of Husam", "An open secret"}
    assert found("chat_team") == {"The secret of the team", "An open secret"}
    assert found("chat_open") == {"An open secret"}


def test_search_skips_faded_and_forgotten_memories() -> None:
    world = _group()
    owner = OWNER.model_copy(update={"agent_id": COACH.id})
    add(world, "Old tea", owner=owner, kind="journal")
    gone = add(world, "Gone tea", owner=owner)
    world.app.memories.delete(owner.reach, gone.id)
    world.clock.advance(JOURNAL_DAYS * 86_400)
    assert _asked(world, _searching("tea")) == ["no memories found"]


def test_long_memory_is_shortened_in_search_results() -> None:
    world = _group()
    add(world, "tea " * 2_500, owner=OWNER.model_copy(update={"agent_id": COACH.id}))
    [told] = _asked(world, _searching("tea"))
    assert told.endswith(' [...]"')
    assert len(told) < 2_100


def test_tenants_are_never_searched_together() -> None:
    world = _group()
    add(world, "Foreign tea", owner=OWNER.model_copy(update={"tenant": "globex"}))
    assert live(world) == []
    assert _asked(world, _searching("tea")) == ["no memories found"]
    assert world.stored_chat("chat_1").tenant == TENANT
    assert world.clock.now() >= NOON


def test_agent_in_text_mode_saves_and_finds_a_memory() -> None:
    world = World()
    tools = ("save_memory", "search_memories")
    world.agent(reply_mode=None, history_format=None, enabled_tools=tools)
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.model.script.extend(
        [
            calls(_saving("The dog is called Rex.")),
            calls(_searching("dog")),
            "Rex, a good name!",
        ]
    )
    world.post("My dog is called Rex", HUSAM)
    world.drain()
    assert [memory.text for memory in _remembered(world, "user:usr_husam")] == [
        "The dog is called Rex."
    ]
    offered = [tool.name for tool in world.model.requests[0].tools]
    assert {"save_memory", "search_memories"} <= set(offered)
    assert "The dog is called Rex." in str(world.model.requests[2].messages)
    assert world.texts()[-1] == "Rex, a good name!"
