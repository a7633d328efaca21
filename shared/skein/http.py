"""How an error looks over HTTP: the one mapping, whichever handler raised it."""

import json
from typing import Any

from skein.errors import Rejected, SkeinError, Transient

JSON_HEADERS = {"content-type": "application/json"}


def error_response(error: SkeinError) -> dict[str, Any]:
    """Return `error` as an API Gateway HTTP API response (payload format 2.0).

    A `Rejected` speaks for itself; anything else is our own affair, and its words, which may name
    hosts or items, stay in the log.
    """
    if isinstance(error, Rejected):
        return _response(error.status, error.code, error.message, error.details)
    if isinstance(error, Transient):
        return _response(503, "unavailable", "This could not be done now; try again.", {})
    return _response(500, "internal", "Something went wrong on our side.", {})


def _response(status: int, code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    body = {"error": {"code": code, "message": message, "details": details}}
    return {"statusCode": status, "headers": JSON_HEADERS, "body": json.dumps(body)}
