"""Whether a webhook is genuine: the verifier in memory, and the one with Twilio's own check."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from skein.adapters.twilio.signature import TwilioSignature
from skein.errors import Unavailable
from skein.ports import WebhookVerifier
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets, MemoryVerifier
from tests.support.scripted_twilio import ACCOUNT
from tests.support.webhooks import Multi

URL = "https://skein.example.com/dev/webhooks/twilio/sms?a=1&b=%2B"
FIELDS = (("Body", " hi "), ("From", "+15005550100"), ("ToCity", ""))

Fields = Sequence[tuple[str, str]]


def sign(url: str, fields: Fields) -> str:
    names = {name for name, _ in fields}
    grouped = Multi({name: [v for n, v in fields if n == name] for name in names})
    return str(RequestValidator(ACCOUNT["auth_token"]).compute_signature(url, grouped))


class Checked(NamedTuple):
    verifier: WebhookVerifier
    sign: Callable[[str, Fields], str]


def twilios(secrets: Mapping[str, Mapping[str, str]] | None = None) -> TwilioSignature:
    kept = {"twilio": ACCOUNT} if secrets is None else secrets
    return TwilioSignature(MemorySecrets(kept), Settings(twilio_secret="twilio"))


VERIFIERS = {
    "memory": Checked(MemoryVerifier(), MemoryVerifier.sign),
    "twilio": Checked(twilios(), sign),
}


@pytest.fixture(params=VERIFIERS)
def checked(request: pytest.FixtureRequest) -> Checked:
    return VERIFIERS[request.param]


def test_the_right_signature_passes(checked: Checked) -> None:
    signature = checked.sign(URL, FIELDS)
    assert checked.verifier.verify(url=URL, parameters=FIELDS, signature=signature)


@pytest.mark.parametrize(
    ("url", "fields"),
    [
        (URL.replace("/dev", ""), FIELDS),
        (URL.replace("a=1", "a=2"), FIELDS),
        (URL.split("?", maxsplit=1)[0], FIELDS),
        (URL, FIELDS[1:]),
        (URL, (*FIELDS, ("OptOutType", "START"))),
        (URL, (("Body", "hi"), *FIELDS[1:])),
        (URL, (*FIELDS, ("Body", "another"))),
    ],
)
def test_changed_request_is_refused(checked: Checked, url: str, fields: Fields) -> None:
    signature = checked.sign(URL, FIELDS)
    assert not checked.verifier.verify(url=url, parameters=fields, signature=signature)


@pytest.mark.parametrize("signature", ["", "=", "0" * 28, "\u00e9", "x" * 10_000])
def test_malformed_signature_is_refused(checked: Checked, signature: str) -> None:
    assert not checked.verifier.verify(url=URL, parameters=FIELDS, signature=signature)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize("name", VERIFIERS)
@given(fields=st.lists(st.tuples(texts, texts), max_size=6))
def test_any_fields_pass_with_their_own_signature(name: str, fields: Fields) -> None:
    checked = VERIFIERS[name]
    signature = checked.sign(URL, fields)
    assert checked.verifier.verify(url=URL, parameters=fields, signature=signature)


# ---------------------------------------------------------------------- Twilio's alone


def test_the_port_in_the_url_does_not_matter_to_twilio() -> None:
    for url in (URL, URL.replace("example.com", "example.com:443")):
        assert twilios().verify(url=url, parameters=FIELDS, signature=sign(URL, FIELDS))


@pytest.mark.parametrize(
    "secrets", [{}, {"twilio": {}}, {"twilio": {"auth_token": ""}}, {"twilio": {"auth_token": " "}}]
)
def test_verifier_without_auth_token_rejects_every_signature(
    secrets: Mapping[str, Mapping[str, str]],
) -> None:
    forged = RequestValidator("").compute_signature(URL, dict(FIELDS))
    assert not twilios(secrets).verify(url=URL, parameters=FIELDS, signature=forged)


@pytest.mark.parametrize("token", ["auth_token", "auth_token_next"])
def test_either_token_of_a_rotation_passes(token: str) -> None:
    secret = {"auth_token": "another", "auth_token_next": "a third"}
    assert not twilios({"twilio": secret}).verify(
        url=URL, parameters=FIELDS, signature=sign(URL, FIELDS)
    )
    rotated = secret | {token: ACCOUNT["auth_token"]}
    assert twilios({"twilio": rotated}).verify(
        url=URL, parameters=FIELDS, signature=sign(URL, FIELDS)
    )


def test_unreadable_auth_token_raises_unavailable() -> None:
    class Down:
        def get(self, name: str) -> Mapping[str, str]:
            raise Unavailable(name)

    verifier = TwilioSignature(Down(), Settings(twilio_secret="twilio"))
    with pytest.raises(Unavailable):
        verifier.verify(url=URL, parameters=FIELDS, signature="x")
