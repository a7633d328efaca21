"""The delivery queue's messages, in the shape in which Lambda gets them."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

import sms_delivery
from skein.errors import Unavailable
from skein.models.outbox.jobs import DeliveryJob
from skein.services.delivery.policy import DELIVERY_LEASE_MARGIN
from tests.support.api_client import Context, recorded
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.routes import sms_route
from tests.support.webhooks import invoke, signed_world

DELIVERY = recorded("sms_delivery")


@pytest.fixture
def world() -> World:
    world = signed_world()
    address = sms_route(line=LINE, phone=PHONE)
    world.chat(person(), bot(), kind="direct", visibility="private", route=address)
    return world


def event(world: World, *texts: str) -> dict[str, Any]:
    """The recorded event, with a record for each text that the agent says."""
    records = []
    for n, text in enumerate(texts):
        world.post(text, bot())
        record = deepcopy(DELIVERY["Records"][0])
        job = DeliveryJob(tenant=TENANT, chat_id="chat_1", delivery_id=world.deliveries()[-1].id)
        records.append(record | {"messageId": str(n), "body": job.model_dump_json()})
    return {"Records": records}


def handle(world: World, event: dict[str, Any]) -> list[str]:
    """Handle an event; returns the messages that SQS is to give again."""
    answer = invoke(sms_delivery, world, event)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_the_recorded_event_is_a_delivery_job(world: World) -> None:
    job = DeliveryJob.model_validate_json(DELIVERY["Records"][0]["body"])
    assert job.tenant == TENANT
    assert handle(world, DELIVERY) == []  # of a delivery that is not there (any more)


def test_each_text_goes_out(world: World) -> None:
    assert handle(world, event(world, "one", "two")) == []
    assert world.sms.bodies == ["one", "two"]


def test_job_while_the_table_is_down_is_retried(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = event(world, "one")

    def down(*_: object) -> None:
        raise Unavailable("table")

    with monkeypatch.context() as patch:
        patch.setattr(world.table, "get", down)
        assert handle(world, batch) == ["0"]
    assert handle(world, batch) == []
    assert world.sms.bodies == ["one"]


def test_the_lease_ends_by_its_margin_after_the_invocation(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = event(world, "one")
    leases = []
    send = world.sms.send

    def look(sms: Any) -> Any:
        leases.append(world.deliveries()[0].lease_until)
        return send(sms)

    monkeypatch.setattr(world.sms, "send", look)
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _: 60_000)
    handle(world, batch)
    assert leases == [NOON + timedelta(seconds=60) + DELIVERY_LEASE_MARGIN]
