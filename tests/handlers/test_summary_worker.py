"""The summary queue's messages, in the shape in which Lambda gets them."""

from copy import deepcopy
from typing import Any

import pytest

import upkeep_worker
from skein.errors import Unavailable
from skein.models.outbox.jobs import SummaryJob
from tests.support.api_client import recorded
from tests.support.builders import TENANT, World, bot, person
from tests.support.webhooks import invoke

SUMMARY = recorded("upkeep_worker_summary")
HUSAM, COACH = person(), bot()


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual")
    world.chat_elsewhere(HUSAM, COACH)
    for n in range(10):
        world.post(f"fact {n}", HUSAM)
    return world


def event(*jobs: SummaryJob) -> dict[str, Any]:
    """The recorded event, with a record for each job."""
    record = SUMMARY["Records"][0]
    return {
        "Records": [
            deepcopy(record) | {"messageId": str(n), "body": job.model_dump_json()}
            for n, job in enumerate(jobs)
        ]
    }


def handle(world: World, event: dict[str, Any]) -> list[str]:
    """Handle an event; returns the messages that SQS is to give again."""
    answer = invoke(upkeep_worker, world, event)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_the_recorded_event_has_an_agents_note_renewed(world: World) -> None:
    assert handle(world, SUMMARY) == []
    note = world.membership(COACH).summary
    assert note is not None
    assert note.text == "All is quiet.\nNothing is open."
    assert world.stored_chat().summary is None


def test_a_job_without_an_agent_has_the_chats_own_summary_renewed(world: World) -> None:
    assert handle(world, event(SummaryJob(tenant=TENANT, chat_id="chat_1"))) == []
    record = world.stored_chat().summary
    assert record is not None
    assert record.text == "They have spoken."
    assert world.membership(COACH).summary is None


@pytest.mark.parametrize(
    "job",
    [
        SummaryJob(tenant=TENANT, chat_id="chat_gone"),
        SummaryJob(tenant=TENANT, chat_id="chat_gone", agent_id="agt_a"),
        SummaryJob(tenant=TENANT, chat_id="chat_1", agent_id="agt_gone"),
        SummaryJob(tenant="other", chat_id="chat_1", agent_id="agt_a"),
    ],
)
def test_summary_job_of_deleted_chat_or_agent_does_nothing(world: World, job: SummaryJob) -> None:
    assert handle(world, event(job)) == []
    assert world.model.summary_requests == []


def test_job_while_the_table_is_down_is_retried(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise Unavailable("table")

    with monkeypatch.context() as patch:
        patch.setattr(world.table, "query", down)
        assert handle(world, SUMMARY) == [SUMMARY["Records"][0]["messageId"]]
    assert handle(world, SUMMARY) == []
    assert world.membership(COACH).summary is not None
