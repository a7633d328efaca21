"""The recorded events in `events/`: one for each function, in the form in which Lambda gets it."""

import hashlib
import json
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

import run_worker
from skein import bootstrap
from skein.live.models.connection import Connection, LiveTicket
from skein.models.common.storage import Put
from skein.models.outbox.jobs import LiveEvent, PushJob, RunJob
from tests.support.api_client import EVENTS, Context, recorded
from tests.support.builders import TENANT, World, bot, person
from tests.support.webhooks import Webhook, invoke, signed_world

FUNCTIONS = sorted(path.stem for path in Path("functions").glob("*.py"))
NAMES = sorted(path.stem for path in EVENTS.glob("*.json"))
OF_QUEUES = [name for name in NAMES if "_worker" in name or name == "sms_delivery"]
HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
FIRST_ID = 0  # so that the run has the id in the recorded events
FAILED_NONE: dict[str, Any] = {"batchItemFailures": []}
CONNECTION: str = recorded("live_connect")["requestContext"]["connectionId"]


class LongContext(Context):
    """The context of a function with enough time for a run."""

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@pytest.fixture
def world() -> World:
    """Husam has posted a message to a group with Ahmad and an agent, whose run is queued."""
    made = signed_world()
    made.chat(HUSAM, AHMAD, COACH)
    made.ids.skip_to(FIRST_ID)
    made.post("Hello", HUSAM)
    [run] = made.runs()
    assert run.id == RunJob.model_validate_json(recorded("run_worker")["Records"][0]["body"]).run_id
    return made


def handle(world: World, name: str) -> Any:
    """Hand the recorded event of a function to its handler."""
    event = Webhook.recorded(name).signed() if name.startswith("sms_web") else recorded(name)
    return invoke(import_module(name), world, event)


def worker(name: str) -> Any:
    """The function of an event: its name, and the kind of job if it takes several."""
    return import_module(next(each for each in FUNCTIONS if name.startswith(each)))


def connect(world: World, user_id: str = HUSAM.id) -> None:
    """Issue the ticket of the recorded `$connect` event, and open the connection."""
    now = world.clock.now()
    ticket = LiveTicket(
        tenant=TENANT,
        user_id=user_id,
        hash=LiveTicket.hash_of(recorded("live_connect")["queryStringParameters"]["ticket"]),
        issued_at=now,
        token_ends_at=now + timedelta(hours=1),
        ends_at=now + timedelta(minutes=1),
    )
    world.table.write(Put(ticket.key, ticket.to_item()))
    assert handle(world, "live_connect") == {"statusCode": 200}


def test_each_function_has_a_recorded_event() -> None:
    assert [name for name in FUNCTIONS if name not in NAMES] == []


def test_each_recorded_event_is_of_a_function() -> None:
    assert [name for name in NAMES if not name.startswith(tuple(FUNCTIONS))] == []


@pytest.mark.parametrize("name", OF_QUEUES)
def test_recorded_message_has_the_checksum_of_its_body(name: str) -> None:
    [record] = recorded(name)["Records"]
    body = record["body"].encode()
    assert record["md5OfBody"] == hashlib.md5(body, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_recorded_event_is_accepted_by_its_function(world: World, name: str) -> None:
    if name == "live_connect":
        connect(world)
        return
    answer = handle(world, name)
    if name in {*OF_QUEUES, "feed"}:
        assert answer == FAILED_NONE
    elif "statusCode" in answer:
        expected = {"service_webhook": 403, "sms_status": 403}  # their signatures are not valid
        assert answer["statusCode"] in {expected.get(name, 200), 201, 202}, answer


def no_jobs(body: str) -> list[str]:
    """Texts that are not a job of the queue of `body`."""
    job = json.loads(body)
    wrong = ({"v": 2}, {"tenant": 7}, {"hops": -1})
    without_tenant = {name: value for name, value in job.items() if name != "tenant"}
    return [
        "",
        "no JSON",
        "[]",
        "{}",
        *map(json.dumps, [without_tenant, *(job | w for w in wrong)]),
    ]


@pytest.mark.parametrize("name", OF_QUEUES)
def test_message_that_is_no_job_fails_alone(world: World, name: str) -> None:
    event = recorded(name)
    [record] = event["Records"]
    bodies = no_jobs(record["body"])
    poison = [record | {"messageId": str(n), "body": body} for n, body in enumerate(bodies)]
    answer = invoke(worker(name), world, {"Records": [*poison, record]})
    failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
    assert failed == [each["messageId"] for each in poison]


@pytest.mark.parametrize("name", OF_QUEUES)
def test_job_of_a_newer_release_is_handled_as_one_of_this_release(world: World, name: str) -> None:
    event = recorded(name)
    [record] = event["Records"]
    newer = json.dumps(json.loads(record["body"]) | {"more": 1})
    answer = invoke(worker(name), world, {"Records": [record | {"body": newer}]})
    assert answer == FAILED_NONE


def test_recorded_run_job_has_the_agent_answer(world: World) -> None:
    bootstrap.use(world.app)
    assert run_worker.handler(
        recorded("run_worker"), cast("LambdaContext", LongContext(run_worker))
    ) == (FAILED_NONE)
    assert [message.text for message in world.messages()] == ["Hello", "Hello!"]


def test_recorded_upkeep_job_lists_the_chat_under_its_last_hour(world: World) -> None:
    world.clock.advance(3_600)
    world.post("At one", HUSAM)
    assert world.stored_chat().listed_hour != world.stored_chat().activity_hour
    assert handle(world, "upkeep_worker") == FAILED_NONE
    assert world.stored_chat().listed_hour == world.stored_chat().activity_hour


def test_recorded_push_job_sends_frames_to_a_reader(world: World) -> None:
    connect(world, AHMAD.id)
    assert handle(world, "push_worker") == FAILED_NONE
    frames = world.sockets.frames(CONNECTION)
    assert [frame["type"] for frame in frames] == ["message", "run", "read"]


def test_recorded_ticket_opens_one_connection(world: World) -> None:
    connect(world)
    assert handle(world, "live_connect")["statusCode"] == 401


def test_recorded_frame_tells_that_a_member_is_typing(world: World) -> None:
    connect(world)
    assert handle(world, "live_frames") == {"statusCode": 200}
    event = LiveEvent(type="typing", member=HUSAM.ref)
    [job] = [each.job for each in world.queues.sent if isinstance(each.job, PushJob)]
    assert (job.chat_id, job.events) == ("chat_1", (event,))


def test_recorded_end_forgets_the_connection(world: World) -> None:
    connect(world)
    assert handle(world, "live_disconnect") == {"statusCode": 200}
    assert world.table.get(Connection.key_of(CONNECTION)) is None


def test_recorded_tick_sends_all_due_items(world: World) -> None:
    for number in range(2, 30):
        world.chat(HUSAM, COACH, chat_id=f"chat_{number}")
        world.post("Hello", HUSAM, chat_id=f"chat_{number}")
    world.clock.advance(600)
    assert handle(world, "tick")["sent"] >= 28
    assert world.tick() == 0
