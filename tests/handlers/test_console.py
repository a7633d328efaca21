"""The function of the console serves its files, and nothing else."""

import gzip
import json
from base64 import b64decode
from typing import Any

import pytest

import console
from local.events import Request, http_event
from local.template import ROOT
from skein import bootstrap
from skein.settings import Settings
from tests.support.api_client import Context
from tests.support.builders import NOON
from tools import widget

ISSUER = "https://id.example/pool"


def get(path: str, *, headers: dict[str, str] | None = None, **settings: Any) -> dict[str, Any]:
    """Call the function with a path."""
    given = {"console_issuer": ISSUER, "live_url": "wss://live.example/live", **settings}
    bootstrap.use(bootstrap.build_app(Settings(**given)))
    event = http_event(
        Request("GET", path, headers=headers or {}),
        route_key="GET /console/{proxy+}",
        path_parameters={},
        authorizer=None,
        now=NOON,
    )
    answer: dict[str, Any] = console.handler(event, Context(console))  # type: ignore[arg-type]
    return answer


def directives(answer: dict[str, Any]) -> dict[str, str]:
    policy = answer["headers"]["content-security-policy"]
    return {name: rest for name, _, rest in (part.partition(" ") for part in policy.split("; "))}


@pytest.mark.parametrize("path", ["/", "/console"])
def test_console_paths_before_it_redirect_to_it(path: str) -> None:
    answer = get(path)
    assert (answer["statusCode"], answer["headers"]["location"]) == (302, "/console/")


def test_console_home_is_the_index() -> None:
    answer = get("/console/")
    assert answer["statusCode"] == 200
    assert answer["headers"]["content-type"] == "text/html; charset=utf-8"
    assert answer["body"] == (ROOT / "console" / "index.html").read_text()


def test_console_serves_each_file_with_its_type() -> None:
    kinds = {
        name: get(f"/console/{name}")["headers"]["content-type"].partition(";")[0]
        for name in console.files()
    }
    assert kinds["app.js"] == kinds["pages/phone.js"] == "text/javascript"
    assert kinds["console.css"] == "text/css"
    assert kinds["favicon.svg"] == "image/svg+xml"


@pytest.mark.parametrize(
    "path",
    [
        "/console/../template.yaml",
        "/console/%2e%2e/template.yaml",
        "/console/..%2ftemplate.yaml",
        "/console//etc/passwd",
        "/console/pages/../../README.md",
        "/console/pages",
        "/console/missing.js",
    ],
)
def test_console_path_of_no_file_answers_404(path: str) -> None:
    answer = get(path)
    assert answer["statusCode"] == 404
    assert json.loads(answer["body"])["code"] == "not_found"


def test_console_file_with_its_etag_answers_304_without_a_body() -> None:
    etag = get("/console/app.js")["headers"]["etag"]
    answer = get("/console/app.js", headers={"if-none-match": etag})
    assert answer["statusCode"] == 304
    assert "body" not in answer
    assert answer["headers"]["etag"] == etag
    assert get("/console/app.js", headers={"if-none-match": '"other"'})["statusCode"] == 200


def test_console_file_is_compressed_for_callers_that_read_gzip() -> None:
    plain = get("/console/app.js")
    packed = get("/console/app.js", headers={"accept-encoding": "gzip, deflate, br"})
    assert packed["headers"]["content-encoding"] == "gzip"
    assert packed["headers"]["vary"] == plain["headers"]["vary"] == "accept-encoding"
    assert gzip.decompress(b64decode(packed["body"])).decode() == plain["body"]
    assert packed["headers"]["etag"] == plain["headers"]["etag"]


def test_console_policy_allows_own_files_and_known_origins_only() -> None:
    found = directives(get("/console/", console_origins=("https://login.example",)))
    assert found["default-src"] == "'none'"
    assert found["script-src"] == found["style-src"] == "'self'"
    assert found["img-src"] == "'self' blob:"
    assert found["frame-ancestors"] == found["base-uri"] == found["form-action"] == "'none'"
    assert found["require-trusted-types-for"] == "'script'"
    assert found["connect-src"].split() == [
        "'self'",
        "https://id.example",
        "wss://live.example",
        "https://login.example",
    ]
    assert "unsafe" not in str(found)


def test_console_answers_forbid_sniffing_framing_and_old_copies() -> None:
    headers = get("/console/app.js")["headers"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "public, max-age=0, s-maxage=60, must-revalidate"


def test_console_config_has_the_address_of_the_sign_in() -> None:
    answer = get(
        "/console/config",
        console_client_id="abc",
        console_audience="skein",
        jwt_scope_prefix="skein/",
    )
    assert answer["headers"]["cache-control"] == "no-store"
    assert json.loads(answer["body"]) == {
        "issuer": ISSUER,
        "client_id": "abc",
        "audience": "skein",
        "scope_prefix": "skein/",
        "scopes": [
            "openid",
            "skein/chat",
            "skein/support",
            "skein/privacy",
            "skein/owner",
            "skein/admin",
        ],
        "live": True,
        "local": False,
    }


def test_web_chat_is_served_to_pages_of_all_origins() -> None:
    newest = get("/widget/v1.js")
    [version] = {name for name in console.widgets() if name != "v1.js"}
    fixed = get(f"/widget/{version}")
    assert fixed["body"] == newest["body"] == widget.BUILT.read_text(encoding="ascii")
    for answer in (newest, fixed):
        assert answer["headers"]["content-type"] == "text/javascript; charset=utf-8"
        assert "access-control-allow-origin" not in answer["headers"]  # the gateway's own
        assert answer["headers"]["cross-origin-resource-policy"] == "cross-origin"
        assert "content-security-policy" not in answer["headers"]
    assert fixed["headers"]["cache-control"] == "public, max-age=31536000, immutable"
    assert "immutable" not in newest["headers"]["cache-control"]


@pytest.mark.parametrize("path", ["/widget/", "/widget/v2.js", "/widget/../console/app.js"])
def test_web_chat_path_of_no_file_answers_404(path: str) -> None:
    assert get(path)["statusCode"] == 404
