"""Calls of the HTTP API, with the types of the OpenAPI document (`skein_client.api_types`)."""

import json
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from skein_client.api_types import (
    ChatResource,
    MessageResource,
    NewAnswer,
    NewChat,
    NewChatMessage,
    OpenChoiceResource,
    TicketResource,
)

PAGE = 100
CLIENT_ERROR, TOO_MANY, SERVER_ERROR = 400, 429, 500


class ApiError(Exception):
    """The API refused a call, or failed.

    Attributes:
        status: The HTTP status.
        code: The error code of Skein; "" if the gateway itself answered.
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

    Also if something else answered, for example the sign-in page of a public network.
    """


class _NoRedirects(HTTPRedirectHandler):
    """Follow no redirect: the API has none, and another server must not get the token."""

    def redirect_request(self, *_: object) -> None:
        """Return no request."""


class Client:
    """The API, as one person uses it.

    Args:
        url: The URL of the API.
        token: The person's token, or a function that returns a current one. The function raises
            `Unreachable` or an `OSError` if it gets none, for example because it is offline.
        timeout: The longest wait for a response, in seconds.
    """

    def __init__(self, url: str, token: str | Callable[[], str], *, timeout: float = 30.0) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._opener = build_opener(_NoRedirects)

    def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, object] | None = None
    ) -> Any:
        """Make a call; return the JSON of its response, or None if it has none.

        Args:
            method: The HTTP method.
            path: The path, for example `/v1/me`.
            body: The body, as a value for JSON.
            query: The query parameters; those that are None are omitted.

        Raises:
            ApiError: The API refused the call, or failed.
            Unreachable: There is no response.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self._url}{path}{'?' if given else ''}{urlencode(given)}"
        sent = None if body is None else json.dumps(body).encode()
        request = Request(url, sent, method=method)  # noqa: S310 - the URL is the caller's
        request.add_header("Content-Type", "application/json")
        try:
            token = self._token if isinstance(self._token, str) else self._token()
            request.add_header("Authorization", f"Bearer {token}")
            with self._opener.open(request, timeout=self._timeout) as response:
                text = response.read()
        except HTTPError as error:
            raise _error_of(error) from None
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{method} {path}: {error!r}") from error
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise Unreachable(f"{method} {path}: the response is not JSON") from error

    def items(self, path: str, query: Mapping[str, object] | None = None) -> Iterator[Any]:
        """Yield the items of all pages of a list.

        Raises:
            ApiError: The API refused a call, or failed.
            Unreachable: There is no response.
        """
        cursor = None
        while True:
            page = self.call("GET", path, query={"limit": PAGE, **(query or {}), "cursor": cursor})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def chats(self) -> Iterator[ChatResource]:
        """Yield the person's chats, newest first."""
        return self.items("/v1/chats")

    def create_chat(self, new: NewChat) -> ChatResource:
        """Open a chat."""
        return cast("ChatResource", self.call("POST", "/v1/chats", new))

    def messages(self, chat_id: str, *, after: int = 0) -> Iterator[MessageResource]:
        """Yield the messages of a chat with a higher `seq` than `after`, oldest first."""
        return self.items(f"/v1/chats/{quote(chat_id, safe='')}/messages", {"after": after})

    def post_message(self, chat_id: str, new: NewChatMessage) -> MessageResource:
        """Post a message; with a repeated `client_id`, return the message that exists."""
        path = f"/v1/chats/{quote(chat_id, safe='')}/messages"
        return cast("MessageResource", self.call("POST", path, new))

    def choices(self) -> list[OpenChoiceResource]:
        """Return the questions and invitations that the person can answer, oldest first.

        An invitation has no `seq`; `answer_invitation` answers it.
        """
        return cast("list[OpenChoiceResource]", self.call("GET", "/v1/me/choices")["items"])

    def answer_choice(self, chat_id: str, answer: NewAnswer, *, client_id: str) -> MessageResource:
        """Answer a question of a chat; return the answer's message.

        With a repeated `client_id`, return the message that exists.

        Raises:
            ApiError: Status 403: the question is for another person. 409: it is answered already
                or has expired.
            Unreachable: There is no response.
        """
        return self.post_message(chat_id, {"choice": answer, "client_id": client_id})

    def answer_invitation(self, chat_id: str, *, accept: bool) -> None:
        """Accept or decline an invitation to a chat."""
        self.call("POST", f"/v1/chats/{quote(chat_id, safe='')}/invitation", {"accept": accept})

    def ticket(self) -> TicketResource:
        """Get a ticket, which opens one live connection within 60 seconds."""
        return cast("TicketResource", self.call("POST", "/v1/live"))


def _error_of(error: HTTPError) -> ApiError | Unreachable:
    if error.code < CLIENT_ERROR:
        error.close()
        return Unreachable(f"{error.url}: redirected with status {error.code}")
    with error:
        try:
            body = json.loads(error.read())
        except (OSError, HTTPException, ValueError):
            body = {}
    body = body if isinstance(body, dict) else {}
    detail = body.get("error")
    detail = detail if isinstance(detail, dict) else {}
    message = detail.get("message") or body.get("message") or str(error.reason)
    after = error.headers.get("retry-after", "")
    return ApiError(
        error.code, detail.get("code", ""), message, float(after) if after.isdigit() else None
    )
