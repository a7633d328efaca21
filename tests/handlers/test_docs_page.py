"""The page of the API's documentation shows the whole document, and runs nothing."""

import base64
import hashlib
import re
from copy import deepcopy
from typing import Any, cast

import api_docs
from routes.document.docs_page import page, render
from routes.document.openapi import ERRORS, METHODS, document
from tests.support.api_client import Client, Context, recorded
from tests.support.builders import World

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&`<b>`"


def ids(html: str) -> list[str]:
    return re.findall(r' id="([^"]+)"', html)


def small(**changes: Any) -> dict[str, Any]:
    """A document with one operation and one schema, which a test changes."""
    described = deepcopy(document())
    described["paths"] = {"/v1/me": {"get": described["paths"]["/v1/me"]["get"]}}
    described["tags"] = [tag for tag in described["tags"] if tag["name"] == "me"]
    described["components"]["schemas"] = {"Only": changes}
    return described


def test_docs_page_is_served_as_html_under_a_strict_policy() -> None:
    World()
    answer = api_docs.handler(
        {**recorded("api_docs"), "rawPath": "/docs"}, cast("Any", Context(api_docs))
    )
    assert answer["statusCode"] == 200
    assert answer["headers"]["content-type"] == "text/html; charset=utf-8"
    style = re.search(r"<style>(.*?)</style>", answer["body"], re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert answer["headers"]["content-security-policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def test_docs_page_with_a_query_parameter_answers_422() -> None:
    answer = Client(World(), api=api_docs).get("/docs", theme="dark")
    assert (answer.status, answer.code) == (422, "unprocessable")


def test_docs_page_loads_nothing_and_has_no_script() -> None:
    assert not re.search(r"<(script|img|link|iframe|object|embed|form)\b", page())
    assert not re.search(r"\s(on\w+|style|src|srcset)=", page())
    assert not re.findall(r'href="(?!#|openapi\.json")', page())


def test_docs_page_shows_every_operation_error_and_schema() -> None:
    described = document()
    operations = [
        operation["operationId"]
        for found in described["paths"].values()
        for method, operation in found.items()
        if method in METHODS
    ]
    schemas = [f"schema-{name}" for name in described["components"]["schemas"]]
    shown = ids(page())
    assert {*operations, *schemas, *(f"error-{status}" for status in ERRORS)} <= set(shown)
    assert len(shown) == len(set(shown))


def test_docs_page_links_lead_to_a_place_on_the_page() -> None:
    assert set(re.findall(r'href="#([^"]+)"', page())) <= set(ids(page()))


def test_docs_page_shows_parameters_examples_headers_and_scopes() -> None:
    for text in ("If-None-Match", "Morning run", "Retry-After", "Scope support", "No token"):
        assert text in page()


def test_docs_page_escapes_all_text_of_the_document() -> None:
    described = small(
        title=HOSTILE,
        description=HOSTILE,
        type="object",
        properties={HOSTILE: {"type": HOSTILE, "pattern": HOSTILE, "description": HOSTILE}},
    )
    described["info"]["description"] = described["info"]["title"] = HOSTILE
    described["tags"][0]["description"] = HOSTILE
    operation = described["paths"]["/v1/me"]["get"]
    operation["summary"] = operation["description"] = operation["operationId"] = HOSTILE
    operation["parameters"] = [
        {"name": HOSTILE, "in": HOSTILE, "required": True, "schema": {"const": HOSTILE}}
    ]
    operation["responses"]["200"]["content"] = {
        HOSTILE: {"schema": {"enum": [HOSTILE]}, "example": {HOSTILE: HOSTILE}}
    }
    html = render(described)
    assert not re.search(r"<(script|img|b)\b", html)
    assert 'alert(2)>"' not in html


def test_docs_page_shows_types_in_words() -> None:
    html = render(
        small(
            type="object",
            required=["seq"],
            properties={
                "seq": {"type": "integer", "minimum": 1, "maximum": 999999999998.0},
                "title": {"type": "string", "minLength": 1, "maxLength": 2000},
                "names": {"type": ["array", "null"], "items": {"type": "string", "maxLength": 9}},
                "at": {"type": "string", "format": "date-time"},
                "any": {"anyOf": [{"$ref": "#/components/schemas/Only"}, {"type": "null"}]},
                "by_name": {"type": "object", "additionalProperties": {"type": "integer"}},
                "lines": {"contentSchema": {"type": "object"}, "contentMediaType": "x/lines"},
                "free": {},
            },
        )
    )
    text = re.sub(r"<[^>]+>", "|", html)
    for shown in (
        "integer|, at least 1, at most 999,999,999,998",
        "string|, at least 1 character, at most 2,000 characters",
        "list of string or null",
        "string (date-time)",
        "|Only| or null",
        "object of integer",
        "lines, each object",
        "any value",
    ):
        assert shown in text, shown
