"""Texts from phones, through the gateway's own event shapes."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sms_webhook
from skein.adapters.twilio.signature import TwilioSignature
from skein.errors import Contention, Unavailable
from skein.models.common.address import phone_address
from skein.models.common.storage import Put
from skein.models.delivery.sms import CONNECTION_OVERRIDES
from skein.models.directory.address_index import AddressChat
from skein.models.directory.line import Line
from skein.services.chats.posted_media import files_of
from tests.fakes.sms import MemorySecrets
from tests.support.api_client import PROBLEM_FIELDS, recorded
from tests.support.builders import LINE, NOON, PHONE, TENANT, World
from tests.support.pictures import document, picture
from tests.support.webhooks import SETTINGS, Webhook, invoke, signed_world

ROOT = Path(__file__).resolve().parents[2]
SMS = Webhook.recorded("sms_webhook")
WHATSAPP = Webhook.recorded("sms_webhook_whatsapp")
SECOND_LINE = "+15005550007"


@pytest.fixture
def world() -> World:
    return signed_world()


def send(world: World, event: dict[str, Any]) -> Any:
    return invoke(sms_webhook, world, event)


def texts(world: World) -> list[str]:
    """What was stored of the one phone that texts here."""
    item = world.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
    return world.texts(item["chat_id"]) if item else []


def refused(world: World, event: dict[str, Any]) -> tuple[int, str]:
    """Status and code of a refusal, after which nothing is stored."""
    before, counted = world.table.all_items(), world.metrics.counts["RequestsRejected"]
    answer = send(world, event)
    assert world.table.all_items() == before
    assert world.queues.sent == []
    assert world.metrics.counts["RequestsRejected"] == counted + (answer["statusCode"] < 500)
    assert answer["headers"] == {"content-type": "application/problem+json"}
    error = json.loads(answer["body"])
    assert set(error) == PROBLEM_FIELDS
    return answer["statusCode"], error["code"]


# ---------------------------------------------------------------------- what passes


def test_a_message_of_whatsapp_reaches_the_line_of_its_channel(world: World) -> None:
    world.line(channels=("whatsapp",))
    assert send(world, WHATSAPP.signed())["statusCode"] == 200
    assert texts(world) == ["Yes"]
    assert send(world, SMS.signed())["statusCode"] == 404


def test_a_line_without_whatsapp_gets_none_of_its_messages(world: World) -> None:
    assert refused(world, WHATSAPP.signed()) == (404, "not_found")


def test_addresses_of_two_channels_are_refused(world: World) -> None:
    assert refused(world, WHATSAPP.but(To=LINE).signed()) == (400, "invalid")


@pytest.mark.parametrize("name", ["sms_webhook", "sms_webhook_plain"])
def test_a_text_is_taken_in_and_answered_with_empty_twiml(world: World, name: str) -> None:
    answer = send(world, Webhook.recorded(name).signed())
    assert answer == {
        "statusCode": 200,
        "headers": {"content-type": "text/xml"},
        "body": "<Response/>",
    }
    assert texts(world) == ["Good morning, coach! "]
    assert len(world.queues.waiting("turns")) == 1


def test_the_same_webhook_again_is_the_same_message(world: World) -> None:
    event = SMS.signed()
    assert send(world, event) == send(world, event)
    assert texts(world) == ["Good morning, coach! "]


def test_the_very_first_webhook_twice_at_once_is_one_message(world: World) -> None:
    event = SMS.signed()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(world, event), range(4)))
    assert {answer["statusCode"] for answer in answers} == {200}
    assert texts(world) == ["Good morning, coach! "]


@pytest.mark.parametrize(
    "body",
    [
        " two spaces  ",
        "line\r\none\ttwo",
        "a+b & c=d % 100%25",
        "\u4f60\u597d \U0001f600 e\u0301",
        "\u2028",
    ],
)
def test_words_arrive_as_they_were_typed(world: World, body: str) -> None:
    picture = {"NumMedia": "1", "MediaUrl0": "https://api.twilio.com/ME1"}
    assert send(world, SMS.but(Body=body, **picture).signed())["statusCode"] == 200
    assert texts(world) == [body]


def test_the_name_of_the_signatures_header_may_be_in_any_case(world: World) -> None:
    event = SMS.signed(x_twilio_signature=None, X_Twilio_Signature=SMS.signature())
    assert "X-Twilio-Signature" in event["headers"]
    assert send(world, event)["statusCode"] == 200


def test_signature_is_checked_with_the_configured_url(world: World) -> None:
    event = SMS.signed()
    event["rawPath"] = event["requestContext"]["http"]["path"] = "/dev/webhooks/twilio/sms"
    event["requestContext"]["stage"] = "dev"
    event["headers"]["host"] = "evil.example.com"
    assert send(world, event)["statusCode"] == 200


DOMAIN = "abc123.lambda-url.eu-central-1.on.aws"


def at_function_url(event: dict[str, Any]) -> dict[str, Any]:
    """The event as the function's own URL delivers it."""
    request = {**event["requestContext"], "domainName": DOMAIN, "routeKey": "$default"}
    return {**event, "routeKey": "$default", "requestContext": request}


@pytest.mark.parametrize("fragment", ["", CONNECTION_OVERRIDES])
@pytest.mark.parametrize("direct", [False, True], ids=["gateway", "function URL"])
def test_signature_may_cover_the_connection_overrides(
    world: World, direct: bool, fragment: str
) -> None:
    webhook = replace(SMS, base_url=f"https://{DOMAIN}") if direct else SMS
    event = replace(webhook, fragment=fragment).signed()
    other = replace(webhook, fragment="#rc=1").signed()
    assert refused(world, at_function_url(other) if direct else other) == (403, "forbidden")
    assert send(world, at_function_url(event) if direct else event)["statusCode"] == 200
    assert texts(world) == ["Good morning, coach! "]


def test_signature_for_the_gateway_is_none_for_the_function_url(world: World) -> None:
    assert refused(world, at_function_url(SMS.signed())) == (403, "forbidden")


def test_a_query_string_counts_as_it_was_sent(world: World) -> None:
    assert send(world, SMS.asking("b=%2B&a=1&a=2&empty=").signed())["statusCode"] == 200


@pytest.mark.parametrize(
    ("name", "channel", "kind"),
    [
        ("sms_webhook_media", "sms", "image/jpeg"),
        ("sms_webhook_whatsapp_media", "whatsapp", "application/pdf"),
    ],
)
def test_file_of_a_recorded_message_is_fetched_from_twilio(
    world: World, name: str, channel: str, kind: str
) -> None:
    world.line(channels=(channel,))
    webhook = Webhook.recorded(name)
    content = document("Rest") if kind == "application/pdf" else picture()
    world.sms.media_files = {dict(webhook.fields)["MediaUrl0"]: content}
    assert send(world, webhook.signed())["statusCode"] == 200
    world.drain()
    item = world.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
    assert item is not None
    message = world.messages(item["chat_id"])[0]
    [file] = files_of(world.table, [message]).values()
    assert (file.state, file.content_type, file.seq) == ("ready", kind, 1)


def test_files_beyond_ten_are_left_out(world: World) -> None:
    urls = {f"MediaUrl{n}": f"https://api.twilio.com/ME{n}" for n in range(11)}
    assert send(world, SMS.but(NumMedia="11", **urls).signed())["statusCode"] == 200
    item = world.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
    assert item is not None
    assert len(world.messages(item["chat_id"])[0].media) == 10


def test_pictures_are_named_by_their_types(world: World) -> None:
    mms = SMS.but(
        Body="",
        NumMedia="2",
        MediaUrl0="https://api.twilio.com/ME1",
        MediaContentType0="image/jpeg",
        MediaUrl1="https://api.twilio.com/ME2",
    )
    assert send(world, mms.signed())["statusCode"] == 200
    item = world.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
    assert item is not None
    [message] = world.messages(item["chat_id"])
    assert [media.content_type for media in message.media] == [
        "image/jpeg",
        "application/octet-stream",
    ]


def test_an_empty_text_is_answered_and_not_stored(world: World) -> None:
    assert send(world, SMS.but(Body="").signed())["statusCode"] == 200
    assert texts(world) == []


def test_twilios_own_judgement_of_a_keyword_is_honoured(world: World) -> None:
    assert send(world, SMS.but(Body="ARRET", OptOutType="STOP").signed())["statusCode"] == 200
    assert texts(world) == ["ARRET"]
    assert world.queues.waiting("turns") == ()


# ---------------------------------------------------------------------- what does not


@pytest.mark.parametrize("signature", [None, "", "0" * 28, "x"])
def test_request_with_wrong_signature_is_403(world: World, signature: str | None) -> None:
    event = SMS.signed(x_twilio_signature=signature)
    assert refused(world, event) == (403, "forbidden")


@pytest.mark.parametrize(
    "forged",
    [
        SMS.but(Body="Good morning, coach!"),  # trimmed
        SMS.but(ToCity=None),  # a blank value left out
        SMS.but(From="+15005550199"),
        SMS.but(Extra=""),
        SMS.asking("a=1"),
    ],
)
def test_a_signature_of_other_fields_does_not_pass(world: World, forged: Webhook) -> None:
    event = forged.signed(x_twilio_signature=SMS.signature())
    assert refused(world, event) == (403, "forbidden")


def test_a_signature_for_the_url_without_its_stage_does_not_pass(world: World) -> None:
    bare = replace(SMS, base_url="https://skein.example.com")
    assert refused(world, bare.signed()) == (403, "forbidden")


@pytest.mark.parametrize("secrets", [{}, {"twilio": {}}, {"twilio": {"auth_token": ""}}])
def test_webhook_without_configured_secret_is_rejected(secrets: dict[str, dict[str, str]]) -> None:
    verifier = TwilioSignature(MemorySecrets(secrets), SETTINGS)
    world = World(SETTINGS, overrides={"verifier": verifier})
    event = replace(SMS, token="").signed()
    assert refused(world, event) == (403, "forbidden")


def test_a_text_to_a_number_that_is_no_line_is_not_found(world: World) -> None:
    assert refused(world, SMS.but(To="+15005550007").signed()) == (404, "not_found")


def test_a_text_from_a_short_code_is_refused(world: World) -> None:
    assert refused(world, SMS.but(From="72345").signed()) == (422, "unprocessable")


@pytest.mark.parametrize(
    "changed",
    [
        {"MessageSid": None},
        {"MessageSid": ""},
        {"MessageSid": "x" * 65},
        {"AccountSid": None},
        {"From": None},
        {"To": None},
        {"NumMedia": "many"},
        {"NumMedia": "-1"},
        {"NumMedia": "9" * 5_000},
        {"NumMedia": "\u0663"},
        {"NumMedia": "1", "MediaUrl0": "https://" + "x" * 2_100},
    ],
)
def test_fields_that_are_missing_or_malformed_are_invalid(
    world: World, changed: dict[str, str | None]
) -> None:
    assert refused(world, SMS.but(**changed).signed()) == (400, "invalid")


@pytest.mark.parametrize("body", [b"Body=\xff\xfe", b"Body=%FF", b"&".join([b"a=1"] * 501)])
def test_body_that_is_not_a_utf_8_form_is_400(world: World, body: bytes) -> None:
    event = SMS.signed()
    event["body"] = base64.b64encode(body).decode()
    assert refused(world, event) == (400, "invalid")


def test_body_that_is_not_base64_is_400(world: World) -> None:
    assert refused(world, SMS.signed() | {"body": "!!!"}) == (400, "invalid")


def test_a_huge_body_is_too_large(world: World) -> None:
    assert refused(world, SMS.but(Body="x" * 100_000).signed()) == (413, "too_large")


def test_request_without_body_is_403(world: World) -> None:
    event = SMS.signed()
    del event["body"]
    assert refused(world, event) == (403, "forbidden")


@given(body=st.binary(max_size=300), encoded=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_body_with_foreign_signature_is_rejected(world: World, body: bytes, encoded: bool) -> None:
    event = SMS.signed() | {"isBase64Encoded": encoded}
    event["body"] = base64.b64encode(body).decode() if encoded else body.decode("latin-1")
    assert refused(world, event)[0] in {400, 403}


def test_a_huge_number_of_media_takes_no_time(world: World) -> None:
    assert send(world, SMS.but(NumMedia="9" * 30).signed())["statusCode"] == 200


@pytest.mark.parametrize("sender", [LINE, SECOND_LINE])
def test_text_from_one_of_the_tenants_own_lines_is_answered_counted_and_not_stored(
    world: World, sender: str
) -> None:
    world.line(phone=SECOND_LINE)
    before = world.table.all_items()

    answer = send(world, SMS.but(From=sender).signed())

    assert (answer["statusCode"], answer["body"]) == (200, "<Response/>")
    assert world.table.all_items() == before
    assert world.queues.sent == []
    assert world.metrics.counts == {"TextsFromOwnLines": 1}


def test_text_from_a_line_of_another_tenant_is_stored(world: World) -> None:
    theirs = Line(tenant="globex", address=phone_address(PHONE), agent_id="agt_a", created_at=NOON)
    world.table.write(Put(theirs.key, theirs.to_item()))
    send(world, SMS.but(Body="chest pain, please help").signed())
    assert texts(world) == ["chest pain, please help"]


@pytest.mark.parametrize("hours", [0, 23])
def test_sid_from_another_number_is_refused_for_a_day(world: World, hours: int) -> None:
    send(world, SMS.signed())
    world.clock.advance(hours * 3_600)
    before = world.table.all_items()
    stranger = SMS.but(From="+15005550177", Body="Ping")
    assert send(world, stranger.signed())["statusCode"] == 403
    assert world.table.all_items() == before
    assert send(world, SMS.signed())["statusCode"] == 200, "a repeated webhook is no other number's"
    world.clock.advance(24 * 3_600)
    assert send(world, stranger.signed())["statusCode"] == 200


def test_text_from_a_number_that_became_a_line_is_not_stored(world: World) -> None:
    send(world, SMS.signed())
    world.line(phone=PHONE)
    send(world, SMS.but(MessageSid="SM2", Body="Ping").signed())
    assert texts(world) == ["Good morning, coach! "]


@pytest.mark.parametrize("error", [Contention("busy"), Unavailable("table")])
def test_sms_webhook_during_throttling_is_503(
    world: World, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(world.table, "transact", fail)
    assert refused(world, SMS.signed()) == (503, "unavailable")


def test_the_recorded_signature_is_no_real_one(world: World) -> None:
    assert refused(world, recorded("sms_webhook")) == (403, "forbidden")


# ---------------------------------------------------------------------- limits


def test_texts_over_the_limit_are_taken_in_and_answered_as_any_other(world: World) -> None:
    for number in range(25):
        answer = send(world, SMS.but(MessageSid=f"SM{number:032}").signed())
        assert (answer["statusCode"], answer["body"]) == (200, "<Response/>")
    item = world.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
    assert item is not None
    kinds = [(m.sender.kind, m.kind) for m in world.messages(item["chat_id"])]
    assert kinds.count(("user", "text")) == 25
    assert kinds.count(("agent", "notice")) == 1
    world.drain()
    assert len(world.sms.bodies) == 2  # the answer to what was within the limit, and the notice
