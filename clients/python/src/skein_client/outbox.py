"""Messages that wait until the API has accepted them, also while the device is offline."""

import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from skein_client.api_types import MessageResource, NewChatMessage
from skein_client.backoff import Backoff
from skein_client.client import Client
from skein_client.errors import ApiError, Unreachable

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """A message that waits.

    Attributes:
        chat_id: The chat.
        client_id: The idempotency key: posting the message again creates no second message.
        text: The text.
        reply_to: The `seq` of the message that this message answers, or None.
    """

    chat_id: str
    client_id: str
    text: str
    reply_to: int | None = None


class Storage(Protocol):
    """Storage of the messages that wait."""

    def load(self) -> Sequence[Entry]:
        """Return the messages that were saved last, oldest first."""

    def save(self, entries: Sequence[Entry]) -> None:
        """Save all waiting messages, oldest first, so that they survive the end of the process."""


class MemoryStorage:
    """Storage of waiting messages in memory, which ends with the process."""

    def __init__(self) -> None:
        self._entries: tuple[Entry, ...] = ()

    def load(self) -> Sequence[Entry]:
        return self._entries

    def save(self, entries: Sequence[Entry]) -> None:
        self._entries = tuple(entries)


class FileStorage:
    """Storage of waiting messages in a file that only its owner can read.

    Args:
        path: The file; one outbox at a time may use it.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self) -> Sequence[Entry]:
        """Return the messages of the file; empty if the file does not exist."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        return tuple(Entry(**each) for each in json.loads(text))

    def save(self, entries: Sequence[Entry]) -> None:
        """Replace the file; a crash leaves the old file or the new one."""
        draft = self._path.with_name(f"{self._path.name}.new")
        text = json.dumps([asdict(entry) for entry in entries])
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)


class Outbox:
    """Posts messages in the order of each chat, until the API has accepted each one.

    A message is saved before it is sent, and forgotten after its response. It keeps its
    `client_id`, so a lost response leads to no second message.

    Args:
        client: The API.
        storage: Where messages wait.
        on_posted: Called with each message that was accepted.
        on_refused: Called with each message that the API will never accept, and the error.
        on_sign_in: Called when the token was refused. The messages keep waiting; call `wake`
            once the client has a new token.
    """

    def __init__(
        self,
        client: Client,
        storage: Storage,
        *,
        on_posted: Callable[[MessageResource], None] = lambda _: None,
        on_refused: Callable[[Entry, ApiError], None] = lambda _entry, _error: None,
        on_sign_in: Callable[[ApiError], None] = lambda _: None,
    ) -> None:
        self._client, self._storage = client.with_retries(0), storage  # the outbox repeats them
        self._on_posted, self._on_refused, self._on_sign_in = on_posted, on_refused, on_sign_in
        self._entries = list(storage.load())
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._awake, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> Sequence[Entry]:
        """The messages that the API has not accepted yet, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def add(self, chat_id: str, text: str, *, reply_to: int | None = None) -> Entry:
        """Save a message that will be sent; works offline."""
        entry = Entry(chat_id, uuid4().hex, text, reply_to)
        with self._lock:
            self._storage.save([*self._entries, entry])
            self._entries.append(entry)
        self._awake.set()
        return entry

    def wake(self) -> None:
        """Try again now, for example because the device is online or the token is new.

        A pause that the API asks for (`Retry-After`) is kept.
        """
        self._awake.set()

    def start(self) -> None:
        """Send in the background, with growing pauses after failures, until `stop`."""
        self._thread = threading.Thread(target=self._run, name="skein-outbox", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the background work; messages that wait stay in the storage."""
        self._stopped.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join()

    def flush(self) -> None:
        """Send the waiting messages. If a message fails for now, later ones of its chat wait, too.

        Raises:
            ApiError: The token was refused, or messages failed for now. Of several errors, the one
                with the longest `retry_after` is raised.
            Unreachable: The API could not be reached.
            OSError: The storage failed. A message that was posted may still be waiting, with the
                same `client_id`.
        """
        delayed: dict[str, ApiError] = {}
        with self._sending:
            for entry in self.waiting:
                if entry.chat_id in delayed:
                    continue
                try:
                    posted = self._client.messages.send(entry.chat_id, _body(entry))
                except ApiError as error:
                    if error.needs_sign_in:
                        raise
                    if error.is_temporary:
                        delayed[entry.chat_id] = error
                        continue
                    self._forget(entry)
                    self._on_refused(entry, error)
                else:
                    self._forget(entry)
                    self._on_posted(posted)
        if delayed:
            raise max(delayed.values(), key=lambda error: error.retry_after or 0.0)

    def _forget(self, entry: Entry) -> None:
        with self._lock:
            kept = [each for each in self._entries if each != entry]
            self._storage.save(kept)
            self._entries = kept

    def _run(self) -> None:
        backoff = Backoff()
        while True:
            self._awake.clear()
            if self._stopped.is_set():
                return
            pause: float | None = None
            try:
                self.flush()
                backoff.reset()
            except Unreachable:
                pause = backoff.seconds()
            except OSError:
                _log.exception("the outbox's storage failed; the outbox tries again")
                pause = backoff.seconds()
            except ApiError as error:
                if error.needs_sign_in:
                    self._on_sign_in(error)
                else:
                    at_least = error.retry_after or 0.0
                    pause = max(backoff.seconds() - at_least, 0.0)
                    self._stopped.wait(at_least)  # `add` and `wake` do not end this pause
            self._awake.wait(pause)


def _body(entry: Entry) -> NewChatMessage:
    body: NewChatMessage = {"text": entry.text, "client_id": entry.client_id}
    if entry.reply_to is not None:
        body["reply_to"] = entry.reply_to
    return body
