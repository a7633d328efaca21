"""The live channel: new messages once and in order, streamed answers, and lost connections."""

# Generated from async_live.py by `make client-types`.

import json
import math
import time
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from skein_client.api_types import MessageResource
from skein_client.backoff import LONGEST_SECONDS, Backoff
from skein_client.errors import ApiError, Unreachable
from skein_client.events import Connected, Drafts, Event, Lost, Message, OtherFrame
from skein_client.waits import Signal, receive

if TYPE_CHECKING:
    from skein_client.client import Client

PING_SECONDS = 120.0
POLL_SECONDS = 1.0
NOT_FOUND = 404


class Live:
    """The live channel of one person.

    Args:
        client: The API.
        seen: The highest `seq` that the app has, by chat id. If None, messages that were posted
            before `events` began are not reported.
        ping_seconds: The seconds between pings. A connection that does not answer a ping counts
            as lost.
    """

    def __init__(
        self,
        client: "Client",
        *,
        seen: Mapping[str, int] | None = None,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._client = client.with_retries(0)  # a lost connection is reported at once
        self._seen = None if seen is None else dict(seen)
        self._ping_seconds = ping_seconds
        self._drafts = Drafts()
        self._stopped = Signal()
        self._socket: ClientConnection | None = None
        self._shown: str | None = None
        self._ends = math.inf

    @property
    def seen(self) -> Mapping[str, int]:
        """By chat id, the `seq` up to which all messages were reported; save it for a restart."""
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
        """Report which chat the app shows; the person's phones get no notifications about it."""
        self._shown = chat_id
        self._send({"type": "showing", "chat_id": chat_id})

    def _send(self, frame: Mapping[str, str | None]) -> None:
        socket = self._socket
        if socket is not None:
            try:
                socket.send(json.dumps(frame))
            except WebSocketException:
                return  # the loop of `events` reports the lost connection

    @property
    def _over(self) -> bool:
        return self._stopped.is_set() or time.monotonic() >= self._ends

    def events(self, *, seconds: float | None = None) -> Generator[Event]:
        """Yield the channel's events, and connect again after each lost connection, until `stop`.

        Args:
            seconds: After how many seconds to end; None for no end.

        Raises:
            ApiError: The token was refused (`needs_sign_in`).
        """
        self._ends = math.inf if seconds is None else time.monotonic() + seconds
        backoff = Backoff()
        while not self._over:
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
            pause = max(backoff.seconds(), at_least)
            self._stopped.wait(min(pause, max(self._ends - time.monotonic(), 0.0)))

    def _listen(self) -> Iterator[Event]:
        if self._seen is None:
            chats = self._client.chats.list()
            self._seen = {chat["id"]: chat["last_seq"] for chat in chats}
        ticket = self._client.ticket()
        address = f"{ticket['url']}?ticket={ticket['ticket']}"
        with connect(address, ping_interval=None) as socket:
            self._socket = socket
            try:
                if self._shown is not None:
                    self.showing(self._shown)
                # Frames that arrive meanwhile wait in the connection.
                for chat in self._client.chats.list():
                    if chat["last_seq"] > self._seen.get(chat["id"], 0):
                        yield from self._missed(chat["id"])
                yield Connected()
                yield from self._frames(socket)
            finally:
                self._socket = None

    def _frames(self, socket: ClientConnection) -> Iterator[Event]:
        heard, pinged = time.monotonic(), False
        while not self._over:
            wait = min(POLL_SECONDS, self._ping_seconds, self._ends - time.monotonic())
            try:
                frame = json.loads(receive(socket, max(wait, 0.0)))
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
        yield from self._drafts.take(frame)
        match frame["type"]:
            case "message":
                yield from self._new(frame["message"])
            case "resync":
                yield from self._missed(frame["chat_id"])
            case "delta" | "retract" | "pong":
                return
            case _:
                yield OtherFrame(frame)

    def _new(self, message: MessageResource) -> Iterator[Event]:
        """Report a pushed message; if messages before it are missing, read them first."""
        if message["seq"] > self.seen.get(message["chat_id"], 0) + 1:
            yield from self._missed(message["chat_id"])
        else:
            yield from self._report(message)

    def _missed(self, chat_id: str) -> Iterator[Event]:
        try:
            seen = self.seen.get(chat_id, 0)
            for message in self._client.messages.list(chat_id, after=seen):
                yield from self._report(message)
        except ApiError as error:
            if error.status != NOT_FOUND:  # a chat that the person has left is no lost connection
                raise

    def _report(self, message: MessageResource) -> Iterator[Event]:
        chat_id = message["chat_id"]
        if self._seen is None or message["seq"] <= self._seen.get(chat_id, 0):
            return
        sender = cast("Mapping[str, Any]", message["sender"])
        yield from self._drafts.void(chat_id, sender, ended=True)
        self._seen[chat_id] = message["seq"]
        yield Message(message)
