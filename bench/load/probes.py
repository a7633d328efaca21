"""Probes: how long the jobs of each queue take, as the people of one tenant see it.

A round posts a message in the app, sends a text and a picture, and erases a person. For each of
them, it measures the time until people or operators see the result.
"""

import hashlib
import json
import threading
import time
import urllib.request
from base64 import b64decode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from bench.api import Api
from bench.load.people import PICTURE, TENANT
from local.config import LOOPBACK
from local.demo import LINE
from local.events import Request, Response, json_response
from local.web.server import Server

PERSON, PHONE = "usr-probe", "+14155559000"
LOOK_SECONDS = 0.05
MAX_WAIT_SECONDS = 60.0  # a probe that takes longer counts as long
PROBES: Mapping[str, str] = {
    "a message is answered": "turns",
    "a text is answered on the phone": "deliveries",
    "a message is found": "upkeep",
    "a picture is ready": "media",
    "an endpoint is told": "events",
    "a frame arrives": "pushes",
    "a person is erased": "background",
}
"""What is measured, each with the queue that it waits for last."""


class Seen:
    """What has arrived so far, with the times."""

    def __init__(self) -> None:
        self._at: dict[tuple[object, ...], float] = {}
        self._changed = threading.Condition()

    def add(self, *what: object) -> None:
        """Note that something has arrived, if it has not arrived before."""
        with self._changed:
            self._at.setdefault(what, time.monotonic())
            self._changed.notify_all()

    def at(self, *what: object, give_up: float) -> float:
        """Return the time when something arrived, or `give_up` if it has not arrived by then."""
        with self._changed:
            self._changed.wait_for(lambda: what in self._at, max(0.0, give_up - time.monotonic()))
            return self._at.get(what, give_up)


class Probes:
    """Context manager with the person who sends probes, and the person's chats and connection."""

    def __init__(self, url: str) -> None:
        self._api = Api(url, TENANT)
        self._seen = Seen()
        self._server = Server(0, self._told)
        self._rounds = 0
        self._socket: ClientConnection
        self._reader = threading.Thread(target=self._read, name="frames", daemon=True)

    def __enter__(self) -> Self:
        self._server.start()
        self._operator = self._api.token("operator", "admin")
        unlimited = {"user_messages_per_minute": 0, "user_reads_per_minute": 0}
        self._api.ok("PATCH", "/v1/settings", unlimited, token=self._operator)
        self._create("/v1/users", {"id": PERSON, "name": "Probe"})
        url = f"http://{LOOPBACK}:{self._server.port}"
        self._create("/v1/event-endpoints", {"url": url, "types": ["message.created"]})
        self._token = self._api.token(PERSON)
        agents = self._api.ok("GET", "/v1/agents", token=self._operator)["items"]
        direct = {"kind": "direct", "members": [{"kind": "agent", "id": agents[0]["id"]}]}
        self._direct = self._call("POST", "/v1/chats", direct)["id"]
        alone = {"kind": "group", "title": "Pictures", "visibility": "private", "members": []}
        self._album = self._call("POST", "/v1/chats", alone)["id"]
        ticket = self._call("POST", "/v1/live", {})
        self._socket = connect(f"{ticket['url']}?ticket={ticket['ticket']}")
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
        self._server.stop()

    def round(self) -> dict[str, float]:
        """Send all four probes of a round at the same time; return the seconds that each took."""
        self._rounds += 1
        parts = (self._message, self._text, self._picture, self._erasure)
        with ThreadPoolExecutor(len(parts)) as pool:
            asked = [pool.submit(part) for part in parts]
        seconds = dict.fromkeys(PROBES, MAX_WAIT_SECONDS)
        for each in asked:
            with suppress(OSError):  # a request got no response in time
                seconds |= each.result()
        return seconds

    def _call(self, method: str, path: str, body: object = None) -> Any:
        return self._api.ok(method, path, body, token=self._token)

    def _create(self, path: str, body: object) -> Any:
        return self._api.ok("POST", path, body, token=self._operator)

    # ------------------------------------------------------------------ what is measured

    def _message(self) -> dict[str, float]:
        marker = f"u001-{self._rounds}-1"
        path = f"/v1/chats/{self._direct}/messages"
        begun = time.monotonic()
        posted = self._call("POST", path, {"text": f"Probe {marker}.", "client_id": marker})
        seq, give_up = int(posted["seq"]), begun + MAX_WAIT_SECONDS
        found = f"/v1/me/messages?q={quote(marker)}"
        return {
            "a message is found": self._until(lambda: marker in str(self._call("GET", found)))
            - begun,
            "a frame arrives": self._seen.at("frame", self._direct, seq, give_up=give_up) - begun,
            "an endpoint is told": self._seen.at("event", self._direct, seq, give_up=give_up)
            - begun,
            "a message is answered": self._seen.at("answer", marker, give_up=give_up) - begun,
        }

    def _text(self) -> dict[str, float]:
        marker = f"p001-{self._rounds}-1"
        sms = {"from": PHONE, "to": LINE, "body": f"Probe {marker}.", "message_sid": f"SM-{marker}"}
        begun = time.monotonic()
        self._api.ok("POST", "/local/sms", sms)
        path = f"/local/sms?to={quote(PHONE)}"
        answered = self._until(lambda: f"heard {marker}." in str(self._api.ok("GET", path)))
        return {"a text is answered on the phone": answered - begun}

    def _picture(self) -> dict[str, float]:
        media_id = upload(self._api, self._token, self._album, b64decode(PICTURE["data"]))
        path = f"/v1/chats/{self._album}/messages"
        begun = time.monotonic()
        client_id = f"picture-{self._rounds}"
        posted = self._call("POST", path, {"media": [media_id], "client_id": client_id})
        newest = f"{path}?after={int(posted['seq']) - 1}"
        ready = self._until(lambda: "'state': 'ready'" in str(self._call("GET", newest)))
        return {"a picture is ready": ready - begun}

    def _erasure(self) -> dict[str, float]:
        person = f"usr-gone-{self._rounds}"
        self._create("/v1/users", {"id": person, "name": "Gone"})
        begun = time.monotonic()
        erasure = self._api.ok("DELETE", f"/v1/users/{person}", token=self._operator)
        path = f"/v1/erasures/{erasure['id']}"
        swept = self._until(lambda: self._api.ok("GET", path, token=self._operator)["sweeps"])
        return {"a person is erased": swept - begun}

    @staticmethod
    def _until(holds: Callable[[], object]) -> float:
        """Return the time when a condition became true, or the end of the waiting time.

        The condition is checked twenty times a second.
        """
        give_up = time.monotonic() + MAX_WAIT_SECONDS
        while not holds():
            if time.monotonic() > give_up:
                return give_up
            time.sleep(LOOK_SECONDS)
        return time.monotonic()

    # ------------------------------------------------------------------ what arrives

    def _told(self, request: Request) -> Response:
        data = json.loads(request.body)["data"]
        self._seen.add("event", data["chat_id"], data["seq"])
        return json_response(HTTPStatus.OK, {})

    def _read(self) -> None:
        try:
            for text in self._socket:
                frame = json.loads(text)
                message = frame.get("message", {})
                if frame["type"] == "message":
                    self._seen.add("frame", frame["chat_id"], message["seq"])
                    if message["sender"]["kind"] == "agent":
                        marker = str(message["text"]).rpartition("heard ")[2].rstrip(".")
                        self._seen.add("answer", marker)
        except ConnectionClosed:
            return


def upload(api: Api, token: str, chat_id: str, content: bytes, kind: str = "image/png") -> str:
    """Upload a picture for a chat, and return its id."""
    asked = {"chat_id": chat_id, "type": kind, "bytes": len(content)}
    asked |= {"sha256": hashlib.sha256(content).hexdigest()}
    begun = api.ok("POST", "/v1/media", asked, token=token)
    request = urllib.request.Request(  # noqa: S310 - loopback
        begun["url"], content, begun["headers"], method=begun["method"]
    )
    with urllib.request.urlopen(request):  # noqa: S310
        return str(begun["id"])
