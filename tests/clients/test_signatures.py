"""The check of calls in the Python client, against what Skein sends."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from local.template import ROOT
from skein.own_tools.signed_context import (
    CallContext,
    context_headers,
    hash_of_request,
    secret_of,
    signature_headers,
)
from skein_client import BadSignature, verify_call, verify_event
from skein_client.fastapi import signed_call, signed_event

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


async def told(request: Request) -> JSONResponse:
    """Answer with what the signature proves, and the body."""
    verified = await signed_call(SECRET)(request)
    return JSONResponse({"person": verified["person"], "body": (await request.body()).decode()})


async def told_behind_a_proxy(request: Request) -> JSONResponse:
    verified = await signed_call(SECRET, base_url="https://shop.example/api/")(request)
    return JSONResponse({"person": verified["person"]})


async def received(request: Request) -> JSONResponse:
    return JSONResponse(await signed_event(SECRET)(request))


APP = Starlette(
    routes=[
        Route("/orders/{order:path}", told, methods=["GET", "POST"]),
        Route("/proxied", told_behind_a_proxy),
        Route("/events", received, methods=["POST"]),
    ]
)


def answer(method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Any:
    """Return the answer of the app."""

    async def ask() -> Any:
        transport = httpx2.ASGITransport(app=APP)
        async with httpx2.AsyncClient(transport=transport) as client:
            return await client.request(method, url, headers=headers, content=body)

    return asyncio.run(ask())


def signed(method: str, url: str, body: bytes = b"") -> Mapping[str, str]:
    """Return the headers of a call that is sent now."""
    return dict(
        context_headers(SECRET, CONTEXT, hash_of_request(method, url, body), datetime.now(UTC))
    )


def test_dependency_of_fastapi_returns_the_context_and_leaves_the_body() -> None:
    url = "https://shop.example/orders/J%C3%B6rg%20%2F1?day=2026-02-18&q=a%20b"
    found = answer("POST", url, signed("POST", url, BODY), BODY)
    assert found.json() == {"person": "Jörg", "body": BODY.decode()}
    assert answer("POST", url, signed("POST", url, BODY), b"{}").status_code == 401


def test_dependency_behind_a_proxy_takes_the_address_of_the_tool() -> None:
    headers = signed("GET", "https://shop.example/api/proxied")
    assert answer("GET", "http://10.0.0.1/proxied", headers).json() == {"person": "Jörg"}
    assert answer("GET", "http://10.0.0.1/orders/1", headers).status_code == 401


def test_dependency_of_fastapi_returns_the_event() -> None:
    headers = dict(signature_headers(SECRET, "evt_1", EVENT, datetime.now(UTC)))
    assert answer("POST", "http://app.example/events", headers, EVENT).json()["id"] == "evt_1"
    assert answer("POST", "http://app.example/events", {}, EVENT).status_code == 401
