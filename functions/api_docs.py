"""Handler that serves the OpenAPI document of both APIs."""

import json
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.app import check_query
from routes.openapi import document
from skein.errors import Unprocessable
from skein.http import error_response
from skein.logs import logged


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Return the OpenAPI document; a query gets 422, as in the other calls of the API."""
    try:
        check_query(event.get("queryStringParameters") or {})
    except Unprocessable as error:
        return error_response(error)
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(document(), ensure_ascii=False, separators=(",", ":")),
    }
