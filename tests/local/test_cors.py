"""CORS of the local gateway, by the rules of the template."""

import pytest

from local.config import BadConfigError, Config
from local.events import Request, Response
from local.template import Template
from local.web.cors import Cors, own_origins
from tests.support.template import deployed_template

URL = "http://127.0.0.1:8787"
CORS = Cors.of(deployed_template(), (URL,))
OK = Response(200, (("content-type", "application/json"),), b"{}")


def preflight(origin: str | None = URL, cors: Cors = CORS) -> Response | None:
    headers = {"access-control-request-method": "PATCH"} | ({"origin": origin} if origin else {})
    return cors.preflight(Request("OPTIONS", "/v1/me", "", headers))


def test_preflight_of_an_allowed_origin_names_methods_and_headers() -> None:
    answer = preflight()
    assert answer is not None
    assert (answer.status, answer.body) == (204, b"")
    assert dict(answer.headers) == {
        "access-control-allow-origin": URL,
        "access-control-allow-methods": "GET,POST,PUT,PATCH,DELETE",
        "access-control-allow-headers": "authorization,content-type,idempotency-key,if-none-match",
        "access-control-expose-headers": "etag,retry-after",
        "access-control-max-age": "3600",
        "vary": "origin",
    }


@pytest.mark.parametrize("origin", ["https://evil.example", f"{URL}.evil.example", "null", None])
def test_preflight_of_another_origin_allows_nothing(origin: str | None) -> None:
    answer = preflight(origin)
    assert answer is not None
    assert (answer.status, answer.headers) == (204, [])


def test_options_without_a_preflight_header_is_an_ordinary_request() -> None:
    assert CORS.preflight(Request("OPTIONS", "/v1/me", "", {"origin": URL})) is None


def test_response_to_an_allowed_origin_can_be_read_by_its_page() -> None:
    answer = CORS.answering(Request("GET", "/v1/me", "", {"origin": URL}), OK)
    assert dict(answer.headers)["access-control-allow-origin"] == URL
    assert (answer.status, answer.body) == (OK.status, OK.body)


@pytest.mark.parametrize("headers", [{}, {"origin": "https://evil.example"}])
def test_response_to_another_origin_has_no_cors_headers(headers: dict[str, str]) -> None:
    assert CORS.answering(Request("GET", "/v1/me", "", headers), OK) == OK


def test_every_origin_is_allowed_by_the_star_for_web_chat() -> None:
    cors = Cors.of(deployed_template(), (), every=True)
    answer = preflight("https://shop.example", cors)
    assert answer is not None
    assert dict(answer.headers)["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in dict(answer.headers)


def test_template_without_cors_allows_no_origin() -> None:
    cors = Cors.of(Template({}), (URL,))
    assert preflight(cors=cors) is None
    assert cors.answering(Request("GET", "/v1/me", "", {"origin": URL}), OK) == OK


def test_own_origins_are_those_of_the_address_and_of_localhost() -> None:
    assert own_origins(URL) == (URL, "http://localhost:8787")


def test_setting_lists_origins() -> None:
    given = {"SKEIN_CORS_ORIGINS": "http://127.0.0.1:3000, https://app.example.com"}
    origins = Config.from_environment(given).cors_origins
    assert origins == ("http://127.0.0.1:3000", "https://app.example.com")
    assert Config.from_environment({}).cors_origins == ()


@pytest.mark.parametrize("value", ["*", "app.example.com", "https://a.example/", "https://*.a.b"])
def test_setting_with_something_else_than_origins_is_refused(value: str) -> None:
    with pytest.raises(BadConfigError, match="SKEIN_CORS_ORIGINS has"):
        Config.from_environment({"SKEIN_CORS_ORIGINS": value})
