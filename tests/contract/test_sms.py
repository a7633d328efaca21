"""The SMS provider: the one in memory, and Twilio's own client talking to a scripted Twilio."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest
from twilio.rest.api.v2010.account.message import MessageInstance

from skein.adapters.twilio import sms as twilio_sms
from skein.adapters.twilio.sms import TwilioSms
from skein.errors import Ambiguous, SkeinError, SmsRejected, Throttled, Unavailable
from skein.models.delivery.sms import CONNECTION_OVERRIDES, Content, OutgoingSms, status_named
from skein.ports import Sms
from skein.settings import Settings
from tests.fakes.sms import Fault, MemorySecrets, MemorySms
from tests.fakes.system import FixedClock
from tests.support.scripted_twilio import ACCOUNT, Misbehaviour, ScriptedTwilio

NOW = datetime(2026, 2, 18, 12, 0, 0, 700_000, tzinfo=UTC)
SECOND = NOW.replace(microsecond=0)
HELLO = OutgoingSms(
    line="+15005550006",
    phone="+15005550100",
    body="H\u00e9llo & good day \U0001f600",
    callback="https://skein.example.com/dev/webhooks/twilio/status?tenant=acme&part=0",
)


class Providing(Protocol):
    """A provider that a test can make fail."""

    @property
    def sms(self) -> Sms: ...

    def fail(self, error: type[SkeinError], *, after_effect: bool = False) -> None: ...

    def turn(self, **time: float) -> None: ...


class InMemory:
    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.sms = MemorySms(self.clock)

    def fail(self, error: type[SkeinError], *, after_effect: bool = False) -> None:
        self.sms.plan(Fault(error("as planned"), after_effect=after_effect))

    def turn(self, **time: float) -> None:
        self.clock.advance(timedelta(**time).total_seconds())


@dataclass
class OverHttp:
    twilio: ScriptedTwilio

    @property
    def sms(self) -> Sms:
        return real(self.twilio)

    def fail(self, error: type[SkeinError], *, after_effect: bool = False) -> None:
        refusal = {"code": 21211, "message": "Invalid 'To'", "status": 400}
        wrongs = {
            SmsRejected: Misbehaviour(400, refusal),
            Throttled: Misbehaviour(429, {"code": 20429, "message": "Too many", "status": 429}),
            Ambiguous: Misbehaviour(0, after_effect=after_effect),
        }
        self.twilio.then(wrongs[error])

    def turn(self, **time: float) -> None:
        self.twilio.now += timedelta(**time)


def real(twilio: ScriptedTwilio, **settings: str) -> TwilioSms:
    named = Settings.model_validate(
        {"twilio_secret": "twilio", "twilio_api_url": twilio.url} | settings
    )
    return TwilioSms(MemorySecrets({"twilio": ACCOUNT}), named)


@pytest.fixture
def twilio() -> Iterator[ScriptedTwilio]:
    with ScriptedTwilio(now=NOW) as scripted:
        yield scripted


@pytest.fixture(params=["memory", "twilio"])
def provider(request: pytest.FixtureRequest) -> Providing:
    if request.param == "memory":
        return InMemory()
    return OverHttp(request.getfixturevalue("twilio"))


def test_a_text_that_was_taken_has_an_id_and_is_queued(provider: Providing) -> None:
    sent = provider.sms.send(HELLO)
    assert sent.sid.startswith("SM")
    assert (sent.status, sent.created_at, sent.error_code) == ("queued", SECOND, None)


def test_every_text_has_an_id_of_its_own(provider: Providing) -> None:
    assert provider.sms.send(HELLO).sid != provider.sms.send(HELLO).sid


def test_a_text_is_found_by_its_numbers_words_and_time(provider: Providing) -> None:
    provider.turn(hours=-1)
    provider.sms.send(HELLO)
    provider.turn(hours=1)
    first = provider.sms.send(HELLO)
    provider.sms.send(HELLO.model_copy(update={"body": "other words"}))
    provider.sms.send(HELLO.model_copy(update={"phone": "+15005550101"}))
    provider.sms.send(HELLO.model_copy(update={"line": "+15005550007"}))
    second = provider.sms.send(HELLO)

    found = provider.sms.find(HELLO, since=NOW)

    assert found == (second, first)


def test_look_up_without_sent_messages_returns_none(provider: Providing) -> None:
    assert provider.sms.find(HELLO, since=NOW) == ()


@pytest.mark.parametrize("error", [SmsRejected, Throttled])
def test_a_refused_text_is_not_taken(provider: Providing, error: type[SkeinError]) -> None:
    provider.fail(error)
    with pytest.raises(error):
        provider.sms.send(HELLO)
    assert provider.sms.find(HELLO, since=NOW) == ()


@pytest.mark.parametrize("after_effect", [True, False])
def test_send_without_response_is_ambiguous_and_look_up_resolves_it(
    provider: Providing, after_effect: bool
) -> None:
    provider.fail(Ambiguous, after_effect=after_effect)
    with pytest.raises(Ambiguous):
        provider.sms.send(HELLO)
    assert len(provider.sms.find(HELLO, since=NOW)) == after_effect


def test_account_has_its_own_numbers_and_no_others(provider: Providing) -> None:
    assert provider.sms.has_number(HELLO.line)
    if isinstance(provider, InMemory):
        provider.sms.foreign.add(HELLO.phone)
    assert not provider.sms.has_number(HELLO.phone)


def test_a_text_of_another_channel_is_found_on_that_channel_alone(provider: Providing) -> None:
    on_whatsapp = HELLO.model_copy(update={"channel": "whatsapp"})
    provider.sms.send(HELLO)
    sent = provider.sms.send(on_whatsapp)
    assert provider.sms.find(on_whatsapp, since=NOW) == (sent,)


def test_a_text_by_a_template_is_found_by_the_words_of_its_body(provider: Providing) -> None:
    content = Content(sid="HX" + "0" * 32, variables={"1": "run"})
    if isinstance(provider, OverHttp):
        provider.twilio.templates[content.sid] = "Time for your {{1}}."
    said = {"channel": "whatsapp", "content": content, "body": "Time for your run."}
    by_template = HELLO.model_copy(update=said)
    sent = provider.sms.send(by_template)
    assert provider.sms.find(by_template, since=NOW) == (sent,)


def test_a_file_is_found_by_its_text_and_a_link_without_its_token(provider: Providing) -> None:
    url = "https://skein.example.com/v1/m/"
    file = HELLO.model_copy(update={"body": "", "media_url": f"{url}one"})
    link = HELLO.model_copy(update={"body": "A picture:", "link": f"{url}two"})
    sent_file, sent_link = provider.sms.send(file), provider.sms.send(link)
    provider.sms.send(HELLO)
    assert provider.sms.find(file, since=NOW) == (sent_file,)
    later = link.model_copy(update={"link": f"{url}another"})
    assert provider.sms.find(later, since=NOW) == (sent_link,)
    if isinstance(provider, OverHttp):
        (_, by_file, _), (_, by_link, _) = provider.twilio.requests[:2]
        assert (by_file["MediaUrl"], "Body" in by_file) == (f"{url}one", False)
        assert by_link["Body"] == f"A picture:\n{url}two"


def test_account_sends_by_whatsapp_from_its_senders_only(twilio: ScriptedTwilio) -> None:
    assert real(twilio).has_number(HELLO.line, "whatsapp")
    assert not real(twilio).has_number(HELLO.phone, "whatsapp")


def test_twilio_gets_addresses_with_the_prefix_of_the_channel(twilio: ScriptedTwilio) -> None:
    real(twilio).send(HELLO.model_copy(update={"channel": "whatsapp"}))
    _, form, _ = twilio.requests[-1]
    assert (form["To"], form["From"]) == (f"whatsapp:{HELLO.phone}", f"whatsapp:{HELLO.line}")


def test_number_was_reassigned_since_a_day_before_its_new_owner(provider: Providing) -> None:
    day = NOW.date()
    if isinstance(provider, InMemory):
        provider.sms.reassigned[HELLO.phone] = day
    if isinstance(provider, OverHttp):
        provider.twilio.reassigned[HELLO.phone] = day
    assert provider.sms.was_reassigned(HELLO.phone, since=day - timedelta(days=1))
    assert not provider.sms.was_reassigned(HELLO.phone, since=day)
    assert not provider.sms.was_reassigned(HELLO.line, since=day - timedelta(days=1))


# ---------------------------------------------------------------------- Twilio alone


@pytest.mark.parametrize("wrong", [Misbehaviour(404, {"code": 20404}), Misbehaviour()])
def test_look_up_of_a_number_that_fails_is_unavailable(
    twilio: ScriptedTwilio, wrong: Misbehaviour
) -> None:
    twilio.then(wrong)
    with pytest.raises(Unavailable):
        real(twilio).was_reassigned(HELLO.phone, since=NOW.date())


def test_number_that_only_contains_the_digits_is_not_the_number(twilio: ScriptedTwilio) -> None:
    assert not real(twilio).has_number(HELLO.line.removesuffix("6"))


@pytest.mark.parametrize("wrong", [Misbehaviour(500, ""), Misbehaviour(401, ""), Misbehaviour()])
def test_question_for_a_number_that_fails_can_be_asked_again(
    twilio: ScriptedTwilio, wrong: Misbehaviour
) -> None:
    twilio.then(wrong)
    with pytest.raises(Unavailable):
        real(twilio).has_number(HELLO.line)


def test_twilio_gets_numbers_words_and_callback_as_they_are(twilio: ScriptedTwilio) -> None:
    real(twilio).send(HELLO)
    [(method, form, headers)] = twilio.requests
    assert method == "POST"
    assert form == {
        "To": HELLO.phone,
        "From": HELLO.line,
        "Body": HELLO.body,
        "StatusCallback": f"{HELLO.callback}{CONNECTION_OVERRIDES}",
    }
    assert headers["connection"] == "close"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (Misbehaviour(500, {"code": 20500, "message": "x", "status": 500}), Ambiguous),
        (Misbehaviour(503, "down for a moment"), Ambiguous),
        (Misbehaviour(201, "{"), Ambiguous),
        (Misbehaviour(201, "[]"), Ambiguous),
        (Misbehaviour(201, {"sid": None}), Ambiguous),
        (Misbehaviour(302, ""), Ambiguous),
        (Misbehaviour(429, ""), Throttled),
        (Misbehaviour(404, "no such page"), SmsRejected),
    ],
)
def test_error_of_twilio_raises_the_matching_error(
    twilio: ScriptedTwilio, wrong: Misbehaviour, error: type[SkeinError]
) -> None:
    twilio.then(wrong)
    with pytest.raises(error):
        real(twilio).send(HELLO)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"code": 21610, "message": "blacklist", "status": 400}, 21610),
        ({"message": "no code", "status": 400}, None),
        ({"type": "t", "title": "problem", "status": 400, "code": 21211}, 21211),
        ("not even JSON", None),
    ],
)
def test_a_refusal_carries_twilios_code_if_there_is_one(
    twilio: ScriptedTwilio, body: object, code: int | None
) -> None:
    twilio.then(Misbehaviour(400, body))  # type: ignore[arg-type]
    with pytest.raises(SmsRejected) as refusal:
        real(twilio).send(HELLO)
    assert refusal.value.code == code


def test_a_silent_twilio_is_ambiguous(
    twilio: ScriptedTwilio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twilio_sms, "READ_SECONDS", 0.05)
    twilio.then(Misbehaviour(201, seconds=5))
    with pytest.raises(Ambiguous):
        real(twilio).send(HELLO)


def test_send_to_closed_port_raises_unavailable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        settings = Settings(twilio_secret="twilio", twilio_api_url=url)
        with pytest.raises(Unavailable):
            TwilioSms(MemorySecrets({"twilio": ACCOUNT}), settings).send(HELLO)


@pytest.mark.parametrize("wrong", [Misbehaviour(500, ""), Misbehaviour(429, ""), Misbehaviour()])
def test_a_look_up_that_fails_can_be_made_again(
    twilio: ScriptedTwilio, wrong: Misbehaviour
) -> None:
    twilio.then(wrong)
    with pytest.raises(Unavailable):
        real(twilio).find(HELLO, since=NOW)


@pytest.mark.parametrize("secret", [{}, {"twilio": {"account_sid": "AC1"}}])
def test_without_credentials_nothing_is_sent_and_it_can_be_tried_again(
    twilio: ScriptedTwilio, secret: dict[str, dict[str, str]]
) -> None:
    settings = Settings(twilio_secret="twilio", twilio_api_url=twilio.url)
    with pytest.raises(Unavailable):
        TwilioSms(MemorySecrets(secret), settings).send(HELLO)
    assert twilio.requests == []


def test_a_changed_secret_makes_a_new_client(twilio: ScriptedTwilio) -> None:
    kept = {"twilio": {**ACCOUNT, "auth_token": "old"}}
    settings = Settings(twilio_secret="twilio", twilio_api_url=f"{twilio.url}/")
    sms = TwilioSms(MemorySecrets(kept), settings)
    with pytest.raises(SmsRejected) as refusal:
        sms.send(HELLO)
    assert refusal.value.code == 20003
    kept["twilio"] = ACCOUNT
    assert sms.send(HELLO).status == "queued"


def test_every_status_of_an_outgoing_text_is_known() -> None:
    names = {value for name, value in vars(MessageInstance.Status).items() if name.isupper()}
    assert {name for name in names if status_named(name) is None} == {"receiving", "received"}


def test_refusal_has_the_code_and_not_the_text_of_twilio(twilio: ScriptedTwilio) -> None:
    said = f"The 'To' number {HELLO.phone} is not valid"
    twilio.then(Misbehaviour(400, {"code": 21211, "message": said, "status": 400}))
    with pytest.raises(SmsRejected) as raised:
        real(twilio).send(HELLO)
    assert str(raised.value) == "Twilio rejected the SMS: 400, code 21211"


@pytest.mark.parametrize(
    ("first", "second"), [("old", ACCOUNT["auth_token"]), (ACCOUNT["auth_token"], "new")]
)
def test_texts_leave_before_and_after_twilio_switches_tokens(
    twilio: ScriptedTwilio, first: str, second: str
) -> None:
    secret = ACCOUNT | {"auth_token": first, "auth_token_next": second}
    settings = Settings(twilio_secret="twilio", twilio_api_url=twilio.url)
    sms = TwilioSms(MemorySecrets({"twilio": secret}), settings)
    sms.send(HELLO)
    assert len(twilio.taken) == 1
    assert sms.has_number("+15005550006")


def test_deployment_without_an_account_has_no_number() -> None:
    secrets = MemorySecrets({})
    assert not TwilioSms(secrets, Settings(twilio_secret="")).has_number("+15005550006")
    with pytest.raises(Unavailable):
        TwilioSms(secrets, Settings(twilio_secret="gone")).has_number("+15005550006")
