"""The cost of background work: the most that one person's minute of posting leads to."""

import json
from collections import deque
from datetime import timedelta

import pytest

from skein.models.outbox.jobs import Job, RecallJob
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage
from tests.support.builders import NOON, World, bot, person, tokens
from tests.support.fakes import ScriptedModel

HUSAM = person()
AGENTS = tuple(bot(f"agt_{n:02d}", f"Agent{n}") for n in range(20))
MOST = 60_000  # tokens
FACT = "The delivery of the red chairs moved to Friday, and Ahmad wants to pay them by card. "
ENTRIES = json.dumps({"journal": [f"{FACT}{n}" for n in range(6)], "core": [f"{FACT}9"]})


class MeasuredModel(ScriptedModel):
    """A model with answers of the usual length, which counts its tokens."""

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Answer, with the tokens of question and answer."""
        lines = json.dumps({"lines": [FACT * 2, FACT * 2]})
        summary = json.dumps({"summary": FACT * 20})
        self.memories = deque([ENTRIES])
        self.titles = deque(['{"title": "Red chairs"}'])
        self.summaries = deque([lines if "lines" in str(request.answer_schema) else summary])
        answer = super().complete(request)
        asked = sum(tokens().count(message.content or "") for message in request.messages)
        usage = TokenUsage(input_tokens=asked, output_tokens=tokens().count(answer.text))
        return answer.model_copy(update={"usage": usage})


class Unsearched(World):
    """A world whose messages are not indexed for recall, which takes no tokens."""

    def handle(self, job: Job) -> None:
        if not isinstance(job, RecallJob):
            super().handle(job)


def crowd(visibility: str) -> World:
    """A chat of one person with 20 agents."""
    world = Unsearched(model=MeasuredModel())
    world.known(HUSAM)
    for agent in AGENTS:
        world.agent(agent.id, agent.name, system_prompt="You help with projects. " * 200)
    world.chat(HUSAM, *AGENTS, visibility=visibility, respond="manual", consolidate=None)
    return world


def post_for_a_minute(world: World, characters: int) -> None:
    """Post 20 messages within a minute, with a tick at its end."""
    for n in range(20):
        text = f"{n} {FACT * (characters // len(FACT) + 1)}"[:characters]
        world.post(text, HUSAM)
        world.clock.advance(3)
        world.run_ready()
    world.tick()


def consolidate_all(world: World, *, days: int = 1) -> None:
    """Play the ticks and the finders of some days."""
    end = world.clock.now() + timedelta(days=days)
    while world.clock.now() < end:
        for _ in range(4):
            world.clock.advance(900)
            world.tick()
            world.drain()
        world.hours_pass(1)


def cost(world: World) -> int:
    day, used = NOON.date(), 0
    while day <= world.clock.now().date():
        usage = world.app.usage.of_day("acme", day)
        used += usage.input_tokens + usage.output_tokens
        day += timedelta(days=1)
    return used


@pytest.mark.check
@pytest.mark.parametrize("visibility", ["private", "open"])
def test_minute_of_posting_to_20_agents_costs_at_most_60_000_tokens(visibility: str) -> None:
    world = crowd(visibility)
    for _ in range(2):  # the second time, the agents have memories
        before = cost(world)
        post_for_a_minute(world, 200)
        consolidate_all(world)
        assert {world.membership(agent).consolidated_seq for agent in AGENTS} == {
            world.stored_chat().last_seq
        }
        assert cost(world) - before <= MOST
