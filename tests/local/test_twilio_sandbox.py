"""The sandbox, asked by Twilio's own client through the adapter that production uses."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
import requests

from local.events import Request, Response
from local.twilio.media import MediaFile, MediaStore
from local.twilio.sandbox import REASSIGNED, TwilioSandbox
from local.twilio.sms_log import Sms, SmsLog
from local.twilio.webhooks import PREFIX, TwilioWebhooks
from local.web.server import Server
from skein.adapters.twilio.signature import TwilioSignature
from skein.adapters.twilio.sms import TwilioSms
from skein.errors import SmsRejected
from skein.models.common.base import rfc3339
from skein.models.config.templates import MessageTemplate
from skein.models.delivery.sms import CONNECTION_OVERRIDES, Content, OutgoingSms
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.support.twilio_description import check_answer, check_request

NOW = datetime(2026, 2, 18, 15, 7, 2, tzinfo=UTC)
ACCOUNT = {"account_sid": "AC" + "0" * 32, "auth_token": "f" * 32}
LINE = "+15005550006"
PHONE = "+14155550100"
PATIENCE_SECONDS = 10.0


TEMPLATES = {
    each.content_sid: each
    for each in (
        MessageTemplate(content_sid="HX" + "0" * 32, text="Note: {{1}}", approved=True),
        MessageTemplate(content_sid="HX" + "1" * 32, text="{{1}}", buttons=2),
    )
}
APPROVED, BUTTONS = TEMPLATES
RECEIPTS = ["queued", "sent", "delivered", "read"]


class Secrets:
    """The account's secret, whatever it is called."""

    def __init__(self, account: Mapping[str, str]) -> None:
        self._account = account

    def get(self, _name: str) -> Mapping[str, str]:
        return self._account


class World:
    """A sandbox that is served over HTTP, and the webhooks that it makes."""

    def __init__(self, folder: Path) -> None:
        self.webhooks: list[Request] = []
        self.receive: Callable[[Request], Response] = self._keep
        self.log = SmsLog(folder / "texts.jsonl")
        self.server = Server(0, self._answer)
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.files = MediaStore(folder / "files", self.url)
        self.linked = b"\xff\xd8\xff"
        self.sandbox = TwilioSandbox(
            self.log,
            account=ACCOUNT,
            webhooks=TwilioWebhooks(ACCOUNT, base_url=self.url, send=self._receive),
            media=self.files,
            clock=FixedClock(NOW),
            on_sms=lambda _sms: None,
            senders=lambda: [LINE],
            templates=lambda _number, sid: TEMPLATES.get(sid),
        )

    def _answer(self, request: Request) -> Response:
        if request.path == "/v1/m/token":
            return Response(302, (("location", "/picture"),))
        if request.path == "/picture":
            return Response(200, (("content-type", "image/jpeg"),), self.linked)
        answer = self.sandbox.answer(request)
        fields = parse_qsl(request.body.decode() or request.query, keep_blank_values=True)
        check_request(request.method, request.path, fields)
        check_answer(request.method, request.path, answer.status, answer.body)
        return answer

    def _receive(self, request: Request) -> Response:
        return self.receive(request)

    def _keep(self, request: Request) -> Response:
        self.webhooks.append(request)
        return Response(204)

    def client(self, account: Mapping[str, str] = ACCOUNT) -> TwilioSms:
        return TwilioSms(Secrets(account), Settings(twilio_api_url=f"{self.url}{PREFIX}"))

    def sms(self, *, to: str = PHONE, line: str = LINE, body: str = "Hi") -> OutgoingSms:
        callback = f"{self.url}/webhooks/twilio/status?part=1"
        return OutgoingSms(line=line, phone=to, body=body, callback=callback)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.server.start()
    made.sandbox.start()
    yield made
    made.sandbox.stop()
    made.server.stop()


def test_sms_is_accepted_and_reported_until_it_is_delivered(world: World) -> None:
    sent = world.client().send(world.sms())
    assert (sent.status, sent.created_at) == ("queued", NOW)
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    told = [dict(parse_qsl(request.body.decode())) for request in world.webhooks]
    assert [fields["MessageStatus"] for fields in told] == ["queued", "sent", "delivered"]
    assert {fields["MessageSid"] for fields in told} == {sent.sid}
    assert world.log.find()[0].status == "delivered"


@pytest.mark.parametrize(
    ("sid", "heard", "statuses"),
    [
        (None, timedelta(hours=23), RECEIPTS),
        (None, timedelta(hours=25), ["queued", "failed"]),
        (None, None, ["queued", "failed"]),
        (BUTTONS, timedelta(hours=25), ["queued", "failed"]),
        (APPROVED, None, RECEIPTS),
    ],
)
def test_whatsapp_has_a_window_outside_of_which_it_takes_approved_templates(
    world: World, sid: str | None, heard: timedelta | None, statuses: list[str]
) -> None:
    if heard is not None:
        ends, at = (f"whatsapp:{PHONE}", f"whatsapp:{LINE}"), rfc3339(NOW - heard)
        world.log.put(Sms("SM0", *ends, "Hi", "received", at, 1, "", direction="inbound"))
    variables = {"1": "Run?", "2": "Yes", "3": "No", "4": "123456", "5": "654321"}
    content = Content(sid=sid, variables=variables) if sid is not None else None
    update = {"channel": "whatsapp", "content": content}
    world.client().send(world.sms(body="Run?").model_copy(update=update))
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    told = [dict(parse_qsl(request.body.decode())) for request in world.webhooks]
    assert [fields["MessageStatus"] for fields in told] == statuses
    assert {fields.get("ErrorCode") for fields in told[1:]} == (
        {"63016"} if statuses[-1] == "failed" else {None}
    )
    assert world.log.find()[0].body == ("Note: Run?" if sid == APPROVED else "Run?")
    assert world.log.find()[0].buttons == (
        (("Yes", "123456"), ("No", "654321")) if sid == BUTTONS else ()
    )


@pytest.mark.parametrize(
    ("path", "statuses"),
    [("/v1/m/token", ["queued", "sent", "delivered"]), ("/v1/m/wrong", ["queued", "failed"])],
)
def test_file_of_a_message_is_fetched_before_it_is_sent(
    world: World, path: str, statuses: list[str]
) -> None:
    world.client().send(world.sms(body="").model_copy(update={"media_url": f"{world.url}{path}"}))
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    told = [dict(parse_qsl(request.body.decode())) for request in world.webhooks]
    assert [fields["MessageStatus"] for fields in told] == statuses
    [(sid, kind)] = world.log.find()[0].media
    fetched = statuses[-1] == "delivered"
    assert (kind, world.files.get(sid)) == (
        ("image/jpeg", MediaFile("image/jpeg", world.linked)) if fetched else ("", None)
    )


def test_inbound_file_needs_the_account_and_is_behind_a_redirect(world: World) -> None:
    media = ((world.files.put(MediaFile("image/png", b"png")), "image/png"),)
    webhooks = TwilioWebhooks(ACCOUNT, base_url=world.url, send=world._receive)
    webhooks.text(sender=f"whatsapp:{PHONE}", recipient=f"whatsapp:{LINE}", body="", media=media)
    form = dict(parse_qsl(world.webhooks[0].body.decode(), keep_blank_values=True))
    named = [form[name] for name in ("NumMedia", "MediaContentType0", "MessageType")]
    assert named == ["1", "image/png", "image"]
    login = (ACCOUNT["account_sid"], ACCOUNT["auth_token"])
    assert requests.get(form["MediaUrl0"], timeout=5).status_code == 401
    answer = requests.get(form["MediaUrl0"], auth=login, timeout=5)
    assert [each.status_code for each in (*answer.history, answer)] == [307, 200]
    assert answer.content == b"png"


def test_unknown_template_is_refused(world: World) -> None:
    content = Content(sid="HX" + "9" * 32, variables={})
    unknown = world.sms().model_copy(update={"channel": "whatsapp", "content": content})
    with pytest.raises(SmsRejected, match="21655"):
        world.client().send(unknown)


def test_account_sends_by_whatsapp_from_its_senders_only(world: World) -> None:
    assert world.client().has_number(LINE, "whatsapp")
    assert not world.client().has_number(PHONE, "whatsapp")


def test_account_has_every_number_but_those_of_phones(world: World) -> None:
    assert world.client().has_number(LINE)
    assert world.client().has_number(PHONE)
    sms = Sms("SM1", PHONE, LINE, "Hi", "received", rfc3339(NOW), 1, "", direction="inbound")
    world.log.put(sms)
    assert world.client().has_number(LINE)
    assert not world.client().has_number(PHONE)


def test_one_number_was_reassigned(world: World) -> None:
    assert world.client().was_reassigned(REASSIGNED, since=NOW.date())
    assert not world.client().was_reassigned(PHONE, since=NOW.date())


@pytest.mark.parametrize("part", ["status", "callback"])
def test_failed_status_callbacks_are_logged_with_their_stack_and_end(
    world: World, part: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> Response:
        raise OSError("no space left on device")

    if part == "status":
        monkeypatch.setattr(world.log, "set_status", broken)
    else:
        world.receive = broken
    world.client().send(world.sms())
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    assert caplog.messages == ["status callback failed"] * 3
    assert "OSError: no space left on device" in caplog.text


def test_callbacks_carry_a_signature_that_skein_accepts(world: World) -> None:
    sms = world.sms()
    world.client().send(sms)
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    request = world.webhooks[0]
    assert (request.path, request.query) == ("/webhooks/twilio/status", "part=1")
    assert TwilioSignature(Secrets(ACCOUNT), Settings()).verify(
        url=f"{sms.callback}{CONNECTION_OVERRIDES}",
        parameters=parse_qsl(request.body.decode(), keep_blank_values=True),
        signature=request.headers["x-twilio-signature"],
    )


def test_sent_sms_is_found(world: World) -> None:
    client = world.client()
    sent = client.send(world.sms(body="first"))
    client.send(world.sms(body="second"))
    client.send(world.sms(body="first", to="+14155550101"))
    found = client.find(world.sms(body="first"), since=NOW - timedelta(minutes=1))
    assert [one.sid for one in found] == [sent.sid]
    assert client.find(world.sms(body="first"), since=NOW + timedelta(minutes=1)) == ()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"to": "+15005550001"}, 21211),
        ({"to": "+15005550002"}, 21612),
        ({"to": "+15005550003"}, 21408),
        ({"to": "+15005550004"}, 21610),
        ({"to": "+15005550009"}, 21614),
        ({"line": "+15005550001"}, 21212),
        ({"line": "+15005550007"}, 21606),
        ({"line": "+15005550008"}, 21611),
        ({"body": ""}, 21602),
        ({"body": "x" * 1601}, 21617),
    ],
)
def test_twilios_test_numbers_behave_as_documented(
    world: World, wrong: Mapping[str, str], code: int
) -> None:
    with pytest.raises(SmsRejected) as refusal:
        world.client().send(world.sms(**wrong))
    assert refusal.value.code == code
    assert world.log.find() == []


def test_another_accounts_credentials_are_refused(world: World) -> None:
    with pytest.raises(SmsRejected):
        world.client(ACCOUNT | {"auth_token": "0" * 32}).send(world.sms())
    assert world.log.find() == []


def test_webhooks_go_to_the_stack_only(world: World) -> None:
    world.client().send(world.sms().model_copy(update={"callback": "http://example.com/status"}))
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    assert world.webhooks == []


def test_log_of_sms_has_their_statuses(world: World, tmp_path: Path) -> None:
    world.client().send(world.sms(body="é\nnext line"))
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    (sms,) = SmsLog(tmp_path / "texts.jsonl").find(recipient=PHONE)
    assert (sms.body, sms.status) == ("é\nnext line", "delivered")


def test_a_line_that_was_torn_by_a_crash_costs_no_other(world: World, tmp_path: Path) -> None:
    world.client().send(world.sms(body="whole"))
    assert world.sandbox.settle(until=time.monotonic() + PATIENCE_SECONDS)
    path = tmp_path / "texts.jsonl"
    with path.open("ab") as file:
        file.write(b'{"sid": "SM')
    assert [sms.body for sms in SmsLog(path).find()] == ["whole"]
    assert path.read_bytes().endswith(b"}\n")
