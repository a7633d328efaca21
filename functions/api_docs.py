"""Handler that serves the OpenAPI document, as JSON and as a page, and the AsyncAPI document."""

import json
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.app import check_query
from routes.document import asyncapi, docs_page, openapi
from routes.public_files import PublicFile
from skein.errors import Unprocessable
from skein.http import error_response
from skein.logs import logged

PAGE, LIVE = "/docs", "/asyncapi.json"
PAGE_HEADERS = {
    "content-security-policy": docs_page.POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Return the requested document. A request with a query string is refused with 422."""
    try:
        check_query(event.get("queryStringParameters") or {})
    except Unprocessable as error:
        return error_response(error)
    if event["rawPath"] == PAGE:
        return _page().answer(event, PAGE_HEADERS)
    return _json(event["rawPath"]).answer(event, {})


@cache
def _page() -> PublicFile:
    return PublicFile(docs_page.page().encode(), "text/html; charset=utf-8")


@cache
def _json(path: str) -> PublicFile:
    described = asyncapi.document() if path == LIVE else openapi.document()
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    return PublicFile(text.encode(), "application/json")
