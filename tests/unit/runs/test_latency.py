"""Latencies of answers: how long people wait, and how long runs wait for their first claim."""

from typing import Any

from skein.errors import Unavailable
from skein.models.common.base import MemberRef
from tests.support.builders import World, bot, person
from tests.support.fakes import ScriptedModel, calls

HUSAM = person()


def group(model: ScriptedModel | None = None, **agent: Any) -> World:
    world = World(model=model) if model else World()
    world.agent(**agent)
    world.known(HUSAM)
    world.chat(HUSAM, bot())
    return world


def test_answer_to_a_person_is_recorded_in_seconds() -> None:
    world = group()
    world.post("Hello", HUSAM)
    world.clock.advance(7)
    world.drain()
    assert 7 <= world.metrics.counts["AnswerSeconds"] < 8
    assert 7 <= world.metrics.counts["RunStartSeconds"] < 8
    assert world.metrics.units["AnswerSeconds"] == world.metrics.units["RunStartSeconds"]
    assert world.metrics.units["AnswerSeconds"] == "Seconds"


def test_deferred_run_records_its_start_once_and_its_whole_wait() -> None:
    world = group(ScriptedModel.saying(Unavailable("down"), "Hello!"))
    world.post("Hello", HUSAM)
    world.drain()
    assert world.metrics.counts["RunStartSeconds"] < 2
    assert world.metrics.counts["AnswerSeconds"] >= 10
    assert world.texts() == ["Hello", "Hello!"]


def test_question_is_recorded_and_the_wait_for_its_reply_is_not() -> None:
    asks = calls(("send_message", {"text": "Which one?", "wait": True}))
    world = group(ScriptedModel.saying(asks, "Done."), reply_mode="tools")
    world.post("Sort it", HUSAM)
    for _ in range(5):
        world.run_ready()
        world.clock.advance(1)
    asked = world.metrics.counts["AnswerSeconds"]
    assert "Which one?" in world.texts()
    assert 0 < asked < 10
    world.clock.advance(500)
    world.post("The left one", HUSAM)
    world.drain()
    assert world.metrics.counts["AnswerSeconds"] == asked


def test_answer_to_an_agent_is_not_recorded() -> None:
    world = group()
    world.agent("agt_b", "Helper")
    world.chat(bot("agt_b", "Helper"), bot(), chat_id="chat_2")
    world.post("Hello", MemberRef(kind="agent", id="agt_b"), chat_id="chat_2", depth=1)
    world.drain()
    assert world.texts("chat_2")[:1] == ["Hello"]
    assert world.metrics.counts["AnswerSeconds"] == 0


def test_building_a_context_is_recorded_once_for_each_activation() -> None:
    twice = calls(("read_messages", {}))
    world = group(
        ScriptedModel.saying(twice, calls(("send_message", {"text": "Done."}))), reply_mode="tools"
    )
    built: list[float] = []
    count = world.metrics.count

    def counted(name: str, value: float = 1, **fields: Any) -> None:
        built.extend([value] if name == "ContextSeconds" else [])
        count(name, value, **fields)

    world.metrics.count = counted  # type: ignore[method-assign]
    world.post("Sort it", HUSAM)
    world.drain()
    assert len(world.model.requests) == 2
    assert len(built) == 1
    assert world.metrics.units["ContextSeconds"] == "Seconds"
