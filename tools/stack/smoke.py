"""Smoke test of a running Skein from outside: one conversation, in the test's own tenant.

`SMOKE_TOKEN=... python -m tools.stack.smoke <URL of the API>` prints one line for each step and
exits with 1 if a step failed. The token needs the scopes `chat` and `admin`. Its tenant must have
no lines, so that the test can't send an SMS, and no other agents. For the local stack, you need no
token: the stack issues one for a new tenant. In the end, the agent and the chat are removed, even
after a failure. Messages and runs of the tenant expire after a day.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

TOKEN = "SMOKE_TOKEN"  # noqa: S105 - the name of a variable
AGENT = "Smoke test"
PROMPT = "You test a service. Answer each message with the single word pong."
CALL_SECONDS = 30.0
ANSWER_SECONDS = 90.0
FRAME_SECONDS = 30.0
POLL_SECONDS = 0.5
KEPT_DAYS = 1
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class SmokeError(Exception):
    """A step failed; the message says why."""


class Skipped(Exception):
    """A step does not apply to this deployment; the message says why."""


@dataclass(frozen=True)
class Answer:
    """An HTTP response: the status, and the parsed JSON, which is None if the body is not JSON."""

    status: int
    body: Any


class Call(Protocol):
    """A function that makes one HTTP request."""

    def __call__(
        self, method: str, url: str, body: object = None, *, token: str | None = None
    ) -> Answer:
        """Return the response, whatever its status.

        Raises:
            SmokeError: There is no response.
        """


def call(method: str, url: str, body: object = None, *, token: str | None = None) -> Answer:
    """Make one HTTP request.

    Raises:
        SmokeError: The server sent no response.
    """
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - checked
    try:
        with urllib.request.urlopen(request, timeout=CALL_SECONDS) as response:  # noqa: S310
            return Answer(response.status, _parsed(response.read()))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, _parsed(error.read()))
    except OSError as error:
        raise SmokeError(f"{method} {url}: {error}") from None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


@dataclass
class Smoke:
    """One smoke test.

    Args:
        token: A token with the scopes `chat` and `admin`. If empty, the local stack issues a token.
        call: Makes an HTTP request.
        answer_seconds: How long an answer may take, in seconds.
    """

    url: str
    token: str
    call: Call = call
    answer_seconds: float = ANSWER_SECONDS
    _agent: str = ""
    _chat: str = ""
    _asked: int = 0
    _socket: ClientConnection | None = None
    _open: ExitStack = field(default_factory=ExitStack)

    def run(self) -> Iterator[tuple[str, str, str]]:
        """Run all steps; yield the name, the finding and `ok`, `skip` or `FAILED` of each.

        The first failure ends the test. The clean-up always runs.
        """
        steps = (
            self._health,
            self._sign_in,
            self._tenant,
            self._signatures,
            self._new_agent,
            self._live,
            self._conversation,
            self._answer,
            self._pushed,
        )
        for step in steps:
            result = _result(step)
            yield result
            if result[2] == "FAILED":
                break
        yield _result(self._clean_up)

    def _ok(self, method: str, path: str, body: object = None) -> Any:
        answer = self.call(method, f"{self.url}{path}", body, token=self.token)
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise SmokeError(f"{method} {path} answered {answer.status}: {answer.body}")
        return answer.body

    def _health(self) -> str:
        """Health: the API answers."""
        answer = self.call("GET", f"{self.url}/healthz")
        if answer.status != HTTPStatus.OK:
            raise SmokeError(f"GET /healthz answered {answer.status}: {answer.body}")
        return f"{self.url}/healthz answers"

    def _sign_in(self) -> str:
        """Sign-in: a call without a token is refused, and the token's person is recognized."""
        refused = self.call("GET", f"{self.url}/v1/me").status
        if refused != HTTPStatus.UNAUTHORIZED:
            raise SmokeError(f"a call without a token was answered with {refused}, not 401")
        if not self.token:
            self.token = self._local_token()
        return f"signed in as {self._ok('GET', '/v1/me')['id']}; refused without a token"

    def _local_token(self) -> str:
        if urlsplit(self.url).hostname not in LOOPBACK:
            raise SmokeError(f"set {TOKEN} to a token with the scopes chat and admin")
        tenant = f"smoke-{uuid.uuid4().hex[:12]}"
        new = {"sub": "smoke", "tenant": tenant, "scope": "chat admin"}
        token: str = self._ok("POST", "/local/token", new)["token"]
        return token

    def _tenant(self) -> str:
        """Tenant: it is only for smoke tests, so that nobody gets an SMS."""
        if self._ok("GET", "/v1/lines?limit=1")["items"]:
            raise SmokeError("the token's tenant has lines; use a tenant for smoke tests alone")
        agents = self._ok("GET", "/v1/agents?limit=100")["items"]
        if others := [agent["name"] for agent in agents if agent["name"] != AGENT]:
            raise SmokeError(
                f"the token's tenant has agents, such as {others[0]!r}; use a tenant for smoke "
                "tests alone"
            )
        for agent in agents:  # of a test that was interrupted
            self._ok("DELETE", f"/v1/agents/{agent['id']}")
        kept = {"message_days": KEPT_DAYS, "run_days": KEPT_DAYS}
        self._ok("PATCH", "/v1/settings", kept)
        return f"no lines; messages and runs expire after {KEPT_DAYS} day"

    def _signatures(self) -> str:
        """Webhooks: an unsigned request is refused."""
        for path in ("/webhooks/twilio/sms", "/webhooks/twilio/status"):
            status = self.call("POST", f"{self.url}{path}", {}).status
            if status != HTTPStatus.FORBIDDEN:
                raise SmokeError(f"an unsigned POST {path} was answered with {status}, not 403")
        return "unsigned requests are refused"

    def _new_agent(self) -> str:
        """Agent: an operator creates an agent."""
        new = {"name": AGENT, "system_prompt": PROMPT, "enabled_tools": []}
        self._agent = self._ok("POST", "/v1/agents", new)["id"]
        return f"created {self._agent}"

    def _live(self) -> str:
        """Live channel: a connection opens, and a ping is answered."""
        answer = self.call("POST", f"{self.url}/v1/live", token=self.token)
        if answer.status == HTTPStatus.NOT_FOUND:
            raise Skipped("live updates aren't set up in this deployment")
        if answer.status != HTTPStatus.CREATED:
            raise SmokeError(f"POST /v1/live answered {answer.status}: {answer.body}")
        url = f"{answer.body['url']}?ticket={answer.body['ticket']}"
        try:
            self._socket = self._open.enter_context(connect(url, open_timeout=CALL_SECONDS))
            self._socket.send(json.dumps({"type": "ping"}))
        except (OSError, WebSocketException) as error:
            raise SmokeError(f"{answer.body['url']}: {error}") from None
        self._until(lambda frame: frame["type"] == "pong")
        return "connected; a ping was answered"

    def _conversation(self) -> str:
        """Chat: a person opens a chat with the agent and posts a message."""
        member = {"kind": "agent", "id": self._agent}
        self._chat = self._ok("POST", "/v1/chats", {"kind": "direct", "members": [member]})["id"]
        message = {"text": "ping", "client_id": uuid.uuid4().hex}
        posted = self._ok("POST", f"/v1/chats/{self._chat}/messages", message)
        self._asked = posted["seq"]
        return f"posted message {self._asked} of {self._chat}"

    def _answer(self) -> str:
        """Answer: the agent's message arrives."""
        began = time.monotonic()
        path = f"/v1/chats/{self._chat}/messages?after={self._asked}"
        while (passed := time.monotonic() - began) < self.answer_seconds:
            for message in self._ok("GET", path)["items"]:
                if message["sender"]["kind"] == "agent" and message["text"]:
                    return f"{message['text'][:40]!r} after {passed:.1f} s"
            time.sleep(POLL_SECONDS)
        raise SmokeError(
            f"no answer within {self.answer_seconds:.0f} s; GET /v1/chats/{self._chat}/messages/"
            f"{self._asked}/reasons tells the reasons"
        )

    def _pushed(self) -> str:
        """Push: the live channel has shown the answer."""
        self._until(
            lambda frame: (
                frame["type"] == "message"
                and frame["chat_id"] == self._chat
                and frame["message"]["sender"]["kind"] == "agent"
            )
        )
        return "the live channel showed the answer"

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        if self._socket is None:
            raise Skipped("no live channel")
        end = time.monotonic() + FRAME_SECONDS
        try:
            while (left := end - time.monotonic()) > 0:
                frame = json.loads(self._socket.recv(left))
                if wanted(frame):
                    return
        except (OSError, WebSocketException) as error:
            raise SmokeError(f"the live channel: {error or 'no frame in time'}") from None
        raise SmokeError(f"the live channel sent no such frame within {FRAME_SECONDS:.0f} s")

    def _clean_up(self) -> str:
        """Clean-up: the chat is discarded and the agent deleted."""
        self._open.close()
        removed = []
        if self._chat:
            self._ok("DELETE", f"/v1/chats/{self._chat}")
            removed.append("chat discarded")
        if self._agent:
            self._ok("DELETE", f"/v1/agents/{self._agent}")
            removed.append("agent deleted")
        return ", ".join(removed) or "nothing to remove"


def _result(step: Callable[[], str]) -> tuple[str, str, str]:
    name = (step.__doc__ or "").split(":")[0]
    try:
        return name, step(), "ok"
    except Skipped as reason:
        return name, str(reason), "skip"
    except SmokeError as error:
        return name, str(error), "FAILED"
    except (KeyError, TypeError) as error:  # a response without the fields of the API
        return name, f"the response has another form: {error!r}", "FAILED"


def main(argv: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Print each step when it ends; return the exit status, which is 1 if a step failed."""
    if len(argv) != 1 or not argv[0].startswith(("http://", "https://")):
        print("smoke: name the URL of the API: make smoke URL=https://...", file=sys.stderr)
        return 2
    failed = False
    for name, finding, result in Smoke(argv[0].rstrip("/"), environment.get(TOKEN, "")).run():
        failed = failed or result == "FAILED"
        print(f"{result:<7}{name}: {finding}", flush=True)
    print("smoke: failed" if failed else "smoke: passed", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
