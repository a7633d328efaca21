"""Client of a local stack for benchmarks, which call the API as people and as operators."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

CALL_SECONDS = 30.0


class CallRefusedError(Exception):
    """A request that a benchmark needs to succeed was answered with an error.

    Attributes:
        status: The HTTP status.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Api:
    """The API of a local stack. An error response raises an exception."""

    url: str
    tenant: str

    def ok(
        self, method: str, path: str, body: object = None, *, token: str = "", seconds: float = 60.0
    ) -> Any:
        """Send a request and return its JSON; None if the response has no JSON.

        Raises:
            CallRefusedError: The response is an error.
        """
        request = _request(self.url, method, path, body, token)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as response:  # noqa: S310
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")
            why = f"{method} {path}: {error.code} {said}"
            raise CallRefusedError(why, error.code) from error

    def token(self, sub: str, scope: str = "chat") -> str:
        """Return a token for a person."""
        asked = {"sub": sub, "tenant": self.tenant, "scope": scope}
        return str(self.ok("POST", "/local/token", asked)["token"])


def call(url: str, method: str, path: str, body: object = None, token: str = "") -> tuple[int, Any]:
    """Send a request; return its status and JSON. The status is 0 if there was no response."""
    request = _request(url, method, path, body, token)
    try:
        with urllib.request.urlopen(request, timeout=CALL_SECONDS) as response:  # noqa: S310
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, None
    except (OSError, HTTPException, ValueError):
        return 0, None


def _request(url: str, method: str, path: str, body: object, token: str) -> urllib.request.Request:
    headers: Mapping[str, str] = {"authorization": f"Bearer {token}"} if token else {}
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.Request(  # noqa: S310 - loopback
        f"{url}{path}", data, {"content-type": "application/json", **headers}, method=method
    )
