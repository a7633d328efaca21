"""The check of calls in the Python client, against what Skein sends."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from local.template import ROOT
from skein.own_tools.signed_context import (
    CallContext,
    context_headers,
    hash_of_request,
    secret_of,
    signature_headers,
)
from skein_client import BadSignature, verify_call, verify_event

AT = datetime(2026, 2, 18, 12, 0, tzinfo=UTC)
NOW = AT.timestamp()
SECRET = secret_of("nonce", key="key")
URL = "https://shop.example/orders"
BODY = b'{"a": 1}'
CONTEXT = CallContext(
    tenant="acme",
    agent_id="agt_a",
    chat_id="chat_1",
    run_id="run_1_chat_1",
    person="Jörg",
    readers=("Jörg",),
    idempotency_key="run_1_chat_1:1:0",
)
HEADERS = dict(context_headers(SECRET, CONTEXT, hash_of_request("POST", URL, BODY), AT))


def test_call_of_skein_has_its_context() -> None:
    lower = {name.lower(): value for name, value in HEADERS.items()}
    for headers in (HEADERS, lower):
        context = verify_call(SECRET, headers, "POST", URL, BODY, now=NOW + 299)
        assert (context["person"], context["readers"]) == ("Jörg", ["Jörg"])


@pytest.mark.parametrize(
    ("changed", "body", "later"),
    [
        ({}, b'{"a": 2}', 0),
        ({}, BODY, 301),
        ({"webhook-signature": "v1,AAAA"}, BODY, 0),
        ({"webhook-id": "other"}, BODY, 0),
        ({"Skein-Context": "e30"}, BODY, 0),
        ({"Skein-Context": "?"}, BODY, 0),
        ({"webhook-timestamp": "soon"}, BODY, 0),
    ],
)
def test_call_that_was_changed_or_is_old_is_refused(
    changed: Mapping[str, str], body: bytes, later: int
) -> None:
    with pytest.raises(BadSignature):
        verify_call(SECRET, {**HEADERS, **changed}, "POST", URL, body, now=NOW + later)
    with pytest.raises(BadSignature):
        verify_call(secret_of("other", key="key"), HEADERS, "POST", URL, BODY, now=NOW)


EVENT = b'{"specversion":"1.0","id":"evt_1","type":"run.ended","data":{"run_id":"run_1_chat_1"}}'
EVENT_HEADERS = dict(signature_headers(SECRET, "evt_1", EVENT, AT))


def test_tests_of_the_typescript_client_have_what_skein_sends() -> None:
    script = (ROOT / "clients/typescript/test/signatures.test.mjs").read_text(encoding="utf-8")
    for sent in (SECRET, HEADERS["webhook-signature"], EVENT_HEADERS["webhook-signature"]):
        assert f'"{sent}"' in script


def test_event_of_skein_is_read() -> None:
    event = verify_event(SECRET, EVENT_HEADERS, EVENT, now=NOW + 299)
    assert (event["type"], event["data"]) == ("run.ended", {"run_id": "run_1_chat_1"})


@pytest.mark.parametrize(
    ("headers", "body", "later"),
    [
        (EVENT_HEADERS, EVENT + b" ", 0),
        (EVENT_HEADERS, EVENT, 301),
        ({}, EVENT, 0),
        (dict(signature_headers(SECRET, "evt_2", EVENT, AT)), EVENT, 0),
    ],
)
def test_event_that_was_changed_or_is_old_is_refused(
    headers: Mapping[str, str], body: bytes, later: int
) -> None:
    with pytest.raises(BadSignature):
        verify_event(SECRET, headers, body, now=NOW + later)
