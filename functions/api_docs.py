"""Handler that serves the OpenAPI document of both APIs, as JSON and as a page."""

import json
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.app import check_query
from routes.document import docs_page
from routes.document.openapi import document
from skein.errors import Unprocessable
from skein.http import JSON_HEADERS, error_response
from skein.logs import logged

PAGE = "/docs"
PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": docs_page.POLICY,
    "cache-control": "no-cache",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Return the OpenAPI document; a query gets 422, as in the other calls of the API."""
    try:
        check_query(event.get("queryStringParameters") or {})
    except Unprocessable as error:
        return error_response(error)
    if event["rawPath"] == PAGE:
        return {"statusCode": 200, "headers": PAGE_HEADERS, "body": docs_page.page()}
    body = json.dumps(document(), ensure_ascii=False, separators=(",", ":"))
    return {"statusCode": 200, "headers": JSON_HEADERS, "body": body}
