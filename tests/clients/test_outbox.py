"""The outbox of the Python client: order, client ids, pauses, and the end of the process."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from skein_client import ApiError, Client, Entry, FileStorage, MemoryStorage, Outbox, Unreachable
from skein_client.api_types import MessageResource, NewChatMessage
from tests.support.scripted_api import ScriptedApi

pytestmark = pytest.mark.usefixtures("_short_pauses")
SECONDS = 20.0


class Api(Client):
    """An API that answers with what a test scripts."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", "token")
        self.errors: dict[str, Exception] = {}
        self.tried: list[tuple[str, str]] = []

    def call(self, method: str, path: str, body: Any = None, query: Any = None) -> Any:
        """Raise the error of the text, or else accept the message."""
        new: NewChatMessage = body
        text, chat_id = new["text"] or "", path.split("/")[3]
        self.tried.append((text, new["client_id"]))
        if text in self.errors:
            raise self.errors[text]
        return MessageResource(**{**new, "chat_id": chat_id})  # type: ignore[typeddict-item]


def texts(entries: object) -> list[str]:
    return [entry.text for entry in entries]  # type: ignore[attr-defined]


def test_outbox_offline_keeps_order_and_client_ids_for_the_next_process(tmp_path: Path) -> None:
    api, path = Api(), tmp_path / "outbox.json"
    outbox = Outbox(api, FileStorage(path))
    first, second = outbox.add("chat_1", "one"), outbox.add("chat_1", "two", reply_to=3)
    api.errors["one"] = Unreachable("offline")
    with pytest.raises(Unreachable):
        outbox.flush()
    assert api.tried == [("one", first.client_id)]
    assert path.stat().st_mode & 0o777 == 0o600
    api.errors.clear()
    later = Outbox(api, FileStorage(path))
    assert later.waiting == (first, second)
    later.flush()
    assert api.tried[1:] == [("one", first.client_id), ("two", second.client_id)]
    assert FileStorage(path).load() == ()


def test_outbox_delayed_message_holds_back_its_chat_only() -> None:
    api = Api()
    outbox = Outbox(api, MemoryStorage())
    for chat, text in (("a", "a1"), ("a", "a2"), ("b", "b1")):
        outbox.add(chat, text)
    api.errors["a1"] = ApiError(429, "rate_limited", "slow down", 3.0)
    with pytest.raises(ApiError, match="slow down"):
        outbox.flush()
    assert [text for text, _ in api.tried] == ["a1", "b1"]
    assert texts(outbox.waiting) == ["a1", "a2"]


def test_outbox_refused_message_is_reported_and_does_not_hold_back_the_next() -> None:
    api, refused = Api(), list[Entry]()
    outbox = Outbox(api, MemoryStorage(), on_refused=lambda entry, _: refused.append(entry))
    outbox.add("a", "too long")
    outbox.add("a", "fine")
    api.errors["too long"] = ApiError(422, "unprocessable", "too long", None)
    outbox.flush()
    assert texts(refused) == ["too long"]
    assert outbox.waiting == ()


def test_outbox_with_refused_token_keeps_all_messages() -> None:
    api = Api()
    outbox = Outbox(api, MemoryStorage())
    outbox.add("a", "one")
    api.errors["one"] = ApiError(401, "unauthenticated", "expired", None)
    with pytest.raises(ApiError):
        outbox.flush()
    assert texts(outbox.waiting) == ["one"]


def test_outbox_delayed_chats_raise_the_error_with_the_longest_pause() -> None:
    api = Api()
    outbox = Outbox(api, MemoryStorage())
    outbox.add("a", "a1")
    outbox.add("b", "b1")
    api.errors["a1"] = ApiError(503, "unavailable", "later", None)
    api.errors["b1"] = ApiError(429, "rate_limited", "slow down", 30.0)
    with pytest.raises(ApiError, match="slow down"):
        outbox.flush()


# ---------------------------------------------------------------------- in the background


@contextmanager
def started(outbox: Outbox) -> Iterator[Outbox]:
    """Start an outbox, and stop it at the end."""
    outbox.start()
    try:
        yield outbox
    finally:
        outbox.stop()


def wait_until(reached: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    give_up = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < give_up
        time.sleep(0.005)


def test_outbox_with_lost_response_posts_no_second_message(api: ScriptedApi) -> None:
    api.lost_responses = 1
    posted = list[MessageResource]()
    outbox = Outbox(Client(api.url, "token"), MemoryStorage(), on_posted=posted.append)
    with started(outbox):
        outbox.add("chat_1", "one")
        outbox.add("chat_1", "two")
        wait_until(lambda: len(posted) == 2)
    assert api.texts == ["one", "two"]
    assert [message["seq"] for message in posted] == [1, 2]
    assert len(api.calls) == 3


def test_outbox_with_too_many_calls_waits_as_the_api_says_also_after_a_new_message(
    api: ScriptedApi,
) -> None:
    api.refusals = [(429, {"retry-after": "1"})]
    outbox = Outbox(Client(api.url, "token"), MemoryStorage())
    with started(outbox):
        began = time.monotonic()
        outbox.add("chat_1", "one")
        wait_until(lambda: not api.refusals)
        outbox.add("chat_1", "two")
        outbox.wake()
        wait_until(lambda: not outbox.waiting)
        assert time.monotonic() - began >= 1.0
    assert api.texts == ["one", "two"]


def test_outbox_with_another_server_in_between_keeps_its_messages(api: ScriptedApi) -> None:
    api.refusals = [(302, {"location": f"{api.url}/sign-in"}), (503, {}), (500, {})]
    outbox = Outbox(Client(api.url, "token"), MemoryStorage())
    with started(outbox):
        outbox.add("chat_1", "one")
        wait_until(lambda: not outbox.waiting)
    assert api.texts == ["one"]
    assert not any("sign-in" in call for call in api.calls)


def test_outbox_with_refused_token_waits_for_another_one(api: ScriptedApi) -> None:
    api.signed_in, refused = False, list[ApiError]()
    outbox = Outbox(Client(api.url, "token"), MemoryStorage(), on_sign_in=refused.append)
    with started(outbox):
        outbox.add("chat_1", "one")
        wait_until(lambda: bool(refused))
        api.signed_in = True
        outbox.wake()
        wait_until(lambda: not outbox.waiting)
    assert api.texts == ["one"]


def test_outbox_without_a_token_while_offline_tries_again(api: ScriptedApi) -> None:
    failures = [ConnectionRefusedError("offline"), Unreachable("offline")]

    def token() -> str:
        if failures:
            raise failures.pop()
        return "token"

    outbox = Outbox(Client(api.url, token), MemoryStorage())
    with started(outbox):
        outbox.add("chat_1", "one")
        wait_until(lambda: not outbox.waiting)
    assert api.texts == ["one"]


class FullDisk(MemoryStorage):
    """A storage that fails to save shorter lists, a number of times."""

    failures = 1

    def save(self, entries: Sequence[Entry]) -> None:
        """Fail if a message is to be forgotten."""
        if len(entries) < len(self.load()) and self.failures:
            self.failures -= 1
            raise OSError("no space left on device")
        super().save(entries)


def test_outbox_with_failed_storage_logs_it_and_posts_no_second_message(
    api: ScriptedApi, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = Outbox(Client(api.url, "token"), FullDisk())
    with caplog.at_level(logging.ERROR), started(outbox):
        outbox.add("chat_1", "one")
        wait_until(lambda: not outbox.waiting)
    assert api.texts == ["one"]
    assert "no space left on device" in caplog.text


def test_outbox_stopped_while_the_api_asks_to_wait_ends_and_keeps_its_messages(
    api: ScriptedApi,
) -> None:
    api.refusals = [(429, {"retry-after": "600"})]
    storage = MemoryStorage()
    outbox = Outbox(Client(api.url, "token"), storage)
    with started(outbox):
        outbox.add("chat_1", "one")
        wait_until(lambda: not api.refusals)
    assert texts(storage.load()) == ["one"]
    assert not any(thread.name == "skein-outbox" for thread in threading.enumerate())
