"""The errors of calls."""

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
        code: The error code of Skein, or that of the status if the gateway itself answered; "" for
            the file storage and other statuses.
        message: The explanation.
        retry_after: The seconds to wait before the next attempt; None if the API names none.
    """

    def __init__(self, status: int, code: str, message: str, retry_after: float | None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after

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
    """Nobody has answered a message in time; the answer may still come.

    Attributes:
        message: The message that waits for an answer.
    """

    def __init__(self, message: object) -> None:
        super().__init__("no answer in time")
        self.message = message
