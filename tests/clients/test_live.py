"""The live channel of the Python clients, against a server that fails as a test says."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from skein_client import (
    ApiError,
    AsyncClient,
    AsyncLive,
    Client,
    Connected,
    Draft,
    Event,
    Live,
    Lost,
    Message,
    OtherFrame,
)
from tests.support.scripted_api import AGENT, ScriptedApi

pytestmark = pytest.mark.usefixtures("_short_pauses")
SECONDS = 20.0


class Listener:
    """Collects the events of a live channel in a thread.

    Attributes:
        live: The live channel.
        seen: Its events so far.
        error: The error that ended it.
    """

    def __init__(self, live: Live | AsyncLive) -> None:
        self.live = live
        self.seen: list[Event] = []
        self.error: Exception | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        give_up = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < give_up, self.seen
            time.sleep(0.005)

    def wait_for_connections(self, number: int) -> None:
        """Wait until so many connections were opened and have caught up."""
        self.wait_until(lambda: self.count(Connected) == number)

    def count(self, kind: type[Event]) -> int:
        """Return how many events of a kind there were."""
        return sum(isinstance(event, kind) for event in self.seen)

    @property
    def texts(self) -> list[str]:
        """The texts of the messages."""
        return [each.message["text"] for each in self.seen if isinstance(each, Message)]

    @property
    def words(self) -> list[str]:
        """The words of the drafts."""
        return [event.text for event in self.seen if isinstance(event, Draft)]

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def stop(self) -> None:
        """Stop the live channel and wait for its end."""
        if self._thread.is_alive():
            self.call("stop")
        self.join()

    def call(self, method: str, *arguments: Any) -> None:
        """Call a method of the live channel."""
        done = getattr(self.live, method)(*arguments)
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(done, self._loop)

    def _listen(self) -> None:
        try:
            if isinstance(self.live, Live):
                self.seen.extend(self.live.events())
            else:
                asyncio.run(self._collect(self.live))
        except ApiError as error:
            self.error = error

    async def _collect(self, live: AsyncLive) -> None:
        self._loop = asyncio.get_running_loop()
        async for event in live.events():
            self.seen.append(event)


@pytest.fixture(params=["async", "sync"])
def listen(api: ScriptedApi, request: pytest.FixtureRequest) -> Iterator[Callable[..., Listener]]:
    """Starts a listener; keyword arguments are those of `Live`."""
    started: list[Listener] = []

    def start(**options: Any) -> Listener:
        live: Live | AsyncLive = Live(Client(api.url, "token"), **options)
        if request.param == "async":
            live = AsyncLive(AsyncClient(api.url, "token"), **options)
        listener = Listener(live)
        started.append(listener)
        return listener

    yield start
    for listener in started:
        listener.stop()


def test_live_after_dropped_connection_reports_missed_messages_once(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    api.texts = ["old"]
    listener = listen()
    listener.wait_for_connections(1)
    api.drop()
    api.texts += ["2", "3", "4"]
    listener.wait_for_connections(2)
    assert listener.texts == ["2", "3", "4"]
    assert [type(event) for event in listener.seen] == [
        *(Connected, Lost),
        *(Message, Message, Message),
        Connected,
    ]


def test_live_says_again_over_each_connection_which_chat_is_shown(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    listener = listen()
    listener.wait_for_connections(1)
    listener.call("showing", "chat_1")
    listener.wait_until(lambda: len(api.frames) == 1)
    api.drop()
    listener.wait_for_connections(2)
    listener.wait_until(lambda: len(api.frames) == 2)
    assert api.frames == [{"type": "showing", "chat_id": "chat_1"}] * 2


def test_live_with_lost_late_and_repeated_frames_reports_each_message_once(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    listener = listen()
    listener.wait_for_connections(1)
    api.texts = ["1", "2", "3"]
    for seq in (1, 1, 3, 2, 3):
        api.push(seq)
    api.texts += ["4"]
    api.push()
    listener.wait_until(lambda: "4" in listener.texts)
    assert listener.texts == ["1", "2", "3", "4"]
    assert listener.count(Lost) == 0


def test_live_with_seen_messages_begins_after_them(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    api.texts = ["1", "2", "3"]
    listener = listen(seen={"chat_1": 1})
    listener.wait_for_connections(1)
    assert listener.texts == ["2", "3"]
    assert listener.live.seen == {"chat_1": 3}


def test_live_after_reconnect_reads_no_chat_without_new_messages(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    api.texts = ["1"]
    listener = listen()
    listener.wait_for_connections(1)
    api.drop()
    listener.wait_for_connections(2)
    assert [call for call in api.calls if "/messages" in call] == []


def test_live_with_resync_of_a_chat_that_the_person_left_keeps_the_connection(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    listener = listen()
    listener.wait_for_connections(1)
    api.refusals = [(404, {})]
    api.push(chat_id="chat_2")
    api.texts = ["1"]
    listener.wait_until(lambda: not api.refusals)
    api.push(1)
    listener.wait_until(lambda: listener.texts == ["1"])
    assert listener.count(Lost) == 0


def test_live_without_answer_to_a_ping_connects_again(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    listener = listen(ping_seconds=0.1)
    listener.wait_until(lambda: api.pings > 1)
    before = api.connected
    api.answers_pings = False
    listener.wait_until(lambda: api.connected > before)
    errors = [str(event.error) for event in listener.seen if isinstance(event, Lost)]
    assert "no answer to a ping" in errors[-1]


def test_live_after_slow_handling_of_an_event_keeps_the_connection(api: ScriptedApi) -> None:
    live = Live(Client(api.url, "token"), ping_seconds=0.1)
    events = live.events()
    assert isinstance(next(events), Connected)
    api.texts = ["1", "2"]
    api.push(1)
    assert isinstance(next(events), Message)
    time.sleep(0.3)  # the app, with the message
    api.push(2)
    assert isinstance(next(events), Message)
    assert api.connected == 1
    events.close()


def test_live_with_expired_ticket_gets_another_one(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    api.expired_tickets = 1
    listener = listen()
    listener.wait_for_connections(1)
    assert listener.count(Lost) == 1
    assert api.calls.count("POST /v1/live") == 2


def test_live_with_too_many_calls_waits_as_the_api_says(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    api.refusals = [(429, {"retry-after": "1"})]
    began = time.monotonic()
    listener = listen()
    listener.wait_for_connections(1)
    assert time.monotonic() - began >= 1.0
    [lost] = [event for event in listener.seen if isinstance(event, Lost)]
    assert isinstance(lost.error, ApiError)
    assert lost.error.retry_after == 1.0


def test_live_without_a_server_tries_again_until_there_is_one(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    api.refusals = [(503, {}), (500, {}), (302, {"location": "http://127.0.0.1:1/sign-in"})]
    listener = listen()
    listener.wait_for_connections(1)
    assert listener.count(Lost) == 3


def test_live_with_connection_lost_in_a_streamed_answer_voids_the_draft(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    listener = listen()
    listener.wait_for_connections(1)
    api.push_words(1, "Rest")
    api.push_words(2, " on")
    listener.wait_until(lambda: len(listener.words) == 2)
    api.drop()
    listener.wait_for_connections(2)
    assert listener.words == ["Rest", "Rest on", ""]
    api.push_words(4, " Monday")
    api.push_words(1, "Run")
    listener.wait_until(lambda: len(listener.words) == 4)
    assert listener.words[-1] == "Run"


@pytest.mark.parametrize("status", ["done", "failed"])
def test_live_voids_the_draft_of_an_ended_run(
    api: ScriptedApi, listen: Callable[..., Listener], status: str
) -> None:
    listener = listen()
    listener.wait_for_connections(1)
    api.push_words(1, "Rest")
    api.push_end("working")
    api.push_end(status)
    listener.wait_until(lambda: listener.count(OtherFrame) == 2)
    assert listener.words == ["Rest", ""]


def test_live_message_of_the_agent_voids_its_draft_first(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    listener = listen()
    listener.wait_for_connections(1)
    api.push_words(1, "Rest")
    api.texts = ["Rest on Monday."]
    api.sender = {"kind": "agent", **AGENT}
    api.push(1)
    listener.wait_until(lambda: listener.texts == ["Rest on Monday."])
    assert [type(event) for event in listener.seen] == [Connected, Draft, Draft, Message]
    assert listener.words == ["Rest", ""]


def test_live_with_refused_token_ends_with_the_error(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    listener = listen()
    listener.wait_for_connections(1)
    api.signed_in = False
    api.drop()
    listener.join()
    assert isinstance(listener.error, ApiError)
    assert listener.error.needs_sign_in


def test_live_stopped_while_it_waits_for_a_server_ends_at_once(
    api: ScriptedApi, listen: Callable[..., Listener]
) -> None:
    api.refusals = [(503, {"retry-after": "60"})]
    listener = listen()
    listener.wait_until(lambda: listener.count(Lost) == 1)
    listener.stop()
    assert api.connected == 0
