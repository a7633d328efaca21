"""`docs/data.md` says what everything costs: each of its patterns is carried out and counted."""

import re

import pytest

from local.template import ROOT
from tests.patterns import agents, chats, consolidation, runs, summaries, texts
from tests.patterns.meter import Cost, Meter
from tests.patterns.worlds import COACH, HUSAM, direct, job_of

PATTERNS = {
    **chats.patterns,
    **runs.patterns,
    **agents.patterns,
    **texts.patterns,
    **summaries.patterns,
    **consolidation.patterns,
}
ROW = re.compile(r"\| ([^|]+) \| ([^|]+) \| (\d+) \| ([^|]+) \|")


def documented() -> dict[str, Cost]:
    text = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    _, _, text = text.partition("\n## Access patterns\n")
    text, _, _ = text.partition("\n## ")
    return {
        name: Cost(calls, int(rounds), queues) for name, calls, rounds, queues in ROW.findall(text)
    }


def test_the_document_and_the_patterns_are_the_same() -> None:
    assert sorted(documented()) == sorted(PATTERNS)


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_costs_what_the_document_says(name: str) -> None:
    meter = Meter()
    PATTERNS[name](meter)
    assert meter.cost == documented().get(name)


def test_session_of_a_direct_chat_writes_its_due_pointer_once() -> None:
    world = direct(consolidate=None, respond="manual")
    world.table.log = []
    for number in range(20):
        world.post(f"Message {number}", HUSAM)
        world.post(f"Answer {number}", COACH)
        world.clock.advance(60)
    items = [call.items for call in world.table.log if call.method == "transact"]
    texts, answers = items[0::2], items[1::2]
    assert texts == [texts[1] + 1] + [texts[1]] * 19
    assert len(set(answers)) == 1


def test_a_turn_costs_the_same_calls_in_a_short_and_in_a_long_chat() -> None:
    costs = []
    for length in (10, 400):
        meter, world = Meter(), direct()
        for n in range(length):
            world.post(f"Message {n}", COACH)
        world.post("Hi", HUSAM)
        with meter(world):
            world.take(job_of(world))
        costs.append(meter.cost)
    assert costs[0] == costs[1]
