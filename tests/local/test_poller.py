"""The poller: delays, failures, visibility time-outs and dead letters by the local clock."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import boto3
import pytest
from moto import mock_aws

from local.clock import TurnableClock
from local.delays import keep_delays
from local.functions import Functions
from local.inbox import Inbox, Source
from local.poller import Poller
from local.template import Function, Queue, QueueSource

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

VISIBILITY = 360
MAX_RECEIVES = 3
PATIENCE_SECONDS = 10.0

Handle = Callable[[dict[str, Any]], object]


class Bench:
    """One queue with its dead letters, and a handler that tests write."""

    def __init__(self, sqs: "SQSClient", *, batch_size: int = 10, concurrency: int = 2) -> None:
        self.clock = TurnableClock()
        self.sqs = sqs
        self.bodies: list[list[str]] = []
        self.events: list[dict[str, Any]] = []
        self.handle: Handle = lambda _event: None
        self._url = sqs.create_queue(QueueName="Work")["QueueUrl"]
        self._dead_url = sqs.create_queue(QueueName="Dead")["QueueUrl"]
        settings = QueueSource("Work", batch_size, partial_failures=True, concurrency=concurrency)
        function = Function(
            logical_id="Worker",
            code=Path(),
            handler="x.handler",
            timeout=60,
            memory=128,
            environment={},
            routes=(),
            queues=(settings,),
            schedules=(),
        )
        queue = Queue("Work", 0, VISIBILITY, MAX_RECEIVES, "Dead")
        self.inbox = Inbox(
            sqs,
            sources=[Source(queue, self._url, function, settings)],
            dead_letters={"Dead": self._dead_url},
            clock=self.clock,
        )
        self.poller = Poller(self.inbox, functions=cast("Functions", self), clock=self.clock)
        self.sender = boto3.client("sqs")
        keep_delays(self.sender, self.clock, {}, sent=self.poller.wake)

    def invoke(self, _function: Function, event: dict[str, Any]) -> object:
        self.events.append(event)
        self.bodies.append([record["body"] for record in event["Records"]])
        return self.handle(event)

    def send(self, *bodies: str, delay: int = 0) -> None:
        self.sender.send_message_batch(
            QueueUrl=self._url,
            Entries=[
                {"Id": str(n), "MessageBody": body, "DelaySeconds": delay}
                for n, body in enumerate(bodies)
            ],
        )

    def settle(self) -> None:
        assert self.poller.settle(until=time.monotonic() + PATIENCE_SECONDS)

    def turn(self, seconds: float) -> None:
        self.clock.turn(timedelta(seconds=seconds))
        self.settle()

    def dead(self) -> list[str]:
        messages = self.sqs.receive_message(QueueUrl=self._dead_url).get("Messages", ())
        return [message["Body"] for message in messages]

    def seen(self) -> list[str]:
        return [body for batch in self.bodies for body in batch]


@pytest.fixture
def sqs() -> Iterator["SQSClient"]:
    with mock_aws():
        yield boto3.client("sqs")


@pytest.fixture
def bench(sqs: "SQSClient") -> Iterator[Bench]:
    made = Bench(sqs)
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


def test_only_what_failed_comes_again_and_only_after_its_time_out(bench: Bench) -> None:
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


def test_what_fails_for_good_becomes_a_dead_letter(bench: Bench) -> None:
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


def test_batches_run_side_by_side_as_far_as_the_function_may(sqs: "SQSClient") -> None:
    bench = Bench(sqs, batch_size=1, concurrency=2)
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


def test_what_is_held_goes_back_to_the_queue_at_the_end(sqs: "SQSClient") -> None:
    bench = Bench(sqs)
    bench.poller.start()
    bench.send("later", delay=900)
    bench.settle()
    bench.poller.stop(seconds=PATIENCE_SECONDS)
    (message,) = sqs.receive_message(
        QueueUrl=bench.inbox.sources[0].url, MessageAttributeNames=["All"]
    )["Messages"]
    assert message["Body"] == "later"
    assert "due_at" in message["MessageAttributes"]


def test_a_message_that_is_done_meanwhile_holds_up_no_other(sqs: "SQSClient") -> None:
    bench = Bench(sqs)
    bench.send("one", "two", delay=900)
    while bench.inbox.receive():
        pass
    first, second = bench.inbox._received()
    sqs.delete_message(QueueUrl=first.source.url, ReceiptHandle=first.message.receipt_handle)
    bench.inbox.release()
    (message,) = sqs.receive_message(QueueUrl=second.source.url)["Messages"]
    assert message["Body"] == second.message.body


def test_queues_that_cannot_be_read_are_not_at_rest_and_that_is_told_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unreadable() -> int:
        raise ConnectionError("nobody is there")

    bench.settle()
    monkeypatch.setattr("local.poller.POLL_SECONDS", 0.01)
    with caplog.at_level("WARNING", "local.poller"), monkeypatch.context() as broken:
        broken.setattr(bench.inbox, "receive", unreadable)
        assert not bench.poller.settle(until=time.monotonic() + 0.3)
    assert caplog.messages == ["failed to read the queues: nobody is there"]
    bench.settle()
