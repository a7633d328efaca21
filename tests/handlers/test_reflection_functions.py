"""The finder's schedule, the reflection queue's messages and the list of what came of them."""

import pytest

import admin_api
import background_finder
import background_worker
from skein.memory.models.memory import JOURNAL_DAYS, REFLECTION_LEAD
from skein.models.outbox.jobs import ReflectionJob
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from tests.support.api_client import WHY, Client, recorded
from tests.support.builders import TENANT, World, person
from tests.support.webhooks import invoke

JOB = recorded("background_worker_reflection")
HOURLY = recorded("background_finder")
SCOPE = "user:usr_husam"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(person())
    owner = Owner(
        tenant=TENANT,
        agent_id="agt_a",
        scope=SCOPE,
        audience=Audience(open=False, people=("usr_husam",)),
    )
    world.app.memories.add(owner, "Husam is allergic to nuts.", "journal", made_by="tool")
    world.model.reflections.append('{"promote": [1]}')
    world.clock.advance(JOURNAL_DAYS * 86_400 - REFLECTION_LEAD.total_seconds())
    return world


def kept(world: World) -> list[str]:
    return [m.text for m in world.memories(scope=SCOPE) if m.kind == "core" and m.live]


def test_hourly_event_sends_a_job_and_the_recorded_job_promotes_entries(
    world: World,
) -> None:
    assert invoke(background_finder, world, HOURLY) == {"sent": 1}
    job = ReflectionJob(tenant=TENANT, agent_id="agt_a", scope=SCOPE)
    assert list(world.queues.ready("background")) == [job]
    assert invoke(background_worker, world, JOB) == {"batchItemFailures": []}
    assert kept(world) == ["Husam is allergic to nuts."]


def test_finder_without_due_work_sends_no_jobs(world: World) -> None:
    invoke(background_finder, world, HOURLY)
    assert invoke(background_finder, world, HOURLY) == {"sent": 0}


def test_operators_see_the_results_as_ids(world: World) -> None:
    invoke(background_worker, world, JOB)
    api = Client(world, admin_api, sub="usr_op", scope="admin")
    answer = api.get("/v1/agents/agt_a/reflections", user_id="usr_husam", reason=WHY)
    assert answer.status == 200
    [record] = answer.body["items"]
    assert len(record["considered"]) == len(record["promoted"]) == 1
    assert record["failure"] is None
    assert record["usage"]["input_tokens"] == 10
    assert "nuts" not in str(answer.body)
    assert api.get("/v1/agents/agt_a/reflections").body["items"] == []
