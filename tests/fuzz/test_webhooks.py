"""Whatever reaches a webhook is answered, never with 5xx, and stored only if it is signed."""

import base64
import json
from copy import deepcopy
from typing import Any
from urllib.parse import urlencode

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import service_webhook
import sms_status
import sms_webhook
from skein.adapters.twilio.signature import TwilioSignature
from skein.inbound.webhook_signature import sign
from tests.fuzz import examples
from tests.support.api_client import PROBLEM_FIELDS
from tests.support.builders import World
from tests.support.service_webhook import RECORDED, SECRET, SENT_AT, listening
from tests.support.webhooks import SETTINGS, Webhook, invoke, signed_world

DOORS = {"sms_webhook": sms_webhook, "sms_status": sms_status}
TWILIO = {name: Webhook.recorded(name) for name in DOORS}

FUZZED = settings(
    max_examples=examples(30, 2_000),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

odd_sms = st.text(max_size=60) | st.sampled_from(
    ["", " ", "\0", "\n", "+1", "+15005550006", "SM" + "0" * 32, "-1", "9" * 40, "STOP", "é", "🎉"]
)
field_names = st.sampled_from(
    [
        *("AccountSid", "MessageSid", "From", "To", "Body", "NumMedia", "MediaUrl0"),
        *("MediaContentType0", "OptOutType", "MessageStatus", "ErrorCode", "SmsStatus"),
    ]
)
changes = st.dictionaries(field_names, st.none() | odd_sms, max_size=6)
extras = st.lists(st.tuples(field_names | odd_sms, odd_sms), max_size=6)
queries = st.none() | odd_sms.map(lambda text: urlencode({"tenant": text, "part": text})) | odd_sms
doors = st.sampled_from(sorted(DOORS))


def _messages(world: World) -> list[str]:
    return [f"{key.pk} {key.sk}" for key in world.table.all_keys() if key.sk.startswith("MSG#")]


def _status(answer: dict[str, Any]) -> int:
    status = int(answer["statusCode"])
    assert 200 <= status < 500, answer
    if status >= 400:
        assert set(json.loads(answer["body"])) == PROBLEM_FIELDS
    return status


def _assert_refused(world: World, function: Any, event: dict[str, Any]) -> None:
    before = world.table.all_items()
    assert _status(invoke(function, world, event)) in {400, 403, 404, 413}
    assert world.table.all_items() == before
    assert world.queues.sent == []


# ---------------------------------------------------------------------- Twilio


@FUZZED
@given(door=doors, changed=changes, more=extras, query=queries)
def test_signed_form_with_any_fields_is_accepted_or_rejected_cleanly(
    door: str, changed: dict[str, str | None], more: list[tuple[str, str]], query: str | None
) -> None:
    world = signed_world()
    hook = TWILIO[door].but(**changed)
    hook = Webhook(hook.event, (*hook.fields, *more), hook.query if query is None else query)
    for _ in range(2):
        status = _status(invoke(DOORS[door], world, hook.signed()))
        assert status in {200, 204, 400, 403, 404, 409, 413, 422}
    assert len(_messages(world)) <= (door == "sms_webhook" and status == 200)


@FUZZED
@given(
    door=doors,
    changed=changes.filter(bool),
    signature=st.sampled_from(["stale", "none", "empty"]) | odd_sms,
)
def test_a_form_that_was_not_signed_leaves_no_trace(
    door: str, changed: dict[str, str | None], signature: str
) -> None:
    world, hook = signed_world(), TWILIO[door].but(**changed)
    stale = TWILIO[door].signature()
    if hook.signature() == stale:  # nothing was really changed
        hook = hook.but(Surely="new")
    header = {"stale": stale, "none": None, "empty": ""}.get(signature, signature)
    _assert_refused(world, DOORS[door], hook.signed(x_twilio_signature=header))


@FUZZED
@given(
    door=doors,
    body=st.text(max_size=300) | st.binary(max_size=300),
    encoded=st.booleans(),
    kind=odd_sms,
    query=odd_sms,
)
def test_body_with_foreign_signature_is_rejected_without_a_trace(
    door: str, body: str | bytes, *, encoded: bool, kind: str, query: str
) -> None:
    """A good signature of another body is no signature of this one."""
    event = TWILIO[door].signed()
    raw = body if isinstance(body, str) else base64.b64encode(body).decode()
    event |= {"body": raw, "isBase64Encoded": encoded, "rawQueryString": query}
    event["headers"] |= {"content-type": kind}
    _assert_refused(signed_world(), DOORS[door], event)


def test_fuzzed_worlds_verify_signatures() -> None:
    """And let through what has one; otherwise the tests above would prove nothing."""
    world = signed_world()
    assert isinstance(world.app.ports.verifier, TwilioSignature)
    assert world.settings == SETTINGS
    assert _status(invoke(sms_webhook, world, TWILIO["sms_webhook"].signed())) == 200
    assert len(_messages(world)) == 1


# ---------------------------------------------------------------------- services


def _delivery(body: bytes, header: str, *, encoded: bool) -> dict[str, Any]:
    event = deepcopy(RECORDED)
    raw = base64.b64encode(body).decode() if encoded else body.decode(errors="replace")
    event |= {"body": raw, "isBase64Encoded": encoded}
    event["headers"]["x-skein-signature"] = header
    return event


@FUZZED
@given(
    body=st.binary(max_size=400)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | odd_sms,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_sms, inner, max_size=3),
    ).map(lambda value: json.dumps(value).encode())
)
def test_signed_delivery_with_any_body_is_accepted_or_rejected_cleanly(body: bytes) -> None:
    world = listening()
    header = f"t={SENT_AT},v1={sign(SECRET, SENT_AT, body)}"
    for _ in range(2):
        answer = invoke(service_webhook, world, _delivery(body, header, encoded=True))
        assert _status(answer) in {202, 400, 422}
    runs = [key for key in world.table.all_keys() if key.sk.startswith("RUN#")]
    assert len(runs) == (answer["statusCode"] == 202)


@FUZZED
@given(
    body=st.binary(max_size=200),
    header=st.text(max_size=120)
    | st.from_regex(r"t=[0-9-]{0,12},v1=[0-9a-f]{0,64}(,v1=[0-9a-f]{64})?", fullmatch=True),
    encoded=st.booleans(),
    service=st.none() | odd_sms,
)
def test_a_delivery_that_was_not_signed_leaves_no_trace(
    body: bytes, header: str, *, encoded: bool, service: str | None
) -> None:
    event = _delivery(body, header, encoded=encoded)
    if service is not None:
        event["pathParameters"] = {"service_id": service}
    _assert_refused(listening(), service_webhook, event)
