"""A script is played by the real turn, in a world that has nobody's words and sends nothing."""

from datetime import timedelta
from typing import Any

import pytest

from skein.adapters.captured import Captured
from skein.bootstrap.ports import ADAPTERS, OF_WORLDS, TABLES
from skein.interface.tool import tool
from skein.memory.models.memory import Memory
from skein.models.common.storage import Put, Query
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import OPEN
from skein.models.visibility.provenance import Authors
from skein.own_tools.signed_context import CallContext
from skein.ports import CapturedCall
from skein.trials.models.case import Case, Script
from skein.trials.models.expectation import PlayedCall, PlayedQuestion
from skein.trials.plays import Play
from skein.trials.worlds import WorldClock, Worlds, WorldTable
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, calls
from tests.support.own_tools import BOOK, LOOK_UP, own_tool
from tests.support.sources import with_source

ANN: Any = {
    "people": [{"name": "Ann"}],
    "turns": [{"from": "Ann", "text": "When do you open?"}],
}


def case(script: Any = None, **fields: Any) -> Case:
    given = {"script": ANN | (script or {}), "name": "Hours", "expect": [{"silent": True}]}
    owner = {"tenant": TENANT, "agent_id": "agt_a", "id": "case_1", "created_at": NOON}
    return Case.model_validate(owner | given | fields)


def play(world: World, played: Case) -> Play:
    agent = world.app.agents.get(TENANT, "agt_a")
    until = world.clock.now() + timedelta(minutes=14)
    assert played.script is not None
    return world.app.get(Worlds).play(played.script, played.results, agent, until=until)


def with_agent(*script: Any, **fields: Any) -> World:
    world = World(model=ScriptedModel.saying(*script, default="Nothing more."))
    world.agent(system_prompt="You keep the desk of a lake.", **fields)
    return world


def prompt(request: ModelRequest) -> str:
    return "\n".join(each.content for each in request.messages)


def test_script_is_answered_by_the_real_turn() -> None:
    world = with_agent("We open at nine.")
    found = play(world, case({"memories": ["Ann likes mornings."]}))
    assert found.played.texts == ("We open at nine.",)
    assert (found.played.steps, found.effects) == (1, ())
    asked = prompt(world.model.requests[-1])
    for words in ("You keep the desk of a lake.", "When do you open?", "Ann likes mornings."):
        assert words in asked


def test_world_has_what_operators_wrote_and_no_item_of_a_person() -> None:
    world = with_agent("[silence]", "[silence]")
    world.chat(person(), bot(), kind="direct", visibility="private")
    world.post("My secret is a blue door.", person())
    world.drain()
    from_chat: dict[str, Any] = {"authors": Authors(ids=(person().id,))}
    kinds: list[dict[str, Any]] = [{"by_operator": True}, {}, {"by_operator": True} | from_chat]
    for n, fields in enumerate(kinds):
        memory = Memory.model_validate({
            "tenant": TENANT, "agent_id": "agt_a", "id": f"mem_{n}", "audience": OPEN,
            "kind": "core", "text": f"Fact {n} of the lake.", "made_by": "api", "created_at": NOON,
        } | fields)  # fmt: skip
        world.table.write(Put(memory.key, memory.to_item()))
    play(world, case())
    asked = prompt(world.model.requests[-1])
    assert "Fact 0 of the lake." in asked
    assert "Fact 1 of the lake." not in asked
    assert "Fact 2 of the lake." not in asked  # an operator has confirmed what a person said
    assert "blue door" not in asked
    assert "Project Alpha" not in asked


def test_world_answers_from_sources_and_cites_them() -> None:
    world = with_agent("We open at nine. [K1]")
    source = with_source(world)
    found = play(world, case())
    assert "We open at nine and close at noon." in prompt(world.model.requests[-1])
    assert (found.played.texts, found.played.cited) == (("We open at nine.",), (source.id,))


def test_world_has_no_secret_of_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    world = with_agent("Hello.", enabled_tools=("order_status",))
    secret = {"secret_arn": "arn:of-the-shop", "header": "Authorization"}
    own_tool(world, LOOK_UP, credentials=secret)
    tables: list[Any] = []
    made = WorldTable.__init__

    def seen(self: WorldTable, table: Any) -> None:
        tables.append(table)
        made(self, table)

    monkeypatch.setattr(WorldTable, "__init__", seen)
    play(world, case())
    [table] = tables
    items = table.query(Query(f"{TENANT}#TOOLS")).items
    assert [item["name"] for item in items] == ["order_status"]
    assert "arn:of-the-shop" not in str(items)


def test_question_and_call_for_a_person_are_seen() -> None:
    asked = calls(("ask_choice", {"question": "Which day?", "options": ["Monday", "Friday"]}))
    given = {"reason": "They want one", "summary": "They want to talk."}
    world = with_agent(asked, calls(("ask_a_person", given)))
    first = play(world, case()).played
    assert first.questions == (PlayedQuestion("Which day?", ("Monday", "Friday")),)
    assert not first.asked_person
    assert play(world, case()).played.asked_person


def test_world_sends_nothing_and_changes_nothing() -> None:
    asked = calls(("book_table", {"day": "Monday"}))
    world = with_agent(asked, "Booked.", enabled_tools=("book_table",))
    own_tool(world, BOOK)
    before, jobs = world.table.all_items(), len(world.queues.waiting("deliveries"))
    results = [{"tool": "book_table", "arguments": {"day": "monday"}, "result": "table 7"}]
    found = play(world, case({"channel": "sms"}, results=results))
    assert found.played.texts == ("Booked.",)
    assert [each.tool for each in found.played.calls] == ["book_table"]
    assert "| table 7" in str(found.played.calls[0].result)
    assert {'call: book_table({"day": "Monday"})', "job: delivery"} <= set(found.effects)
    assert world.table.all_items() == before
    assert len(world.queues.waiting("deliveries")) == jobs
    assert not world.service.requests
    assert not world.sms.taken


def test_function_in_python_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    @tool(effect="send")
    def ring(context: CallContext) -> str:
        """Ring."""
        done.append("rung")
        return "rung"

    monkeypatch.setattr("skein.own_tools.functions._LOCAL", {"ring": ring})
    world = with_agent(calls(("ring", {})), "Done.", enabled_tools=("ring",))
    own_tool(world, {"name": "ring", "python": {"function": "ring"}, "privacy": "keeps_by_person"})
    found = play(world, case(results=[{"tool": "ring", "error": "the bell is broken"}]))
    assert found.played.texts == ("Done.",)
    assert found.played.calls[0].result == "error: the bell is broken"
    assert not done


def test_call_without_a_recorded_result_ends_the_play() -> None:
    asked = calls(("order_status", {"order": "7"}))
    world = with_agent(asked, "On its way.", enabled_tools=("order_status",))
    own_tool(world, LOOK_UP)
    found = play(world, case())
    assert found.played.unrecorded == PlayedCall("order_status", {"order": "7"})
    assert found.played.texts == ()
    assert len(world.model.requests) == 1


@pytest.mark.parametrize("port", sorted(ADAPTERS.keys() - {"clock"}))
def test_each_port_of_a_world_is_captured(port: str) -> None:
    world, captured = World(), list[CapturedCall]()
    made = world.app.world(captured, {}, clock=WorldClock(world.clock))
    own, outside = vars(made.ports).get(port), getattr(world.app.ports, port)
    if port in OF_WORLDS:
        assert own is outside
    elif port not in {*TABLES, "ids", "tracer", "embeddings"}:
        assert isinstance(own, Captured)
        own.send("text")
        assert captured == [CapturedCall(port, "send", ("text",))]
    assert own is not outside or port in {*OF_WORLDS, "tracer", "embeddings"}
    assert not made.get(WorldTable).table.query(Query(f"{TENANT}#AGENT#agt_a")).items


def test_script_that_takes_too_long_is_ended() -> None:
    world = with_agent("Nine.")
    agent = world.app.agents.get(TENANT, "agt_a")
    with pytest.raises(TimeoutError):
        world.app.get(Worlds).play(Script.model_validate(ANN), (), agent, until=world.clock.now())


def test_messages_in_a_row_get_one_answer_and_later_ones_another() -> None:
    world = with_agent("Hello!", "Nine.")
    turns = [
        {"from": "Ann", "text": "Hi"},
        {"from": "Ann", "text": "When do you open?", "after_seconds": 1},
        {"from": "Ann", "text": "Thanks", "after_seconds": 600},
    ]
    found = play(world, case({"turns": turns, "channel": "sms"}))
    assert found.played.texts == ("Hello!", "Nine.")
    assert (found.played.steps, found.played.sms_units) == (2, 2)
