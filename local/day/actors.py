"""The actors of the recorded day: people and an operator. They call the stack as clients do."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from local.events import Request, Response

TENANT = "clinic"
LINE = "+15005550040"
OPERATOR, OPERATOR_NAME = "operator", "Mia"
REASON = "The recorded day of the clinic"  # operators see private content for a reason
FIRST_ERROR = 300


class RefusedError(Exception):
    """The stack refused a call of the story."""


class Actors:
    """People and an operator of the clinic.

    Args:
        url: The URL of the stack.
        answer: Answers a request to the stack.
    """

    def __init__(self, url: str, answer: Callable[[Request], Response]) -> None:
        self._answer = answer
        self._host = url.partition("//")[2]
        self._tokens: dict[tuple[str, str], str] = {}
        self._posted = 0

    def local(self, method: str, name: str, body: object = None, **query: str) -> Any:
        """Call the developer API of the local stack, under `/local`."""
        return self._call(method, f"/local/{name}", body, query, token=None)

    def operator(self, method: str, path: str, body: object = None, **query: str) -> Any:
        """Make a call as the operator."""
        token = self._token(OPERATOR, OPERATOR_NAME, "chat admin")
        return self._call(method, path, body, query, token)

    def person(self, person: str, name: str, method: str, path: str, body: object = None) -> Any:
        """Make a call as a person, in the app."""
        return self._call(method, path, body, {}, self._token(person, name, "chat"))

    def sms(self, phone: str, text: str) -> None:
        """Send an SMS to the line, and wait until the stack is idle."""
        self.local("POST", "sms", {"from": phone, "to": LINE, "body": text})
        self.local("POST", "drain")

    def say(self, person: str, name: str, chat: str, text: str) -> int:
        """Post a message in the app, wait until the stack is idle; return the message's number."""
        self._posted += 1
        body = {"text": text, "client_id": f"day-{self._posted}"}
        posted = self.person(person, name, "POST", f"/v1/chats/{chat}/messages", body)
        self.local("POST", "drain")
        return int(posted["seq"])

    def wait_until(self, moment: datetime) -> None:
        """Move the clock forward to `moment`, and wait until all work due by then is done."""
        now = datetime.fromisoformat(self.local("GET", "config")["now"])
        left = max((moment - now).total_seconds(), 0.0)
        self.local("POST", "clock", {"advance_seconds": left})

    def _token(self, sub: str, name: str, scope: str) -> str:
        if (sub, scope) not in self._tokens:
            asked = {"sub": sub, "tenant": TENANT, "scope": scope, "name": name}
            self._tokens[sub, scope] = self.local("POST", "token", asked)["token"]
        return self._tokens[sub, scope]

    def _call(
        self, method: str, path: str, body: object, query: Mapping[str, str], token: str | None
    ) -> Any:
        headers = {"host": self._host, "content-type": "application/json"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        data = b"" if body is None else json.dumps(body).encode()
        answer = self._answer(Request(method, path, urlencode(query), headers, data))
        if answer.status >= FIRST_ERROR:
            raise RefusedError(f"{method} {path}: {answer.status} {answer.body.decode()}")
        return json.loads(answer.body or b"null")
