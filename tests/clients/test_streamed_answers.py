"""Answers that are streamed by `chats.ask`, in the async and the sync client."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from skein_client import AsyncClient, Client, NoAnswer, Words
from tests.support.scripted_api import AGENT, ScriptedApi

pytestmark = pytest.mark.usefixtures("_short_pauses")
SECONDS = 20.0


class Question:
    """A question in a thread, which collects the words of its answer.

    Attributes:
        words: The words so far.
        error: The error that ended it.
    """

    def __init__(self, api: ScriptedApi, kind: str, seconds: float) -> None:
        self.words: list[Words] = []
        self.error: Exception | None = None
        self._api, self._kind, self._seconds = api, kind, seconds
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        give_up = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < give_up, self.words
            time.sleep(0.005)

    def wait_for(self, words: int) -> None:
        """Wait until so many words have come."""
        self.wait_until(lambda: len(self.words) >= words)

    def posted(self) -> None:
        """Wait until the question was posted, and the answer was looked for."""
        self.wait_until(lambda: any("after=1" in call for call in self._api.calls))
        self._api.sender = {"kind": "agent", **AGENT}

    def join(self) -> list[tuple[str, str, bool]]:
        """Wait for the end; return what the words are."""
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        return [(each.text, each.new, each.restarts) for each in self.words]

    def _ask(self) -> None:
        try:
            if self._kind == "sync":
                client = Client(self._api.url, "token")
                for words in client.chats.ask("chat_1", "Run?", stream=True, seconds=self._seconds):
                    self.words.append(words)
            else:
                asyncio.run(self._ask_async())
        except NoAnswer as error:
            self.error = error

    async def _ask_async(self) -> None:
        async with AsyncClient(self._api.url, "token") as client:
            asked = client.chats.ask("chat_1", "Run?", stream=True, seconds=self._seconds)
            async for words in asked:
                self.words.append(words)


@pytest.fixture(params=["async", "sync"])
def ask(api: ScriptedApi, request: pytest.FixtureRequest) -> Iterator[Callable[..., Question]]:
    """Asks a question; its thread has ended at the end of the test."""
    asked: list[Question] = []

    def start(seconds: float = SECONDS) -> Question:
        asked.append(Question(api, request.param, seconds))
        return asked[-1]

    yield start
    for each in asked:
        each.join()


def test_words_arrive_while_the_agent_writes_and_end_with_the_message(
    api: ScriptedApi, ask: Callable[..., Question]
) -> None:
    question = ask()
    question.posted()
    api.push_words(1, "Rest")
    question.wait_for(1)
    api.push_words(2, " on")
    api.push_end("done")
    api.texts.append("Rest on Monday.")
    api.push(2)
    assert question.join() == [
        ("Rest", "Rest", False),
        ("Rest on", " on", False),
        ("Rest on Monday.", " Monday.", False),
    ]
    assert [each.message is None for each in question.words] == [True, True, False]
    assert api.texts[0] == "Run?"


def test_retracted_words_are_void_at_once_and_the_answer_starts_again(
    api: ScriptedApi, ask: Callable[..., Question]
) -> None:
    question = ask()
    question.posted()
    api.push_words(1, "Rest")
    api.push_words(0)
    question.wait_for(2)
    api.push_words(1, "Run")
    api.texts.append("Walk.")
    api.push(2)
    assert question.join() == [
        ("Rest", "Rest", False),
        ("", "", True),
        ("Run", "Run", False),
        ("Walk.", "Walk.", True),
    ]


def test_answer_during_a_lost_connection_is_read_after_it(
    api: ScriptedApi, ask: Callable[..., Question]
) -> None:
    question = ask()
    question.posted()
    api.push_words(1, "Rest")
    question.wait_for(1)
    api.texts.append("Rest on Monday.")
    api.drop()
    assert question.join() == [
        ("Rest", "Rest", False),
        ("", "", True),
        ("Rest on Monday.", "Rest on Monday.", False),
    ]
    assert api.calls.count("POST /v1/chats/chat_1/messages") == 1


def test_answer_without_a_live_channel_comes_whole(
    api: ScriptedApi, ask: Callable[..., Question]
) -> None:
    api.expired_tickets = 100
    question = ask()
    question.posted()
    api.texts.append("Rest.")
    assert question.join() == [("Rest.", "Rest.", False)]


def test_streamed_question_without_an_answer_in_time_names_its_message(
    ask: Callable[..., Question],
) -> None:
    question = ask(seconds=0.2)
    assert question.join() == []
    assert isinstance(question.error, NoAnswer)
