"""The live channel: new messages once and in order, streamed answers, and lost connections."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from skein_client.api_types import MessageResource
from skein_client.backoff import LONGEST_SECONDS, Backoff
from skein_client.client import ApiError, Client, Unreachable

PING_SECONDS = 120.0
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Connected:
    """The connection is open, and the messages that were missed have been read."""


@dataclass(frozen=True)
class Lost:
    """The connection was lost; a new one follows.

    Attributes:
        error: Why.
    """

    error: Exception


@dataclass(frozen=True)
class Message:
    """A new message: each one once, in the order of `seq` within its chat."""

    message: MessageResource


@dataclass(frozen=True)
class Draft:
    """The words of an answer that an agent is writing.

    Attributes:
        chat_id: The chat.
        agent: The agent, with `id` and `name`.
        text: All words so far; "" if the draft is void. The message that follows is authoritative.
    """

    chat_id: str
    agent: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class OtherFrame:
    """Any other frame, as it arrived: `changed`, `run`, `read`, `typing`, `chat`, `closing`."""

    frame: Mapping[str, Any]


Event = Connected | Lost | Message | Draft | OtherFrame


class Drafts:
    """The words of the answers that agents are writing."""

    def __init__(self) -> None:
        self._words: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, frame: Mapping[str, Any]) -> Iterator[Draft]:
        """Take a `delta` frame; one that is repeated, or after a gap, changes nothing."""
        key, n = (frame["chat_id"], frame["agent"]["id"]), frame["n"]
        words, last = ("", 0) if n == 1 else self._words.get(key, ("", -1))
        if n == last + 1:
            self._words[key] = words + frame["text"], n
            yield Draft(frame["chat_id"], frame["agent"], words + frame["text"])

    def void(self, chat_id: str, agent: Mapping[str, Any]) -> Iterator[Draft]:
        """Void the draft of an agent in a chat, if there is one."""
        if self._words.pop((chat_id, agent["id"]), None) is not None:
            yield Draft(chat_id, agent, "")


class Live:
    """The live channel of one person.

    Args:
        client: The API.
        seen: By chat id, the highest `seq` that the app has. None: report no message that was
            posted before `events` began.
        ping_seconds: The pause between pings; a connection without an answer to one is lost.
    """

    def __init__(
        self,
        client: Client,
        *,
        seen: Mapping[str, int] | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._client = client
        self._seen = None if seen is None else dict(seen)
        self._ping_seconds = ping_seconds
        self._drafts = Drafts()
        self._stopped = threading.Event()
        self._socket: ClientConnection | None = None

    @property
    def seen(self) -> Mapping[str, int]:
        """By chat id, the highest `seq` that was reported or is older; keep it for a restart."""
        return dict(self._seen or {})

    def stop(self) -> None:
        """End `events`, from any thread."""
        self._stopped.set()
        if self._socket is not None:
            self._socket.close()

    def typing(self, chat_id: str) -> None:
        """Tell the others in a chat that the person is typing, if the connection is open."""
        if self._socket is not None:
            try:
                self._socket.send(json.dumps({"type": "typing", "chat_id": chat_id}))
            except WebSocketException:
                return  # the loop of `events` reports the lost connection

    def events(self) -> Iterator[Event]:
        """Yield what happens, and connect again after each lost connection, until `stop`.

        Raises:
            ApiError: The token was refused (`needs_sign_in`).
        """
        backoff = Backoff()
        while not self._stopped.is_set():
            began = time.monotonic()
            try:
                yield from self._listen()
            except (ApiError, Unreachable, WebSocketException, OSError) as error:
                if isinstance(error, ApiError) and error.needs_sign_in:
                    raise
                if self._stopped.is_set():
                    return
                yield Lost(error)
            if time.monotonic() - began > LONGEST_SECONDS:
                backoff.reset()
            self._stopped.wait(backoff.seconds())

    def _listen(self) -> Iterator[Event]:
        if self._seen is None:
            self._seen = {chat["id"]: chat["last_seq"] for chat in self._client.chats()}
        ticket = self._client.ticket()
        with connect(f"{ticket['url']}?ticket={ticket['ticket']}", ping_interval=None) as socket:
            self._socket = socket
            try:
                # Frames that arrive meanwhile wait in the connection.
                for chat in list(self._client.chats()):
                    yield from self._missed(chat["id"])
                yield Connected()
                yield from self._frames(socket)
            finally:
                self._socket = None

    def _frames(self, socket: ClientConnection) -> Iterator[Event]:
        heard = pinged = time.monotonic()
        while not self._stopped.is_set():
            now = time.monotonic()
            if now > heard + 2 * self._ping_seconds:
                raise Unreachable("no answer to a ping")
            if now > pinged + self._ping_seconds:
                socket.send('{"type": "ping"}')
                pinged = now
            try:
                frame = json.loads(socket.recv(timeout=min(POLL_SECONDS, self._ping_seconds)))
            except TimeoutError:
                continue
            heard = time.monotonic()
            yield from self._handle(frame)

    def _handle(self, frame: Mapping[str, Any]) -> Iterator[Event]:
        match frame["type"]:
            case "message":
                yield from self._new(frame["message"])
            case "resync":
                yield from self._missed(frame["chat_id"])
            case "delta":
                yield from self._drafts.add(frame)
            case "retract":
                yield from self._drafts.void(frame["chat_id"], frame["agent"])
            case "pong":
                return
            case _:
                if frame["type"] == "run" and frame["status"] in {"done", "failed"}:
                    yield from self._drafts.void(frame["chat_id"], frame["agent"])
                yield OtherFrame(frame)

    def _new(self, message: MessageResource) -> Iterator[Event]:
        """Report a pushed message; if messages before it are missing, read them first."""
        if message["seq"] > self.seen.get(message["chat_id"], 0) + 1:
            yield from self._missed(message["chat_id"])
        else:
            yield from self._report(message)

    def _missed(self, chat_id: str) -> Iterator[Event]:
        for message in self._client.messages(chat_id, after=self.seen.get(chat_id, 0)):
            yield from self._report(message)

    def _report(self, message: MessageResource) -> Iterator[Event]:
        chat_id = message["chat_id"]
        if self._seen is None or message["seq"] <= self._seen.get(chat_id, 0):
            return
        yield from self._drafts.void(chat_id, cast("Mapping[str, Any]", message["sender"]))
        self._seen[chat_id] = message["seq"]
        yield Message(message)
