"""The policy of drain, and how waiting work is classified."""

import re
from datetime import datetime, timedelta
from typing import Any, get_args

import pytest

from local.events import QueueMessage
from local.polling.inbox import Held, PolledQueue
from local.template import Queue, QueueSource
from local.timing.due_index import DueIndex
from local.timing.waiting import BARRIERS, MAX_SHOWN, POLICY, WaitingWork, WaitKind
from skein.models.common.reason import Reason
from skein.models.common.storage import Update
from skein.models.outbox.jobs import DeliveryJob, Job, RecallJob, RunJob, UpkeepJob
from skein.models.runs.run import Run
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.functions import a_function
from tests.support.local_page import page
from tests.support.routes import sms_route

STEPS = {"advances the clock": "turn", "waits in real time": "wait", "nothing": "leave"}
LATER = timedelta(minutes=5)


def held(job: Job, function: str, *, failures: int = 0, due: datetime = NOON + LATER) -> Held:
    message = QueueMessage(
        message_id="1",
        receipt_handle="1",
        body=job.model_dump_json(),
        md5="",
        receive_count=1,
        sent_at=NOON,
        first_received_at=NOON,
    )
    worker = a_function(function)
    source = QueueSource("Work", 1, partial_failures=True, concurrency=1)
    queue = PolledQueue(Queue("Work", 0, 360, 3, "Dead"), worker, source)
    return Held(queue, message, due, failures=failures)


def work(world: World, *messages: Held) -> WaitingWork:
    return WaitingWork(
        world.table,
        DueIndex(world.table),
        messages=lambda: messages,
        changes=tuple,
        now=world.clock.now,
    )


def run_of(world: World, **changes: Any) -> Run:
    """The run of a person's message, with other attributes in the table."""
    world.chat(person(), bot())
    world.agent()
    world.post("Hi", person())
    [run] = world.runs()
    world.table.write(Update(run.key, set=changes))
    return run


def job_of(run: Run) -> Held:
    return held(RunJob(tenant=TENANT, run_id=run.id, agent_id=run.agent_id), "RunWorker")


def test_policy_has_a_step_for_each_kind_and_the_page_says_the_same() -> None:
    assert set(get_args(WaitKind)) == POLICY.keys()
    rows = re.findall(r"^\| (`[^|]+) \| .* \| ([a-z ]+) \|$", page(), flags=re.MULTILINE)
    documented = {
        kind: STEPS[said] for kinds, said in rows for kind in re.findall(r"`(\w+)`", kinds)
    }
    assert documented == POLICY


def test_drain_never_turns_the_clock_past_a_model_a_person_or_a_failed_job() -> None:
    assert {"model", "model_settings", "reply", "phone", "job"} == BARRIERS
    assert not [kind for kind in BARRIERS if POLICY[kind] == "turn"]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (Reason.MODEL_UNAVAILABLE, "model"),
        (Reason.MODEL_KEY_REFUSED, "model_settings"),
        (Reason.MODEL_UNKNOWN, "model_settings"),
        (Reason.CONCURRENCY_LIMIT, "busy"),
        (Reason.ATTEMPT_FAILED, "retry"),
        (None, "run"),
    ],
)
def test_deferred_run_is_listed_by_the_kind_of_its_reason(
    reason: Reason | None, kind: WaitKind
) -> None:
    world = World()
    lease = (NOON + timedelta(minutes=1)).isoformat().replace("+00:00", "Z")
    run = run_of(world, status="running", lease_until=lease, reason=reason)
    [waiting] = work(world, job_of(run)).in_queues()
    assert waiting.kind == kind
    assert waiting.names["run_id"] == run.id


def test_message_of_an_ended_run_waits_for_nothing() -> None:
    world = World()
    run = run_of(world, status="done")
    assert work(world, job_of(run)).in_queues() == []


def test_job_that_failed_is_left_whatever_it_names() -> None:
    world = World()
    run = run_of(world, status="running")
    failed = held(RunJob(tenant=TENANT, run_id=run.id, agent_id="agt_a"), "RunWorker", failures=2)
    [waiting] = work(world, failed).in_queues()
    assert (waiting.kind, waiting.step, waiting.names["failures"]) == ("job", "leave", 2)


def test_job_that_was_sent_with_a_delay_is_turned_past() -> None:
    upkeep = held(UpkeepJob(tenant=TENANT, chat_id="chat_1"), "UpkeepWorker")
    [waiting] = work(World(), upkeep).in_queues()
    assert (waiting.kind, waiting.step, waiting.until) == ("delay", "turn", NOON + LATER)


def test_talk_that_is_not_over_is_left() -> None:
    quiet = held(RecallJob(tenant=TENANT, chat_id="chat_1", first_seq=3), "UpkeepWorker")
    [waiting] = work(World(), quiet).in_queues()
    assert (waiting.kind, waiting.step) == ("background", "leave")


@pytest.mark.parametrize(("next_at", "kind"), [(None, "order"), (NOON + LATER, "phone")])
def test_delivery_waits_for_its_order_or_for_the_phone(
    next_at: datetime | None, kind: WaitKind
) -> None:
    world = World()
    sms = sms_route(line=LINE, phone=PHONE)
    world.chat(person(), bot(), kind="direct", visibility="private", route=sms)
    world.post("Hi", bot())
    [delivery] = world.deliveries()
    part = {"body": "Hi", "segments": 1, "status": "failed", "tries": 1}
    if next_at is not None:
        part["next_at"] = next_at.isoformat().replace("+00:00", "Z")
    world.table.write(Update(delivery.key, set={"parts": [part]}))
    job = DeliveryJob(tenant=TENANT, chat_id="chat_1", delivery_id=delivery.id)
    [waiting] = work(world, held(job, "SmsDelivery")).in_queues()
    assert waiting.kind == kind


def test_report_is_cut_and_says_how_much_it_left_out() -> None:
    upkeep = UpkeepJob(tenant=TENANT, chat_id="chat_1")
    failed = [held(upkeep, "UpkeepWorker", failures=1) for _ in range(MAX_SHOWN + 3)]
    shown, left = work(World(), *failed).report()
    assert (len(shown), left) == (MAX_SHOWN, 3)
