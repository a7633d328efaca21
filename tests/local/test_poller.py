"""The poller: delays, failures, visibility time-outs and dead letters by the local clock."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest

from local.functions import Functions
from local.polling.inbox import Held, PolledQueue
from local.polling.poller import Poller
from local.sqlite.database import Database
from local.sqlite.queues import INSERT, SqliteInbox
from local.template import Function, Queue, QueueSource
from local.timing.clock import TurnableClock
from tests.support.functions import a_function

VISIBILITY = 360
MAX_RECEIVES = 3
PATIENCE_SECONDS = 10.0

Handle = Callable[[dict[str, Any]], object]


class Queues:
    """Two queues, `Work` and its dead letters, and the inbox of `Work`."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path)
        self.database.create()
        self._clock = TurnableClock()
        self._sent: Callable[[], None] = lambda: None

    def inbox(self, source: PolledQueue, clock: TurnableClock) -> SqliteInbox:
        return SqliteInbox(self.database, sources=[source], clock=clock)

    def sends(self, clock: TurnableClock, sent: Callable[[], None]) -> None:
        self._clock, self._sent = clock, sent

    def send(self, bodies: Sequence[str], delay: int) -> None:
        now = self._clock.now().timestamp()
        with self.database.writing() as connection:
            connection.executemany(
                INSERT, [(str(uuid4()), "Work", body, now, now + delay) for body in bodies]
            )
        self._sent()

    def dead(self) -> list[str]:
        with self.database.reading() as connection:
            rows = connection.execute("SELECT body FROM messages WHERE queue = 'Dead'").fetchall()
        return [body for (body,) in rows]


class Bench:
    """One queue with its dead letters, and a handler that tests write."""

    def __init__(self, queues: Queues, *, batch_size: int = 10, concurrency: int = 2) -> None:
        self.clock = TurnableClock()
        self.queues = queues
        self.bodies: list[list[str]] = []
        self.events: list[dict[str, Any]] = []
        self.handle: Handle = lambda _event: None
        settings = QueueSource("Work", batch_size, partial_failures=True, concurrency=concurrency)
        function = a_function("Worker", queues=(settings,))
        queue = Queue("Work", 0, VISIBILITY, MAX_RECEIVES, "Dead")
        self.inbox = queues.inbox(PolledQueue(queue, function, settings), self.clock)
        self.poller = Poller(self.inbox, functions=cast("Functions", self), clock=self.clock)
        queues.sends(self.clock, self.poller.wake)

    def invoke(self, _function: Function, event: dict[str, Any]) -> object:
        self.events.append(event)
        self.bodies.append([record["body"] for record in event["Records"]])
        return self.handle(event)

    def send(self, *bodies: str, delay: int = 0) -> None:
        self.queues.send(bodies, delay)

    def settle(self) -> None:
        assert self.poller.settle(until=time.monotonic() + PATIENCE_SECONDS)

    def turn(self, seconds: float) -> None:
        self.clock.turn(timedelta(seconds=seconds))
        self.settle()

    def dead(self) -> list[str]:
        return self.queues.dead()

    def seen(self) -> list[str]:
        return [body for batch in self.bodies for body in batch]


@pytest.fixture
def queues(tmp_path: Path) -> Queues:
    return Queues(tmp_path / "queues.db")


@pytest.fixture
def bench(queues: Queues) -> Iterator[Bench]:
    made = Bench(queues)
    made.poller.start()
    yield made
    made.poller.stop(seconds=PATIENCE_SECONDS)


def test_messages_are_handed_out_in_lambdas_shape(bench: Bench) -> None:
    bench.send("one")
    bench.settle()
    (record,) = bench.events[0]["Records"]
    assert record["body"] == "one"
    assert record["md5OfBody"] == "f97c5d29941bfb1b2fdab0874906ab82"
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"].endswith(":Work")


def test_a_delayed_message_waits_for_the_local_clock(bench: Bench) -> None:
    bench.send("later", delay=900)
    bench.settle()
    bench.turn(899)
    assert bench.seen() == []
    bench.turn(2)
    assert bench.seen() == ["later"]
    assert bench.poller.next_due() is None


def test_only_failed_messages_are_retried_after_the_visibility_timeout(bench: Bench) -> None:
    def fail_two(event: dict[str, Any]) -> object:
        ids = [r["messageId"] for r in event["Records"] if r["body"] == "two"]
        return {"batchItemFailures": [{"itemIdentifier": one} for one in ids]}

    bench.handle = fail_two
    bench.send("one", "two", "three")
    bench.settle()
    bench.handle = lambda _event: {"batchItemFailures": []}
    bench.turn(VISIBILITY - 1)
    assert sorted(bench.seen()) == ["one", "three", "two"]
    bench.turn(2)
    assert bench.bodies[-1] == ["two"]
    assert bench.events[-1]["Records"][0]["attributes"]["ApproximateReceiveCount"] == "2"


@pytest.mark.parametrize("answer", ["nonsense", {"batchItemFailures": [{"itemIdentifier": "?"}]}])
def test_an_answer_that_is_not_understood_fails_the_batch(bench: Bench, answer: object) -> None:
    bench.handle = lambda _event: answer
    bench.send("one")
    bench.settle()
    assert bench.poller.next_due() is not None


def test_message_that_fails_three_times_becomes_a_dead_letter(bench: Bench) -> None:
    def crash(_event: dict[str, Any]) -> object:
        raise ValueError("broken")

    bench.handle = crash
    bench.send("poison")
    bench.settle()
    for _ in range(MAX_RECEIVES - 1):
        assert bench.dead() == []
        bench.turn(VISIBILITY + 1)
    assert bench.seen() == ["poison"] * MAX_RECEIVES
    assert bench.dead() == ["poison"]
    assert bench.poller.next_due() is None


def test_batches_run_side_by_side_as_far_as_the_function_may(queues: Queues) -> None:
    bench = Bench(queues, batch_size=1, concurrency=2)
    at_work, most, go_on = threading.Semaphore(0), [], threading.Event()

    def wait(_event: dict[str, Any]) -> object:
        most.append(1)
        at_work.release()
        assert go_on.wait(PATIENCE_SECONDS)
        return None

    bench.handle = wait
    bench.poller.start()
    bench.send("one", "two", "three")
    assert at_work.acquire(timeout=PATIENCE_SECONDS)
    assert at_work.acquire(timeout=PATIENCE_SECONDS)
    assert len(most) == 2
    go_on.set()
    bench.settle()
    assert sorted(bench.seen()) == ["one", "three", "two"]
    bench.poller.stop(seconds=PATIENCE_SECONDS)


def test_message_of_a_killed_process_is_due_at_the_next_start(queues: Queues) -> None:
    killed = Bench(queues)
    killed.send("one")
    [source] = killed.inbox.sources
    [taken] = killed.inbox.take(source)
    assert taken.message.receive_count == 1
    again = Bench(queues)
    assert again.inbox.take(source) == []
    again.inbox.release()
    [taken] = again.inbox.take(source)
    assert (taken.message.body, taken.message.receive_count) == ("one", 2)


def test_message_without_recorded_outcome_is_retried(queues: Queues) -> None:
    bench = Bench(queues)
    bench.send("one")
    [source] = bench.inbox.sources
    [taken] = bench.inbox.take(source)
    with queues.database.writing() as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE DELETE ON messages BEGIN SELECT raise(ABORT, 'full'); END"
        )
    with pytest.raises(sqlite3.IntegrityError):
        bench.inbox.succeed(taken)
    bench.clock.turn(timedelta(seconds=VISIBILITY - 1))
    assert bench.inbox.take(source) == []
    bench.clock.turn(timedelta(seconds=2))
    assert [held.message.body for held in bench.inbox.take(source)] == ["one"]


def test_message_at_work_is_not_taken_again_when_the_clock_is_turned(queues: Queues) -> None:
    bench = Bench(queues)
    bench.send("one")
    [source] = bench.inbox.sources
    [taken] = bench.inbox.take(source)
    bench.clock.turn(timedelta(seconds=2 * VISIBILITY))
    assert bench.inbox.take(source) == []
    assert bench.inbox.next_due() is None
    bench.inbox.succeed(taken)
    assert bench.inbox.take(source) == []


def test_unreadable_queues_are_not_settled_and_logged_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unreadable(_: PolledQueue) -> list[Held]:
        raise ConnectionError("nobody is there")

    bench.settle()
    monkeypatch.setattr("local.polling.sweeping.POLL_SECONDS", 0.01)
    with caplog.at_level("WARNING", "local.polling.sweeping"), monkeypatch.context() as broken:
        broken.setattr(bench.inbox, "take", unreadable)
        assert not bench.poller.settle(until=time.monotonic() + 0.3)
    assert caplog.messages == ["failed to use the queues: nobody is there"]
    assert caplog.records[0].exc_info
    bench.settle()


def test_error_of_a_function_is_logged_with_its_stack(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise LookupError("a defect of the handler")

    bench.handle = broken
    bench.send("one")
    bench.settle()
    assert "Worker failed" in caplog.messages
    assert "LookupError: a defect of the handler" in caplog.text


def test_outcome_that_cannot_be_recorded_is_logged_with_its_stack(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise TypeError("a defect of the inbox")

    monkeypatch.setattr(bench.inbox, "succeed", broken)
    bench.send("one")
    bench.settle()
    assert "failed to record the outcome of messages" in caplog.messages
    assert "TypeError: a defect of the inbox" in caplog.text


def test_waiting_messages_are_listed_with_their_failures(bench: Bench) -> None:
    bench.handle = lambda _event: "nonsense"
    bench.send("failed")
    bench.settle()
    bench.send("delayed", delay=900)
    bench.settle()
    found = sorted((held.message.body, held.failures) for held in bench.poller.waiting())
    assert found == [("delayed", 0), ("failed", 1)]
    assert bench.poller.taken() == {"Worker": 1}


def test_message_that_is_being_taken_is_waiting_or_counted_as_a_batch(
    queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(queues)
    take, taken, looked = bench.inbox.take, threading.Event(), threading.Event()

    def take_slowly(source: PolledQueue) -> list[Held]:
        found = take(source)
        if found:
            taken.set()
            looked.wait(0.2)  # time for a look between the take and the count
        return found

    monkeypatch.setattr(bench.inbox, "take", take_slowly)
    bench.send("one")
    bench.poller.start()
    assert taken.wait(PATIENCE_SECONDS)
    waiting, batches = bench.poller.waiting(), bench.poller.batches
    looked.set()
    bench.poller.stop(seconds=PATIENCE_SECONDS)
    assert (waiting, batches) == ([], 1)


def test_shift_moves_the_due_times_of_waiting_messages(bench: Bench) -> None:
    bench.send("later", delay=900)
    bench.settle()
    assert bench.poller.shift(timedelta(seconds=-890)) == 1
    bench.turn(11)
    assert bench.seen() == ["later"]


def test_paused_poller_takes_no_message_until_the_pause_ends(bench: Bench) -> None:
    with bench.poller.paused():
        bench.send("one")
        assert not bench.poller.running()
        time.sleep(0.1)
        assert bench.seen() == []
    bench.settle()
    assert bench.seen() == ["one"]
