"""What a person with curl can do with a local stack."""

import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

LINE = "+15005550006"
SECONDS = 30

_phones = itertools.count(1000)


@dataclass(frozen=True)
class Answer:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Client:
    """Calls one stack, and has a phone of its own.

    Args:
        url: Where it is.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.phone = f"+1415555{next(_phones):04}"

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Make one request; a `bytes` body goes as it is, anything else as JSON."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json", **(headers or {})}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        request = urllib.request.Request(f"{self.url}{path}", data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                return Answer(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read())

    def ok(self, method: str, path: str, body: object = None, *, token: str | None = None) -> Any:
        """Make one request that has to succeed; returns its JSON."""
        answer = self.call(method, path, body, token=token)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.body!r}"
        return answer.json if answer.body else None

    def token(self, sub: str, scope: str = "chat", tenant: str = "demo") -> str:
        """A token."""
        token: str = self.ok(
            "POST", "/local/token", {"sub": sub, "tenant": tenant, "scope": scope}
        )["token"]
        return token

    def text(self, body: str, *, sender: str | None = None, **more: str) -> Any:
        """Send a text to the demo's line."""
        sms = {"from": sender or self.phone, "to": LINE, "body": body, **more}
        return self.ok("POST", "/local/sms", sms)

    def texts(self, phone: str | None = None) -> list[str]:
        """What has reached a phone."""
        path = f"/local/sms?to={quote(phone or self.phone)}"
        return [sms["body"] for sms in self.ok("GET", path)["items"]]

    def drain(self) -> None:
        """Wait until everything is done."""
        self.ok("POST", "/local/drain")

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.ok("POST", "/local/clock", {"advance_seconds": seconds})
