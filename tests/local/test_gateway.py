"""The gateway on this machine: requests become API Gateway's events, and answers come back."""

import base64
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, cast

import pytest

import admin_api
import mobile_api
from local.events import Request, http_event, http_response
from local.functions import Functions
from local.template import Function, Route
from local.web.authorizer import Authorizer
from local.web.cors import Cors
from local.web.gateway import MAX_BODY_BYTES, Gateway
from local.web.routes import Routes
from tests.fakes.system import FixedClock
from tests.support.functions import a_function
from tests.support.template import deployed_template, function_name

NOW = datetime(2026, 2, 18, 15, 7, 2, tzinfo=UTC)


class Handlers:
    """In place of `Functions`: remembers events and answers as it is told."""

    def __init__(self, answer: object) -> None:
        self.events: list[dict[str, Any]] = []
        self._answer = answer

    def invoke(self, _function: Function, event: dict[str, Any]) -> object:
        self.events.append(event)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def _function(name: str, *routes: tuple[str, str, bool]) -> Function:
    allowed = tuple(Route(method, path, authorized) for method, path, authorized in routes)
    return a_function(name, timeout=3, routes=allowed)


CALLER = {"source": "issuer", "sub": "u", "claims": {"sub": "u"}}
BEARER = {"authorization": "Bearer any"}


def _gateway(handlers: Handlers, found: object = None, cors: Cors | None = None) -> Gateway:
    """Create a gateway whose authorizer answers as said: by default, it finds a caller."""
    functions = [_function("Api", ("GET", "/v1/{proxy+}", True), ("POST", "/hook", False))]
    callers = Handlers(found or {"isAuthorized": True, "context": CALLER})
    clock = FixedClock(NOW)
    return Gateway(
        functions,
        functions=cast("Functions", handlers),
        authorizer=Authorizer(
            _function("Authorizer"), cast("Functions", callers), clock, cache_seconds=300
        ),
        clock=clock,
        cors=cors,
    )


def _event(**request: Any) -> dict[str, Any]:
    made = Request(**{"method": "POST", "path": "/hook", **request})
    return http_event(made, route_key="POST /hook", path_parameters={}, authorizer=None, now=NOW)


@pytest.mark.parametrize(
    ("content_type", "body", "encoded"),
    [
        ("application/json", b"{}", False),
        ("application/problem+json; charset=utf-8", b"{}", False),
        ("text/plain", "é".encode(), False),
        ("application/x-www-form-urlencoded", b"Body=Hi", True),
        ("image/png", b"\x89PNG", True),
        ("application/json", b"\xff\xfe", True),
    ],
)
def test_only_bodies_of_text_come_as_text(content_type: str, body: bytes, encoded: bool) -> None:
    event = _event(headers={"content-type": content_type}, body=body)
    assert event["isBase64Encoded"] is encoded
    sent = base64.b64decode(event["body"]) if encoded else event["body"].encode()
    assert sent == body


def test_a_query_comes_raw_and_with_repeated_names_joined() -> None:
    event = _event(query="a=1&b=x%20y&a=2&blank=")
    assert event["rawQueryString"] == "a=1&b=x%20y&a=2&blank="
    assert event["queryStringParameters"] == {"a": "1,2", "b": "x y", "blank": ""}


def test_gateway_event_has_cookies_apart_from_headers() -> None:
    event = _event(headers={"cookie": "a=1; b=2", "host": "here"})
    assert event["cookies"] == ["a=1", "b=2"]
    assert event["headers"] == {"host": "here"}


def test_missing_part_of_a_request_has_no_field() -> None:
    absent = {"cookies", "queryStringParameters", "pathParameters", "body"}
    assert not absent & _event().keys()


def test_the_clock_of_the_stack_stamps_the_event() -> None:
    context = _event()["requestContext"]
    assert context["time"] == "18/Feb/2026:15:07:02 +0000"
    assert context["timeEpoch"] == int(NOW.timestamp() * 1000)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/v1/me", "exact"),
        ("GET", "/v1/chats/7", "one"),
        ("GET", "/v1/chats/7/messages", "greedy"),
        ("GET", "/v1/agents", "rest"),
        ("POST", "/v1/me", None),
        ("GET", "/v1/", None),
    ],
)
def test_the_most_specific_route_wins(method: str, path: str, expected: str | None) -> None:
    routes = Routes(
        [
            _function("rest", ("GET", "/v1/{proxy+}", True)),
            _function("greedy", ("GET", "/v1/chats/{proxy+}", True)),
            _function("one", ("GET", "/v1/chats/{id}", True)),
            _function("exact", ("GET", "/v1/me", True)),
        ]
    )
    match = routes.match(method, path)
    assert (match.function.logical_id if match else None) == expected


def test_path_parameters_are_unescaped() -> None:
    handlers = Handlers({"statusCode": 204})
    _gateway(handlers).answer(Request("GET", "/v1/lines/%2B1500", "", BEARER))
    (event,) = handlers.events
    assert event["pathParameters"] == {"proxy": "lines/+1500"}
    assert event["routeKey"] == "GET /v1/{proxy+}"


def test_caller_whom_the_authorizer_finds_reaches_the_function() -> None:
    handlers = Handlers({"statusCode": 200})
    assert _gateway(handlers).answer(Request("GET", "/v1/me", "", BEARER)).status == 200
    assert handlers.events[0]["requestContext"]["authorizer"] == {"lambda": CALLER}


@pytest.mark.parametrize(
    ("headers", "found", "status"),
    [({}, None, 401), (BEARER, {"isAuthorized": False}, 403), (BEARER, {}, 200)],
)
def test_request_without_a_header_and_one_that_is_denied_reach_no_function(
    headers: Mapping[str, str], found: object, status: int
) -> None:
    handlers = Handlers({"statusCode": 200})
    response = _gateway(handlers, found).answer(Request("GET", "/v1/me", "", headers))
    assert response.status == status
    assert len(handlers.events) == (status == 200)


def test_result_of_the_authorizer_counts_for_some_minutes() -> None:
    clock, callers = FixedClock(NOW), Handlers({"isAuthorized": True, "context": CALLER})
    function = _function("Authorizer")
    authorizer = Authorizer(function, cast("Functions", callers), clock, cache_seconds=300)
    for seconds, calls in ((0, 1), (299, 1), (1, 2), (-900, 3)):
        clock.advance(seconds)
        request = Request("GET", "/v1/me", "", BEARER)
        assert authorizer.authorize(request, "GET /v1/me") == {"lambda": CALLER}
        assert len(callers.events) == calls
    assert callers.events[0]["identitySource"] == ["Bearer any"]


def test_a_body_over_the_limit_never_reaches_the_function() -> None:
    handlers = Handlers({"statusCode": 200})
    request = Request("POST", "/hook", body=b"x" * (MAX_BODY_BYTES + 1))
    assert _gateway(handlers).answer(request).status == 413
    assert not handlers.events


@pytest.mark.parametrize("answer", [ValueError("broken"), {"statusCode": "many"}])
def test_a_function_that_fails_is_a_500_without_its_words(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    response = _gateway(Handlers(answer)).answer(Request("POST", "/hook"))
    assert response.status == 500
    assert json.loads(response.body) == {"message": "Internal Server Error"}
    assert caplog.messages[0].endswith(" failed")
    assert "ValueError" in caplog.text


def test_answers_come_back_with_headers_cookies_and_bytes() -> None:
    response = http_response(
        {
            "statusCode": 201,
            "headers": {"Content-Type": "image/png"},
            "cookies": ["a=1", "b=2"],
            "body": base64.b64encode(b"\x89PNG").decode(),
            "isBase64Encoded": True,
        }
    )
    assert (response.status, response.body) == (201, b"\x89PNG")
    assert list(response.headers) == [
        ("content-type", "image/png"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    ]


def test_the_template_routes_every_call_of_the_contract() -> None:
    routes = Routes(deployed_template().functions)
    open_to_all = {
        ("GET", "/docs"),
        ("GET", "/healthz"),
        ("GET", "/asyncapi.json"),
        ("GET", "/openapi.json"),
        ("POST", "/webhooks/twilio/sms"),
        ("POST", "/webhooks/twilio/status"),
    }
    for method, path in open_to_all:
        match = routes.match(method, path)
        assert match is not None
        assert not match.route.authorized
    for method, path in [("GET", "/v1/chats"), ("POST", "/v1/chats/c/messages"), ("PUT", "/v1/x")]:
        match = routes.match(method, path)
        assert match is not None
        assert match.route.authorized


@pytest.mark.parametrize("module", [mobile_api, admin_api], ids=lambda module: module.__name__)
def test_template_leads_each_call_of_an_api_to_its_function(module: ModuleType) -> None:
    routes = Routes(deployed_template().functions)
    for route in module.api.routes:
        path = re.sub(r"<\w+>", "x", route.path)
        method = route.method if isinstance(route.method, str) else route.method[0]
        match = routes.match(method, path)
        assert match is not None, path
        assert match.function.logical_id == function_name(module), path


def test_gateway_answers_preflight_without_a_token_and_marks_its_own_errors() -> None:
    cors = Cors.of(deployed_template(), ("http://app",))
    gateway = _gateway(Handlers({}), cors=cors)
    asked = {"origin": "http://app", "access-control-request-method": "GET"}
    assert gateway.answer(Request("OPTIONS", "/v1/chats", "", asked)).status == 204
    refused = gateway.answer(Request("GET", "/v1/chats", "", {"origin": "http://app"}))
    assert refused.status == 401
    assert dict(refused.headers)["access-control-allow-origin"] == "http://app"
