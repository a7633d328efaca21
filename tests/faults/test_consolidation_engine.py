"""Workers, people and operators who really race over one chat, on Amazon's own engine."""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from skein.models.outbox.jobs import ConsolidationJob
from skein.models.runs.completion import ModelRequest
from tests.support.builders import TENANT, person
from tests.support.rivals import HUSAM, Rivals, at_once

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.engine

WORKERS = 6
ANN = person("usr_ann", "Ann")


@pytest.fixture
def world(engine_client: "DynamoDBClient") -> Rivals:
    """A private chat that is consolidated; the model remembers whatever it is told."""
    world = Rivals(engine_client)

    def remember(request: ModelRequest) -> str:
        lines = request.messages[1].content.splitlines()[3:]
        return json.dumps({"journal": [line.rpartition(": ")[2] for line in lines], "core": []})

    world.model.memories.extend([remember] * 500)
    world.chat(
        HUSAM,
        world.coach,
        chat_id=world.here,
        consolidate=True,
        respond="manual",
        visibility="private",
    )
    return world


def work(world: Rivals) -> None:
    job = ConsolidationJob(tenant=TENANT, chat_id=world.here)
    world.work(world.app.consolidation, job)


def remembered(world: Rivals) -> list[str]:
    """What the agent remembers of the chat."""
    return [m.text for m in world.memories(world.coach.id, f"chat:{world.here}") if m.live]


def to_the_end(world: Rivals) -> None:
    """Let hours pass until nothing is due."""
    for _ in range(5):
        if world.stored_chat(world.here).consolidation_at is None:
            return
        world.clock.advance(7 * 3_600)
        work(world)
    raise AssertionError("the chat is never done with")


def test_workers_at_once_remember_everything_once(world: Rivals) -> None:
    for number in range(5):
        world.say(f"Fact {number}")
    world.clock.advance(7 * 3_600)
    at_once(*[partial(work, world)] * WORKERS)
    assert sorted(remembered(world)) == [f'"Fact {number}"' for number in range(5)]
    assert len(world.consolidations(world.here)) == 1
    assert world.stored_chat(world.here).consolidation_at is None


def test_messages_during_concurrent_consolidations_are_remembered_once(world: Rivals) -> None:
    def request() -> None:
        world.app.consolidation_requests.request(TENANT, world.here)

    said = 0
    for _ in range(8):
        sayings: list[Callable[[], object]] = []
        for _ in range(3):
            sayings.append(partial(world.say, f"Fact {said}"))
            said += 1
        at_once(*sayings, request, partial(work, world), partial(work, world))
        world.clock.advance(1_000)  # the end of a worker's claim
    to_the_end(world)
    facts = sorted(f'"Fact {number}"' for number in range(said))
    assert sorted(remembered(world)) == facts
    spans = [(r.from_seq, r.to_seq) for r in world.consolidations(world.here)]
    seqs = [seq for first, last in spans for seq in range(first, last + 1)]
    assert sorted(seqs) == list(range(1, said + 1))


def test_person_who_joins_during_consolidation_is_not_in_its_audience(world: Rivals) -> None:
    for number in range(3):
        world.say(f"Before {number}")
    world.known(ANN)
    world.clock.advance(7 * 3_600)
    join = partial(world.add, ANN, by=HUSAM, chat_id=world.here)
    at_once(partial(work, world), join, partial(work, world))
    world.say("After")
    to_the_end(world)
    heard = {
        m.text: m.audience.people for m in world.memories(world.coach.id, f"chat:{world.here}")
    }
    both = (ANN.id, HUSAM.id)
    expected = {f'"Before {number}"': (HUSAM.id,) for number in range(3)} | {'"After"': both}
    assert heard == expected
