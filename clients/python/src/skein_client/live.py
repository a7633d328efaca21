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
from skein_client.client import Client
from skein_client.errors import ApiError, Unreachable

PING_SECONDS = 120.0
POLL_SECONDS = 1.0
NOT_FOUND = 404


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
        self._drafts: dict[tuple[str, str], tuple[Draft, int]] = {}

    def add(self, frame: Mapping[str, Any]) -> Iterator[Draft]:
        """Take a `delta` frame; one that is repeated, or after a gap, changes nothing."""
        chat_id, agent, n, text = frame["chat_id"], frame["agent"], frame["n"], frame["text"]
        key = chat_id, agent["id"]
        begun, last = self._drafts.get(key, (None, -1))
        if n == 1:
            grown = Draft(chat_id, agent, text)
        elif begun is not None and n == last + 1:
            grown = Draft(chat_id, agent, begun.text + text)
        else:
            return
        self._drafts[key] = grown, n
        if grown != begun:
            yield grown

    def void(self, chat_id: str, agent: Mapping[str, Any]) -> Iterator[Draft]:
        """Void the draft of an agent in a chat, if there is one."""
        if self._drafts.pop((chat_id, agent["id"]), None) is not None:
            yield Draft(chat_id, agent, "")

    def void_all(self) -> Iterator[Draft]:
        """Void all drafts."""
        for draft, _ in list(self._drafts.values()):
            yield from self.void(draft.chat_id, draft.agent)


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
        self._client = client.with_retries(0)  # a lost connection is reported at once
        self._seen = None if seen is None else dict(seen)
        self._ping_seconds = ping_seconds
        self._drafts = Drafts()
        self._stopped = threading.Event()
        self._socket: ClientConnection | None = None
        self._shown: str | None = None

    @property
    def seen(self) -> Mapping[str, int]:
        """By chat id, the highest `seq` that was reported or is older; keep it for a restart."""
        return dict(self._seen or {})

    def stop(self) -> None:
        """End `events`, from any thread."""
        self._stopped.set()
        socket = self._socket
        if socket is not None:
            socket.close()

    def typing(self, chat_id: str) -> None:
        """Tell the others in a chat that the person is typing, if the connection is open."""
        self._send({"type": "typing", "chat_id": chat_id})

    def showing(self, chat_id: str | None) -> None:
        """Say which chat the app shows, or none: the person's phones do not ring for it."""
        self._shown = chat_id
        self._send({"type": "showing", "chat_id": chat_id})

    def _send(self, frame: Mapping[str, str | None]) -> None:
        socket = self._socket
        if socket is not None:
            try:
                socket.send(json.dumps(frame))
            except WebSocketException:
                return  # the loop of `events` reports the lost connection

    def events(self) -> Iterator[Event]:
        """Yield what happens, and connect again after each lost connection, until `stop`.

        Raises:
            ApiError: The token was refused (`needs_sign_in`).
        """
        backoff = Backoff()
        while not self._stopped.is_set():
            began, at_least = time.monotonic(), 0.0
            try:
                yield from self._listen()
            except (ApiError, Unreachable, WebSocketException, OSError) as error:
                if isinstance(error, ApiError):
                    if error.needs_sign_in:
                        raise
                    at_least = error.retry_after or 0.0
                if self._stopped.is_set():
                    return
                yield from self._drafts.void_all()
                yield Lost(error)
            if time.monotonic() - began > LONGEST_SECONDS:
                backoff.reset()
            self._stopped.wait(max(backoff.seconds(), at_least))

    def _listen(self) -> Iterator[Event]:
        if self._seen is None:
            self._seen = {chat["id"]: chat["last_seq"] for chat in self._client.chats.list()}
        ticket = self._client.ticket()
        with connect(f"{ticket['url']}?ticket={ticket['ticket']}", ping_interval=None) as socket:
            self._socket = socket
            try:
                if self._shown is not None:
                    self.showing(self._shown)
                # Frames that arrive meanwhile wait in the connection.
                for chat in list(self._client.chats.list()):
                    if chat["last_seq"] > self._seen.get(chat["id"], 0):
                        yield from self._missed(chat["id"])
                yield Connected()
                yield from self._frames(socket)
            finally:
                self._socket = None

    def _frames(self, socket: ClientConnection) -> Iterator[Event]:
        heard, pinged = time.monotonic(), False
        while not self._stopped.is_set():
            try:
                frame = json.loads(socket.recv(timeout=min(POLL_SECONDS, self._ping_seconds)))
            except TimeoutError:
                silent = time.monotonic() - heard
                if silent > 2 * self._ping_seconds:
                    raise Unreachable("no answer to a ping") from None
                if silent > self._ping_seconds and not pinged:
                    socket.send('{"type": "ping"}')
                    pinged = True
                continue
            yield from self._handle(frame)
            # After the frame was handled: the app may have taken longer than a pause between pings.
            heard, pinged = time.monotonic(), False

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
        try:
            for message in self._client.messages.list(chat_id, after=self.seen.get(chat_id, 0)):
                yield from self._report(message)
        except ApiError as error:
            if error.status != NOT_FOUND:  # a chat that the person has left is no lost connection
                raise

    def _report(self, message: MessageResource) -> Iterator[Event]:
        chat_id = message["chat_id"]
        if self._seen is None or message["seq"] <= self._seen.get(chat_id, 0):
            return
        yield from self._drafts.void(chat_id, cast("Mapping[str, Any]", message["sender"]))
        self._seen[chat_id] = message["seq"]
        yield Message(message)
