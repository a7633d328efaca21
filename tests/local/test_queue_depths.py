"""The depths of a local stack's queues."""

from datetime import UTC, datetime, timedelta

from local.events import QueueMessage
from local.polling.inbox import Held, PolledQueue
from local.polling.queue_depths import QueueDepth, QueueDepths
from local.template import Queue, QueueSource
from tests.support.functions import a_function

NOW = datetime(2026, 2, 18, 12, tzinfo=UTC)


def polled(name: str, dead_letters: str | None = None) -> PolledQueue:
    settings = QueueSource(name, 10, partial_failures=True, concurrency=None)
    function = a_function("Worker", queues=(settings,))
    return PolledQueue(Queue(name, 0, 60, 3, dead_letters), function, settings)


def held(source: PolledQueue, seconds: float) -> Held:
    message = QueueMessage("1", "1", "{}", "", 0, NOW, NOW)
    return Held(source, message, NOW + timedelta(seconds=seconds))


def test_depths_tell_due_delayed_running_and_dead_messages_of_each_queue() -> None:
    runs, texts = polled("Runs", "Dead"), polled("Texts", "Dead")
    depths = QueueDepths(
        sources=[runs, texts],
        messages=lambda: [held(runs, -5), held(runs, 0), held(runs, 30), held(texts, 60)],
        running=lambda: {"Runs": 2},
        dead_letters={"Dead": 4}.__getitem__,
        now=lambda: NOW,
    )
    assert depths.read() == [
        QueueDepth(queue="Runs", function="Worker", waiting=2, delayed=1, running=2),
        QueueDepth(queue="Texts", function="Worker", waiting=0, delayed=1, running=0),
        QueueDepth(queue="Dead", function=None, waiting=4, delayed=0, running=0),
    ]
