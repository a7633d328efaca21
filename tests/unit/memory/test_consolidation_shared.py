"""Consolidation of a group with many agents: agents with the same watermark share one question."""

import json

from skein.errors import Unavailable
from skein.models.outbox.jobs import ConsolidationJob
from skein.models.runs.completion import ModelRequest
from tests.support.builders import TENANT, World, bot, person

HUSAM = person()
AGENTS = tuple(bot(f"agt_{name}", name.upper()) for name in "abcd")
JOB = ConsolidationJob(tenant=TENANT, chat_id="chat_1")
OLD, NEW = "Husam lives in Rome.", "Husam lives in Berlin."


def group(agents: int) -> World:
    world = World()
    for agent in AGENTS[:agents]:
        world.agent(agent.id, agent.name)
    world.chat(HUSAM, *AGENTS[:agents], respond="manual", consolidate=True)
    return world


def say(world: World, text: str, answer: object) -> None:
    world.post(text, HUSAM)
    world.clock.advance(7 * 3_600)
    world.model.memories.append(json.dumps(answer))
    world.work(world.app.consolidation, JOB)


def core(world: World, agent_id: str) -> list[str]:
    return [memory.text for memory in world.memories(agent_id) if memory.live]


def test_four_agents_share_one_question_and_each_remembers_the_answer() -> None:
    world = group(4)
    say(world, "I live in Rome", {"journal": [], "core": [OLD]})
    [asked] = world.model.memory_requests
    assert "A, B, C, D" in asked.messages[0].content
    assert [core(world, agent.id) for agent in AGENTS] == [[OLD]] * 4
    assert {world.membership(agent).consolidated_seq for agent in AGENTS} == {1}
    costs = [record.usage.input_tokens for record in world.consolidations()]
    assert len(costs) == 4
    assert len([cost for cost in costs if cost]) == 1


def test_three_agents_are_asked_one_by_one() -> None:
    world = group(3)
    say(world, "I live in Rome", {"journal": [], "core": [OLD]})
    assert len(world.model.memory_requests) == 3


def test_shared_memory_is_shown_once_and_replaced_for_each_agent() -> None:
    world = group(4)
    say(world, "I live in Rome", {"journal": [], "core": [OLD]})
    say(world, "I moved", {"journal": [], "core": [{"text": NEW, "replaces": 1}]})
    assert world.model.memory_requests[-1].messages[0].content.count(OLD) == 1
    assert [core(world, agent.id) for agent in AGENTS] == [[NEW]] * 4


def test_agent_that_joined_later_is_asked_for_itself() -> None:
    world = group(4)
    late = bot("agt_late", "Late")
    world.agent(late.id, late.name)
    world.post("I live in Rome", HUSAM)
    world.add(late)
    say(world, "I like tea", {"journal": [], "core": [OLD]})
    assert len(world.model.memory_requests) == 2
    assert "Rome" not in world.model.memory_requests[1].messages[1].content


def test_failure_keeps_the_watermark_of_each_agent() -> None:
    world = group(4)
    world.model.memories.append(Unavailable("503"))
    say(world, "I live in Rome", {"journal": [], "core": [OLD]})
    assert {world.membership(agent).consolidation_failures for agent in AGENTS} == {1}
    assert {world.membership(agent).consolidated_seq for agent in AGENTS} == {0}
    world.clock.advance(2 * 3_600)
    world.work(world.app.consolidation, JOB)
    assert [core(world, agent.id) for agent in AGENTS] == [[OLD]] * 4


def test_agent_that_leaves_meanwhile_does_not_stop_the_others() -> None:
    world = group(4)

    def leaves(_: ModelRequest) -> str:
        world.close_membership(AGENTS[0])
        return json.dumps({"journal": [], "core": [OLD]})

    world.model.memories.append(leaves)
    say(world, "I live in Rome", {"journal": [], "core": [OLD]})
    assert [core(world, agent.id) for agent in AGENTS] == [[], [OLD], [OLD], [OLD]]
