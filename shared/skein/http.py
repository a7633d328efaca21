"""Map errors to HTTP responses, for all handlers."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from skein import correlation
from skein.errors import RateLimited, Rejected, SkeinError, StorageFull, Transient
from skein.models.common.reason import Reason
from skein.ports import Metrics

logger = logging.getLogger(__name__)

JSON_HEADERS = {"content-type": "application/json"}
PROBLEM_JSON = "application/problem+json"
PROBLEM_HEADERS = {"content-type": PROBLEM_JSON}
TITLES = {  # as in RFC 9110; the standard library's phrases differ between versions of Python
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def error_response(error: SkeinError) -> dict[str, Any]:
    """Return `error` as an API Gateway HTTP API response (payload format 2.0), by RFC 9457.

    The response contains the message of a `Rejected`. The message of any other error may name
    hosts or items, so it is only logged.
    """
    if isinstance(error, Rejected):
        answer = _response(error.status, error.code, error.message, error.details)
        if isinstance(error, RateLimited):
            answer["headers"] = {**PROBLEM_HEADERS, "retry-after": str(error.retry_after_seconds)}
        return answer
    if isinstance(error, StorageFull):
        logger.error("storage is full", exc_info=error)
        message = "The disk is full and nothing was stored. Free space, then try again."
        return _response(503, "storage_full", message, {})
    if isinstance(error, Transient):
        logger.warning(
            "request failed temporarily",
            extra={"reason": Reason.SERVER_ERROR},
            exc_info=error,
        )
        return _response(503, "unavailable", "The request failed temporarily. Try again.", {})
    logger.error("request failed", extra={"reason": Reason.SERVER_ERROR}, exc_info=error)
    return _response(500, "internal", "An internal error occurred.", {})


def webhook_error_response(
    error: SkeinError, metrics: Metrics, named: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Log and count the rejection of a webhook, and return its response.

    The reason is also in the log and the metric, because the sender does not read the response.

    Args:
        named: Log fields that name the rejected SMS, if known.
    """
    if isinstance(error, Rejected):
        reason = Reason(error.reason or Reason.MALFORMED_REQUEST)
        logger.warning(
            "request rejected",
            extra={"reason": reason, "http_status": error.status, **(named or {})},
        )
        metrics.count("RequestsRejected", reason=reason)
    return error_response(error)


def problem(status: int, code: str, message: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an error: problem details with `code`, `details` and the request's id.

    `request_id` is the `function_request_id` of the log lines; empty outside of a function.
    """
    return {
        "type": "about:blank",
        "title": TITLES[status],
        "status": status,
        "detail": message,
        "code": code,
        "details": dict(details),
        "request_id": correlation.current_invocation().get("function_request_id", ""),
    }


def _response(status: int, code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps(problem(status, code, message, details))
    return {"statusCode": status, "headers": PROBLEM_HEADERS, "body": body}
