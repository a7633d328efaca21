"""Deliveries of services, through the gateway's own event shapes."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import service_webhook
from skein.errors import Unavailable
from skein.inbound.service_webhooks import chat_named_in, compact_json
from skein.inbound.webhook_signature import WINDOW, sign
from skein.models.common.storage import Query
from skein.models.directory.webhook_service import MAX_PAYLOAD_BYTES
from skein.models.runs.run import Run
from tests.support.api_client import PROBLEM_FIELDS
from tests.support.builders import TENANT, World
from tests.support.service_webhook import RECORDED, SECRET, SENT_AT, SERVICE, listening
from tests.support.webhooks import invoke

LONGEST = int(WINDOW.total_seconds())


@pytest.fixture
def world() -> World:
    return listening()


def delivery(
    body: bytes = b'{"issue":1}',
    *,
    header: str | None = None,
    service: str = SERVICE,
    secret: str = SECRET,
    sent_at: str = SENT_AT,
    encoded: bool = False,
) -> dict[str, Any]:
    """The recorded event with another body, signed as it should be unless told otherwise."""
    event = deepcopy(RECORDED)
    event["rawPath"] = f"/webhooks/services/{service}"
    event["pathParameters"] = {"service_id": service}
    event["body"] = base64.b64encode(body).decode() if encoded else body.decode()
    event["isBase64Encoded"] = encoded
    signed = f"t={sent_at},v1={sign(secret, sent_at, body)}"
    event["headers"]["x-skein-signature"] = signed if header is None else header
    return event


def send(world: World, event: dict[str, Any]) -> Any:
    return invoke(service_webhook, world, event)


def started_runs(world: World) -> list[Run]:
    page = world.table.query(Query.under(f"{TENANT}#AGENT#agt_a", "RUN#"))
    return [Run.from_item(item) for item in page.items]


def refused(world: World, event: dict[str, Any]) -> tuple[int, str]:
    """Status and code of a refusal, after which nothing is stored."""
    before, counted = world.table.all_items(), world.metrics.counts["RequestsRejected"]
    answer = send(world, event)
    assert world.table.all_items() == before
    assert world.queues.sent == []
    assert world.metrics.counts["RequestsRejected"] == counted + (answer["statusCode"] < 500)
    error = json.loads(answer["body"])
    assert set(error) == PROBLEM_FIELDS
    return answer["statusCode"], error["code"]


# ---------------------------------------------------------------------- what passes


def test_the_recorded_delivery_wakes_the_agent(world: World) -> None:
    answer = send(world, RECORDED)
    [run] = started_runs(world)
    assert (answer["statusCode"], json.loads(answer["body"])) == (202, {"runs": [run.id]})
    assert run.trigger.service is not None
    assert run.trigger.service.model_dump() == {
        "id": SERVICE,
        "name": "jira-webhook",
        "payload": '{"issue":"PROJ-123","action":"status_changed","newStatus":"done"}',
        "chat_id": None,
    }
    assert len(world.queues.waiting("turns")) == 1


def test_a_body_that_the_gateway_encodes_is_verified_over_its_bytes(world: World) -> None:
    body = '{"wer": "Jürgen 🎉"}'.encode()
    assert send(world, delivery(body, encoded=True))["statusCode"] == 202
    assert send(world, delivery(body))["statusCode"] == 202
    assert len(started_runs(world)) == 1


def test_repeated_service_delivery_gets_the_same_answer_and_starts_no_run(world: World) -> None:
    first, second = send(world, RECORDED), send(world, RECORDED)
    assert first == second
    assert len(started_runs(world)) == 1
    assert len(world.queues.sent) == 1


def test_the_same_delivery_many_times_at_once_wakes_once(world: World) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(world, RECORDED), range(8)))
    assert {answer["statusCode"] for answer in answers} == {202}
    assert len(started_runs(world)) == 1


def test_a_payload_may_hold_64_kib(world: World) -> None:
    body = b'"' + b"x" * (MAX_PAYLOAD_BYTES - 2) + b'"'
    for encoded in (False, True):
        assert send(world, delivery(body, encoded=encoded))["statusCode"] == 202


def test_a_signature_in_capitals_is_the_same_delivery(world: World) -> None:
    send(world, delivery())
    time, _, value = delivery()["headers"]["x-skein-signature"].partition(",v1=")
    answer = send(world, delivery(header=f"{time}, v1={value.upper()}"))
    assert answer["statusCode"] == 202
    assert len(started_runs(world)) == 1


# ---------------------------------------------------------------------- what does not

RIGHT = sign(SECRET, SENT_AT, b'{"issue":1}')


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        f"v1={RIGHT}",
        f"t={SENT_AT}",
        f"t={SENT_AT},v1=",
        f"t={SENT_AT},v1={RIGHT[:-1]}",
        f"t={SENT_AT},v1={RIGHT}0",
        f"t={SENT_AT},v0={RIGHT}",
        f"t={SENT_AT},v1={'0' * 64}",
        f"t={int(SENT_AT) + 1},v1={RIGHT}",
        f"t=0{SENT_AT},v1={RIGHT}",
        f"t={SENT_AT}.0,v1={RIGHT}",
        f"t=-1,v1={RIGHT}",
        f"t={'9' * 400},v1={RIGHT}",
        f"t=١٢٣,v1={RIGHT}",
    ],
)
def test_a_forged_signature_is_403(world: World, header: str) -> None:
    assert refused(world, delivery(header=header)) == (403, "forbidden")


def test_a_missing_signature_is_403(world: World) -> None:
    event = delivery()
    del event["headers"]["x-skein-signature"]
    assert refused(world, event) == (403, "forbidden")


def test_a_body_that_was_changed_on_the_way_is_403(world: World) -> None:
    event = delivery()
    event["body"] = '{"issue":2}'
    assert refused(world, event) == (403, "forbidden")


@pytest.mark.parametrize("seconds", [-LONGEST - 1, LONGEST + 1])
def test_a_stale_delivery_is_403(world: World, seconds: int) -> None:
    event = delivery(sent_at=str(int(SENT_AT) + seconds))
    assert refused(world, event) == (403, "forbidden")


@pytest.mark.parametrize(
    "service", ["svc_unknown", "x", "", "svc_" + "a" * 3_000, "SERVICE#x", "é"]
)
def test_unknown_service_is_rejected_like_wrong_signature(world: World, service: str) -> None:
    unknown = send(world, delivery(service=service))
    forged = send(world, delivery(secret="wrong"))
    assert unknown == forged
    assert unknown["statusCode"] == 403


@pytest.mark.parametrize("encoded", [False, True])
def test_more_than_64_kib_is_413(world: World, encoded: bool) -> None:
    for size in (MAX_PAYLOAD_BYTES + 1, 1_000_000):
        body = b'"' + b"x" * (size - 2) + b'"'
        assert refused(world, delivery(body, encoded=encoded)) == (413, "too_large")


@pytest.mark.parametrize("body", [b"", b"{", b"issue=1", b"NaN", b'"\xff"', b"[" * 5_000])
def test_service_webhook_without_json_is_400(world: World, body: bytes) -> None:
    assert refused(world, delivery(body, encoded=True)) == (400, "invalid")


@pytest.mark.parametrize("body", ["no base64!", "é", "AAA"])
def test_body_with_invalid_base64_is_400(world: World, body: str) -> None:
    event = delivery(encoded=True)
    event["body"] = body
    assert refused(world, event) == (400, "invalid")


def test_an_event_without_a_body_is_400(world: World) -> None:
    event = delivery(b"")
    del event["body"]
    assert refused(world, event) == (400, "invalid")


def test_service_delivery_while_the_table_is_down_is_503(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise Unavailable("down")

    monkeypatch.setattr(world.table, "transact", down)
    assert send(world, RECORDED)["statusCode"] == 503


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=80), header=st.text(max_size=120), encoded=st.booleans())
def test_delivery_without_valid_signature_is_403(
    world: World, body: bytes, header: str, encoded: bool
) -> None:
    event = delivery(header=header)
    event["body"] = base64.b64encode(body).decode() if encoded else body.decode("latin-1")
    event["isBase64Encoded"] = encoded
    assert refused(world, event) == (403, "forbidden")


@pytest.mark.parametrize(
    ("body", "chat_id"),
    [
        (b'{"chat_id": "chat_1", "text": "Late"}', "chat_1"),
        (b'{"chat_id": 7}', None),
        (b'{"chat_id": "usr_1"}', None),
        (b'{"data": {"chat_id": "chat_1"}}', None),
        (b'["chat_1"]', None),
    ],
)
def test_service_webhook_names_a_chat_only_by_its_outermost_chat_id(
    body: bytes, chat_id: str | None
) -> None:
    assert chat_named_in(compact_json(body)) == chat_id
