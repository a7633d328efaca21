"""Access patterns cost the same calls in each state of a chat."""

import pytest

from skein.models.outbox.jobs import RecallJob
from tests.patterns import runs
from tests.patterns.meter import Meter
from tests.patterns.worlds import COACH, HUSAM, direct, job_of
from tests.support.builders import LONG_INVOCATION, TENANT

QUERIES = frozenset({"query", "query_index"})
# From the receipt of a message to its charge; one of them reserves tokens before the claim.
MAX_CALLS_OF_A_TURN, MAX_SEARCHES_OF_A_TURN = 15, 2


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
    for length in (10, 120):
        meter, world = Meter(), direct()
        for n in range(length):
            world.post(f"Message {n}", COACH)
        world.post("Hi", HUSAM)
        with meter(world):
            world.take(job_of(world))
        costs.append(meter.cost)
    assert costs[0] == costs[1]


@pytest.mark.parametrize("kind", ["group", "direct chat"])
def test_message_of_the_app_and_its_answer_take_at_most_15_calls(kind: str) -> None:
    meter = Meter()
    runs.patterns[f"a message of the app and its answer in a {kind}"](meter)
    assert meter.cost is not None
    calls = dict(each.split()[::-1] for each in meter.cost.calls.split(", "))
    searches = int(calls.pop("nearest"))
    assert sum(map(int, calls.values())) <= MAX_CALLS_OF_A_TURN
    assert searches <= MAX_SEARCHES_OF_A_TURN


@pytest.mark.parametrize("act", ["post", "turn", "list", "discard"])
def test_index_of_recall_does_not_make_queries_larger(act: str) -> None:
    sizes = []
    for indexed in (False, True):
        world = direct(respond="manual")
        for number in range(30):
            world.post(f"Room {4700 + number}", HUSAM)
        if indexed:
            job = RecallJob(tenant=TENANT, chat_id="chat_1")
            world.app.recall_worker.take(job, deadline=world.clock.now() + LONG_INVOCATION)
        world.table.log = []
        match act:
            case "post":
                world.post("Hi", HUSAM)
            case "turn":
                world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
                world.take(job_of(world))
            case "list":
                world.app.views.messages(TENANT, HUSAM.id, "chat_1", limit=50)
            case _:
                world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
        sizes.append(sorted(call for call in world.table.log if call.method in QUERIES))
    assert sizes[0] == sizes[1]
