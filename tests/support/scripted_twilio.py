"""A Twilio on loopback that a test can make fail: slow, rude, silent, or gone in mid-sentence."""

import base64
import json
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.twilio_description import UnknownToTwilioError, check_answer, check_request

ACCOUNT = {"account_sid": "AC00000000000000000000000000000001", "auth_token": "token-of-a-test"}
PREFIX = "/local/twilio"
RESOURCES = f"{PREFIX}/2010-04-01/Accounts/{ACCOUNT['account_sid']}"
SENDERS = f"{PREFIX}/v2/Channels/Senders"
PATHS = {f"{RESOURCES}/{name}.json" for name in ("Messages", "IncomingPhoneNumbers")} | {SENDERS}
LOOKUP = f"{PREFIX}/v2/PhoneNumbers/"
LOGIN = "Basic " + base64.b64encode(":".join(ACCOUNT.values()).encode()).decode()


@dataclass(frozen=True)
class Misbehaviour:
    """What goes wrong with one request.

    Attributes:
        status: The HTTP status to answer with; 0 to close the connection without an answer.
        body: What is answered; a mapping in JSON.
        seconds: How long nothing is said before that.
        after_effect: Whether the text is taken all the same.
    """

    status: int = 0
    body: str | Mapping[str, Any] = ""
    seconds: float = 0
    after_effect: bool = False


@dataclass
class ScriptedTwilio:
    """The messages and numbers of Twilio's REST API, without a phone network behind it.

    Attributes:
        now: The time by its clock.
        requests: The method, the form or query, and the headers of each request.
        taken: Every text that it took.
        numbers: The numbers of the account.
        reassigned: The day on which each number got a new owner.
        senders: The account's senders of WhatsApp.
        templates: The bodies of the account's templates, by id.
    """

    now: datetime = datetime(2026, 2, 18, 12, 0, tzinfo=UTC)
    requests: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)
    numbers: tuple[str, ...] = ("+15005550006", "+150055500061")
    reassigned: dict[str, date] = field(default_factory=dict)
    senders: tuple[str, ...] = ("whatsapp:+15005550006",)
    templates: dict[str, str] = field(default_factory=dict)
    _script: deque[Misbehaviour] = field(default_factory=deque)

    def __enter__(self) -> Self:
        self._patience = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._patience.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """What stands for `https://api.twilio.com`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{PREFIX}"

    def then(self, *script: Misbehaviour) -> Self:
        """Let the next requests go wrong like this, in order."""
        self._script.extend(script)
        return self

    def resource(self, form: Mapping[str, str], sid: str) -> dict[str, Any]:
        """A message as Twilio shows it."""
        at = format_datetime(self.now)
        return {
            "sid": sid,
            "account_sid": ACCOUNT["account_sid"],
            "to": form["To"],
            "from": form["From"],
            "body": self._body(form),
            "status": "queued",
            "date_created": at,
            "date_updated": at,
            "date_sent": None,
            "error_code": None,
            "error_message": None,
            "num_media": str(int("MediaUrl" in form)),
            "num_segments": "1",
        }

    def _body(self, form: Mapping[str, str]) -> str:
        if "ContentSid" not in form:
            return form.get("Body", "")
        first = json.loads(form["ContentVariables"])["1"]
        return self.templates[form["ContentSid"]].replace("{{1}}", first)

    def _look_up(self, phone: str, values: Mapping[str, str]) -> tuple[int, Any]:
        assert values["Fields"] == "reassigned_number"
        new_owner = self.reassigned.get(phone)
        since = date.fromisoformat(values["LastVerifiedDate"])
        known = "no_data_available" if new_owner is None else "yes" if new_owner > since else "no"
        return 200, {"phone_number": phone, "reassigned_number": {"is_number_reassigned": known}}

    def _answer(self, method: str, values: Mapping[str, str]) -> tuple[int, Any]:
        if "Channel" in values:
            return 200, {"senders": [{"sender_id": each} for each in self.senders]}
        if "PhoneNumber" in values:
            digits = values["PhoneNumber"].removeprefix("+")
            numbers = [{"phone_number": each} for each in self.numbers if digits in each]
            return 200, {"incoming_phone_numbers": numbers, "next_page_uri": None}
        if method == "GET":
            found = [
                t for t in self.taken if (t["to"], t["from"]) == (values["To"], values["From"])
            ]
            return 200, {"messages": found[::-1], "page_size": 100, "next_page_uri": None}
        taken = self.resource(values, f"SM{len(self.taken) + 1:032x}")
        self.taken.append(taken)
        return 201, taken

    def _next(self) -> Misbehaviour | None:
        return self._script.popleft() if self._script else None


class _Handler(BaseHTTPRequestHandler):
    """One connection; a class of its own for each server has the `owner`."""

    owner: ScriptedTwilio
    protocol_version = "HTTP/1.1"
    # Otherwise a client that keeps its connection waits 40 ms for the body of an answer.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._take("GET", urlsplit(self.path).query)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        self._take("POST", self.rfile.read(length).decode())

    def _take(self, method: str, text: str) -> None:
        fields = parse_qsl(text, keep_blank_values=True)
        values = dict(fields)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.requests.append((method, values, headers))
        path = urlsplit(self.path).path
        looks_up = path.startswith(LOOKUP)
        if (path not in PATHS and not looks_up) or headers.get("authorization") != LOGIN:
            self._say(401, {"code": 20003, "message": "Authenticate", "status": 401})
        elif (wrong := self.owner._next()) is not None:
            self._misbehave(wrong, method, values)
        elif looks_up:
            self._say(*self.owner._look_up(unquote(path.removeprefix(LOOKUP)), values))
        else:
            self._say_as_described(method, path, fields)

    def _say_as_described(self, method: str, path: str, fields: list[tuple[str, str]]) -> None:
        """Answer; a request or an answer that Twilio does not describe is a refusal."""
        try:
            check_request(method, path, fields)
            status, body = self.owner._answer(method, dict(fields))
            check_answer(method, path, status, body)
        except UnknownToTwilioError as error:
            status, body = 400, {"code": 20001, "message": str(error), "status": 400}
        self._say(status, body)

    def _misbehave(self, wrong: Misbehaviour, method: str, values: Mapping[str, str]) -> None:
        if wrong.after_effect:
            self.owner._answer(method, values)
        self.owner._patience.wait(wrong.seconds)
        if wrong.status:
            self._say(wrong.status, wrong.body)
        self.close_connection = True

    def _say(self, status: int, body: Any) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if self.close_connection:  # the client asked for it; without this it uses it again
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Stay silent."""

    def handle(self) -> None:
        """Serve; a client that has gone away is none of the test's business."""
        with suppress(ConnectionError):
            super().handle()
