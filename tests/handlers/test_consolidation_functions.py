"""The finder's schedule and the consolidation queue's messages, as Lambda gets them."""

from copy import deepcopy

import pytest

import consolidation_finder
import consolidation_worker
from skein.errors import Unavailable
from skein.models.outbox.jobs import ConsolidationJob
from tests.support.api_client import recorded
from tests.support.builders import TENANT, World, bot, person
from tests.support.webhooks import invoke

JOB = recorded("consolidation_worker")
HOURLY = recorded("consolidation_finder")
HUSAM, COACH = person(), bot()


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual", consolidate=True)
    world.post("Hello", HUSAM)
    world.drain()
    world.model.memories.append('{"journal": ["Husam said hello."], "core": []}')
    world.clock.advance(7 * 3_600)
    return world


def test_the_hourly_event_sends_a_job_and_the_recorded_one_makes_memories(world: World) -> None:
    assert invoke(consolidation_finder, world, HOURLY) == {"sent": 1}
    job = ConsolidationJob(tenant=TENANT, chat_id="chat_1")
    assert list(world.queues.ready("consolidations")) == [job]
    assert invoke(consolidation_worker, world, JOB) == {"batchItemFailures": []}
    assert [memory.text for memory in world.memories()] == ["Husam said hello."]


def test_with_nothing_due_the_finder_sends_nothing(world: World) -> None:
    invoke(consolidation_finder, world, HOURLY)
    assert invoke(consolidation_finder, world, HOURLY) == {"sent": 0}


@pytest.mark.parametrize("body", ["", "{}", '{"v":1,"tenant":"acme"}', '{"v":2,"chat_id":"c"}'])
def test_a_message_that_is_no_job_fails_alone(world: World, body: str) -> None:
    batch = deepcopy(JOB)
    batch["Records"].insert(0, batch["Records"][0] | {"messageId": "poison", "body": body})
    answer = invoke(consolidation_worker, world, batch)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "poison"}]}
    assert len(world.memories()) == 1


def test_job_while_the_table_is_down_is_retried(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise Unavailable("table")

    with monkeypatch.context() as patch:
        patch.setattr(world.table, "query", down)
        answer = invoke(consolidation_worker, world, JOB)
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == [
        JOB["Records"][0]["messageId"]
    ]


def test_a_model_that_is_down_is_no_reason_to_give_the_message_again(world: World) -> None:
    world.model.memories[0] = Unavailable("503")
    assert invoke(consolidation_worker, world, JOB) == {"batchItemFailures": []}
    assert world.metrics.counts["ConsolidationsFailed"] == 1
