"""The errors of calls."""

from collections.abc import Mapping
from typing import Any

import httpx2

TOO_MANY, SERVER_ERROR = 429, 500
# The codes of errors that the API Gateway in front of Skein answers, whose body has none.
GATEWAY_CODES = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    413: "too_large",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
    504: "unavailable",
}


class ApiError(Exception):
    """The API refused a call, or failed.

    Attributes:
        status: The HTTP status.
        code: Skein's error code. If the gateway itself answered, the code of its status. "" for
            the file storage and other statuses.
        message: The explanation.
        retry_after: The seconds to wait before the next attempt; None if the API names none.
        details: Further data for programs, such as `reasons` of a 422; empty if there are none.
        request_id: The id of the request in the logs of Skein; "" if the response has none.
        title: The phrase of the status, such as "Not Found".
        type: The type of the problem, "about:blank" for all problems of Skein.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        retry_after: float | None = None,
        *,
        details: Mapping[str, Any] | None = None,
        request_id: str = "",
        title: str = "",
        type: str = "about:blank",  # noqa: A002, the name in RFC 9457
    ) -> None:
        request = f" (request {request_id})" if request_id else ""
        super().__init__(f"{status} {code}: {message}{request}")
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after
        self.details, self.request_id = details or {}, request_id
        self.title, self.type = title, type

    @property
    def needs_sign_in(self) -> bool:
        """Whether the token has expired, is not valid or lacks the scope."""
        return self.status in {401, 403}

    @property
    def is_temporary(self) -> bool:
        """Whether the same call may succeed later."""
        return self.status == TOO_MANY or self.status >= SERVER_ERROR


class Unreachable(Exception):
    """The API could not be reached, or the connection was lost before its response.

    Attributes:
        answered: Whether something else answered, for example the sign-in page of a public network.
    """

    def __init__(self, message: str, *, answered: bool = False) -> None:
        super().__init__(message)
        self.answered = answered


class NoAnswer(Exception):
    """No answer to a message has arrived in time; it may still arrive.

    Attributes:
        message: The message that waits for an answer.
    """

    def __init__(self, message: object) -> None:
        super().__init__("no answer in time")
        self.message = message


def error_of(response: httpx2.Response) -> ApiError:
    """Return the error of a response whose status is not a success."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    after = response.headers.get("retry-after", "")
    return ApiError(
        response.status_code,
        body.get("code") or GATEWAY_CODES.get(response.status_code, ""),
        body.get("detail") or body.get("message") or response.reason_phrase,
        float(after) if after.isdigit() else None,
        details=body.get("details"),
        request_id=body.get("request_id") or response.headers.get("apigw-requestid") or "",
        title=body.get("title") or response.reason_phrase,
        type=body.get("type") or "about:blank",
    )
