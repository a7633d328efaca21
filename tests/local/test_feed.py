"""The poller of the table's changes: order, retries, splits, and changes that are given up."""

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from local.events import Event
from local.polling.feed import Changes, FeedPoller, FeedSource, feed_sources
from local.sqlite import changes as sqlite_changes
from local.sqlite.changes import SqliteChanges
from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from local.template import Function, Template
from local.timing.clock import TurnableClock
from skein.models.common.storage import Key, Put, Update
from tests.support.functions import a_feed

PATIENCE_SECONDS = 10.0
PATTERN = json.dumps({"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "MSG#"}]}}}})
HOUR = 3_600


def a_source(name: str = "Feed", **settings: Any) -> FeedSource:
    return a_feed(PATTERN, name=name, **settings)


def name_of(record: Event) -> str:
    return str(record["dynamodb"]["Keys"]["sk"]["S"]).removeprefix("MSG#")


class Bench:
    """A feed on a table in SQLite, with a function that fails for the messages in `bad`.

    Attributes:
        bad: The messages for which the function reports a failure.
        crashes: Whether the function raises an error instead.
        calls: The messages of each call.
    """

    def __init__(self, path: Path, **settings: Any) -> None:
        self.clock = TurnableClock()
        self.database = Database(path)
        self.database.create()
        self.source = a_source(**settings)
        self.changes: Changes = SqliteChanges(self.database, self.clock)
        assert isinstance(self.changes, SqliteChanges)
        self.changes.attach([self.source])
        self.bad: set[str] = set()
        self.crashes = False
        self.calls: list[list[str]] = []
        self.poller = FeedPoller(self.changes, [self.source], functions=self, clock=self.clock)
        self.table = SqliteTable(self.database, self.clock, changed=self.poller.wake)

    def invoke(self, function: Function, event: Event) -> Any:
        records = event["Records"]
        self.calls.append([name_of(record) for record in records])
        failed = [record for record in records if name_of(record) in self.bad]
        if failed and self.crashes:
            raise ValueError("broken")
        numbers = [record["dynamodb"]["SequenceNumber"] for record in failed[:1]]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in numbers]}

    def put(self, *names: str) -> None:
        for name in names:
            self.table.write(Put(Key("p", f"MSG#{name}"), {"text": name}))

    def settle(self) -> None:
        assert self.poller.settle(until=time.monotonic() + PATIENCE_SECONDS)

    def turn(self, seconds: float) -> None:
        self.clock.turn(timedelta(seconds=seconds))
        self.settle()

    def retry_all(self) -> None:
        """Turn the clock to one retry after the other until none is left."""
        self.settle()
        for _ in range(100):
            due = self.poller.next_due()
            if due is None:
                return
            self.turn(max((due - self.clock.now()).total_seconds(), 0) + 0.01)
        raise AssertionError("the retries never end")

    def dead(self) -> list[dict[str, Any]]:
        with self.database.reading() as connection:
            rows = connection.execute("SELECT body FROM messages WHERE queue = 'Dead'").fetchall()
        return [json.loads(body) for (body,) in rows]

    def unread(self) -> int:
        with self.database.reading() as connection:
            [count] = connection.execute("SELECT count(*) FROM changes").fetchone()
        return int(count)

    def close(self) -> None:
        self.poller.stop(seconds=PATIENCE_SECONDS)
        self.database.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "skein.db"


@pytest.fixture
def bench(path: Path) -> Iterator[Bench]:
    made = Bench(path)
    yield made
    made.close()


def test_changes_come_in_order_and_in_batches_of_the_template(bench: Bench) -> None:
    bench.put(*"abcdefghij")
    bench.poller.start()
    bench.settle()
    assert bench.calls == [list("abcd"), list("efgh"), list("ij")]
    assert bench.unread() == 0
    assert bench.poller.taken() == {"Feed": 10}


def test_change_wakes_the_poller_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.polling.sweeping.POLL_SECONDS", 60.0)
    bench.poller.start()
    bench.settle()
    bench.put("a")
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not bench.calls and time.monotonic() < give_up:
        time.sleep(0.005)
    assert bench.calls == [["a"]]


def test_partial_failure_finishes_the_records_before_it_and_blocks_those_after_it(
    bench: Bench,
) -> None:
    bench.bad = {"b"}
    bench.put(*"abcdef")
    bench.poller.start()
    bench.settle()
    assert bench.calls == [list("abcd")]
    [waiting] = bench.poller.waiting()
    assert [name_of(record) for record in waiting.changes] == list("bcd")
    assert bench.unread() == 5
    bench.bad.clear()
    bench.retry_all()
    assert bench.calls[1:] == [list("bcd"), list("ef")]
    assert bench.dead() == []


def test_crash_splits_the_batch_until_the_bad_record_is_alone(bench: Bench) -> None:
    bench.bad, bench.crashes = {"c"}, True
    bench.put(*"abcde")
    bench.poller.start()
    bench.retry_all()
    assert bench.calls[:3] == [list("abcd"), list("ab"), list("cd")]
    assert bench.calls.count(["c"]) == 3  # a call and two retries
    assert ["d"] in bench.calls
    assert bench.calls[-1] == ["e"]
    [letter] = bench.dead()
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 1
    assert letter["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert bench.unread() == 0


def test_batch_is_not_split_if_the_template_does_not_say_so(path: Path) -> None:
    bench = Bench(path, bisects=False)
    bench.bad, bench.crashes = {"c"}, True
    bench.put(*"abcde")
    bench.poller.start()
    bench.retry_all()
    assert bench.calls == [list("abcd")] * 3 + [["e"]]
    assert bench.dead()[0]["DDBStreamBatchInfo"]["batchSize"] == 4
    bench.close()


def test_batch_that_is_too_old_is_given_up(path: Path) -> None:
    bench = Bench(path, max_age=HOUR, max_retries=None)
    bench.bad = {"a"}
    bench.put(*"ab")
    bench.poller.start()
    bench.settle()
    bench.turn(HOUR + 1)
    bench.retry_all()
    [letter] = bench.dead()
    assert letter["requestContext"]["condition"] == "RecordAgeExceeded"
    assert bench.unread() == 0
    bench.close()


def test_changes_that_waited_while_the_stack_was_stopped_are_not_too_old(path: Path) -> None:
    bench = Bench(path, max_age=HOUR)
    bench.put("a")
    bench.clock.turn(timedelta(days=2))
    bench.poller.start()
    bench.settle()
    assert bench.calls == [["a"]]
    assert bench.dead() == []
    bench.close()


def test_answer_that_is_not_understood_fails_the_batch(bench: Bench) -> None:
    bench.poller._functions = Answers([{"batchItemFailures": [{"itemIdentifier": "?"}]}])
    bench.put(*"ab")
    bench.poller.start()
    bench.retry_all()
    assert bench.unread() == 0
    assert bench.dead() == []


class Answers:
    """A function with given answers, and then none."""

    def __init__(self, answers: list[object]) -> None:
        self._answers = answers

    def invoke(self, function: Function, event: Event) -> Any:
        return self._answers.pop(0) if self._answers else None


def test_changes_survive_a_process_that_is_killed_during_a_batch(path: Path) -> None:
    killed = Bench(path)
    killed.put(*"abc")
    assert killed.changes.read(killed.source)  # and dies before it finishes them
    killed.database.close()
    again = Bench(path)
    again.poller.start()
    again.settle()
    assert again.calls == [list("abc")]
    again.close()


def test_changes_are_bounded_and_the_oldest_are_forgotten(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_changes, "MAX_CHANGES", 3)
    bench.put(*"abcde")
    assert [name_of(record) for record in bench.changes.read(bench.source)] == list("cde")


def test_no_change_is_written_while_no_feed_is_attached(path: Path) -> None:
    bench = Bench(path)
    assert isinstance(bench.changes, SqliteChanges)
    bench.put("a")
    bench.changes.attach([])
    bench.put("b")
    assert bench.unread() == 0
    bench.close()


def test_process_that_does_not_know_the_feeds_writes_changes(path: Path) -> None:
    bench = Bench(path)
    other = Database(path)
    SqliteTable(other, bench.clock).write(Put(Key("p", "MSG#a"), {"text": "a"}))
    assert bench.unread() == 1
    other.close()
    bench.close()


def test_feed_gets_only_its_own_changes(path: Path) -> None:
    bench = Bench(path)
    other = a_source("Other", patterns=(PATTERN.replace("MSG#", "META"),))
    assert isinstance(bench.changes, SqliteChanges)
    bench.changes.attach([bench.source, other])
    bench.put("a")
    bench.table.write(Put(Key("p", "META"), {"n": 1}))
    bench.table.write(Update(Key("p", "RUN#1"), set={"n": 1}))
    [mine], [others] = bench.changes.read(bench.source), bench.changes.read(other)
    assert (name_of(mine), name_of(others)) == ("a", "META")
    bench.changes.done(bench.source, mine)
    assert bench.changes.read(other) == [others]
    bench.close()


def test_expired_item_is_removed_by_the_table_itself(bench: Bench) -> None:
    expires_at = int(bench.clock.now().timestamp()) + HOUR
    bench.table.write(Put(Key("p", "MSG#a"), {"text": "a", "expires_at": expires_at}))
    [new] = bench.changes.read(bench.source)
    bench.changes.done(bench.source, new)
    bench.clock.turn(timedelta(seconds=HOUR + 1))
    bench.table.delete_expired()
    [removed] = bench.changes.read(bench.source)
    assert removed["eventName"] == "REMOVE"
    identity = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert removed["userIdentity"] == identity
    assert removed["dynamodb"]["OldImage"]["text"] == {"S": "a"}


def test_shift_moves_retries_and_a_pause_holds_them_back(bench: Bench) -> None:
    bench.bad = {"a"}
    bench.put("a")
    bench.poller.start()
    bench.settle()
    with bench.poller.paused():
        assert bench.poller.shift(timedelta(seconds=-HOUR)) == 1
        bench.settle()
        assert bench.calls == [["a"]]
    bench.settle()
    assert bench.calls[:2] == [["a"], ["a"]]


def test_unreadable_changes_are_not_settled_and_logged_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unreadable(_: FeedSource) -> list[Event]:
        raise ConnectionError("nobody is there")

    monkeypatch.setattr("local.polling.sweeping.POLL_SECONDS", 0.01)
    bench.put("a")
    with caplog.at_level("WARNING", "local.polling.sweeping"), monkeypatch.context() as broken:
        broken.setattr(bench.changes, "read", unreadable)
        bench.poller.start()
        assert not bench.poller.settle(until=time.monotonic() + 0.3)
    assert caplog.messages == ["failed to use the changes of the table: nobody is there"]
    assert caplog.records[0].exc_info
    bench.settle()
    assert bench.calls == [["a"]]


def test_template_without_streams_has_no_feeds() -> None:
    assert feed_sources(Template({"Resources": {}})) == []


def test_error_of_a_function_is_logged_with_its_stack(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.bad, bench.crashes = {"a"}, True
    bench.poller.start()
    bench.put("a")
    bench.settle()
    assert f"{bench.source.name} failed" in caplog.messages
    assert "ValueError: broken" in caplog.text
