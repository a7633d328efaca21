"""HTTP responses for errors: one mapping for all handlers."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from skein.errors import RateLimited, Rejected, SkeinError, StorageFull, Transient
from skein.models.common.reason import Reason
from skein.ports import Metrics

logger = logging.getLogger(__name__)

JSON_HEADERS = {"content-type": "application/json"}


def error_response(error: SkeinError) -> dict[str, Any]:
    """Return `error` as an API Gateway HTTP API response (payload format 2.0).

    The response holds the message of a `Rejected`. The message of any other error may name hosts
    or items, so only the log has it.
    """
    if isinstance(error, Rejected):
        answer = _response(error.status, error.code, error.message, error.details)
        if isinstance(error, RateLimited):
            answer["headers"] = {**JSON_HEADERS, "retry-after": str(error.retry_after_seconds)}
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

    Nobody reads the response of a rejected webhook, so the log and the metric have the reason.

    Args:
        error: The error.
        named: Log fields that name the rejected SMS, as far as they are known.
    """
    if isinstance(error, Rejected):
        reason = Reason(error.reason or Reason.MALFORMED_REQUEST)
        logger.warning(
            "request rejected",
            extra={"reason": reason, "http_status": error.status, **(named or {})},
        )
        metrics.count("RequestsRejected", reason=reason)
    return error_response(error)


def _response(status: int, code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    body = {"error": {"code": code, "message": message, "details": details}}
    return {"statusCode": status, "headers": JSON_HEADERS, "body": json.dumps(body)}
