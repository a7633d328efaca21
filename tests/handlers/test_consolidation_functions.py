"""The finder's schedule and the consolidation queue's messages, as Lambda gets them."""

import pytest

import background_finder
import background_worker
from skein.errors import Unavailable
from skein.models.outbox.jobs import ConsolidationJob
from tests.support.api_client import recorded
from tests.support.builders import TENANT, World, bot, person
from tests.support.webhooks import invoke

JOB = recorded("background_worker")
HOURLY = recorded("background_finder")
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
    assert invoke(background_finder, world, HOURLY) == {"sent": 1}
    job = ConsolidationJob(tenant=TENANT, chat_id="chat_1")
    assert list(world.queues.ready("background")) == [job]
    assert invoke(background_worker, world, JOB) == {"batchItemFailures": []}
    assert [memory.text for memory in world.memories()] == ["Husam said hello."]


def test_finder_without_due_work_sends_no_jobs(world: World) -> None:
    invoke(background_finder, world, HOURLY)
    assert invoke(background_finder, world, HOURLY) == {"sent": 0}


def test_job_while_the_table_is_down_is_retried(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise Unavailable("table")

    with monkeypatch.context() as patch:
        patch.setattr(world.table, "query", down)
        answer = invoke(background_worker, world, JOB)
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == [
        JOB["Records"][0]["messageId"]
    ]
