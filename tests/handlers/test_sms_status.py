"""Twilio's status callbacks, through the gateway's own event shapes."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

import sms_status
from skein.models.delivery.delivery import Delivery
from skein.models.outbox.jobs import DeliveryJob
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.routes import sms_route
from tests.support.webhooks import Webhook, invoke, signed_world

STATUS = Webhook.recorded("sms_status")
TOO_LONG = [{"ErrorCode": "9" * digits} for digits in (40, 5_000)]  # for the table, for `int`


@pytest.fixture
def world() -> World:
    world = signed_world()
    address = sms_route(line=LINE, phone=PHONE)
    world.chat(person(), bot(), kind="direct", visibility="private", route=address)
    world.post("Good morning!", bot())
    world.run_ready()
    return world


def delivery(world: World) -> Delivery:
    return world.deliveries()[0]


def callback(world: World, **fields: str | None) -> Webhook:
    """The recorded callback, for the text that this world sent."""
    sent = STATUS.but(MessageSid=world.sms.taken[-1][1].sid).but(**fields)
    return sent.asking(urlsplit(str(world.sms.taken[-1][0].callback)).query)


def send(world: World, event: dict[str, Any]) -> Any:
    return invoke(sms_status, world, event)


def refused(world: World, event: dict[str, Any]) -> tuple[int, str]:
    before, counted = world.table.all_items(), world.metrics.counts["RequestsRejected"]
    answer = send(world, event)
    assert world.table.all_items() == before
    assert world.metrics.counts["RequestsRejected"] == counted + 1
    return answer["statusCode"], json.loads(answer["body"])["code"]


def test_status_callback_updates_its_delivery(world: World) -> None:
    assert send(world, callback(world).signed()) == {"statusCode": 204}
    assert delivery(world).status == "delivered"


def test_recorded_event_has_the_shape_of_a_request(world: World) -> None:
    asked = str(world.sms.taken[-1][0].callback)
    names = [pair.split("=")[0] for pair in STATUS.query.split("&")]
    assert names == [pair.split("=")[0] for pair in urlsplit(asked).query.split("&")]
    assert asked.startswith(f"{world.settings.public_base_url}/webhooks/twilio/status?")


def test_an_error_is_recorded_with_its_code(world: World) -> None:
    event = callback(world, MessageStatus="undelivered", ErrorCode="30006").signed()
    assert send(world, event) == {"statusCode": 204}
    assert delivery(world).parts[0].error_code == 30006
    assert delivery(world).status == "failed"


@pytest.mark.parametrize("status", ["receiving", "some-new-word", ""])
def test_unknown_status_changes_nothing(world: World, status: str) -> None:
    before = delivery(world)
    event = callback(world, MessageStatus=status).signed()
    assert send(world, event) == {"statusCode": 204}
    assert delivery(world) == before


def test_status_callback_with_forged_part_is_403(world: World) -> None:
    signed = callback(world)
    event = signed.signed() | {"rawQueryString": f"{signed.query}&part=1"}
    assert refused(world, event) == (403, "forbidden")


@pytest.mark.parametrize("signature", [None, "", "0" * 28])
def test_request_with_wrong_signature_is_403(world: World, signature: str | None) -> None:
    event = callback(world).signed(x_twilio_signature=signature)
    assert refused(world, event) == (403, "forbidden")


def test_another_accounts_signature_does_not_pass(world: World) -> None:
    event = replace(callback(world), token="another").signed()
    assert refused(world, event) == (403, "forbidden")


@pytest.mark.parametrize(
    "query",
    [
        "",
        f"tenant={TENANT}",
        f"tenant={TENANT}&chat=chat_1&delivery=d&part=x",
        f"tenant={TENANT}&chat=chat_1&delivery=d&part=-1",
        "tenant=&chat=chat_1&delivery=d&part=0",
        f"tenant={TENANT}&chat=chat_1&delivery=d&part={'9' * 5_000}",
    ],
)
def test_a_callback_that_names_no_part_is_invalid(world: World, query: str) -> None:
    assert refused(world, callback(world).asking(query).signed()) == (400, "invalid")


@pytest.mark.parametrize("fields", [{"MessageSid": None}, {"ErrorCode": "none"}, *TOO_LONG])
def test_malformed_fields_are_invalid(world: World, fields: dict[str, str | None]) -> None:
    assert refused(world, callback(world, **fields).signed()) == (400, "invalid")


@pytest.mark.parametrize("tenant", ["other", "acme%23CHAT%23chat_1"])
def test_another_tenants_delivery_is_not_found(world: World, tenant: str) -> None:
    query = callback(world).query.replace(f"tenant={TENANT}", f"tenant={tenant}")
    assert refused(world, callback(world).asking(query).signed()) == (404, "not_found")


def test_a_part_that_does_not_exist_is_not_found(world: World) -> None:
    query = callback(world).query.replace("part=0", "part=9")
    assert refused(world, callback(world).asking(query).signed()) == (404, "not_found")


def test_delivery_job_of_the_recorded_text_was_queued(world: World) -> None:
    job = DeliveryJob(tenant=TENANT, chat_id="chat_1", delivery_id=delivery(world).id)
    assert [waiting.job for waiting in world.queues.sent if waiting.job == job] == [job]


def test_a_receipt_of_whatsapp_makes_its_part_read(world: World) -> None:
    recorded = Webhook.recorded("sms_status_whatsapp").but(MessageSid=world.sms.taken[-1][1].sid)
    query = urlsplit(str(world.sms.taken[-1][0].callback)).query
    assert send(world, recorded.asking(query).signed()) == {"statusCode": 204}
    assert send(world, callback(world).signed()) == {"statusCode": 204}
    assert delivery(world).status == "read"
