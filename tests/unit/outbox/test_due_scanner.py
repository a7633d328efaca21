"""What is due is found, in shards and pages, by several at once; and nothing holds up the rest."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import ValidationError

from skein.adapters.parallel import map_threads
from skein.errors import Unavailable
from skein.interface.extensions import RegisteredExtensions
from skein.models.common.storage import Item, Key, Page, Put, Query, Update
from skein.models.outbox.due import DUE_SHARDS, DueKind, due_pointer, due_time
from skein.models.outbox.jobs import Job, RunJob
from skein.services.outbox import due_scanner as finding
from skein.services.outbox.background_scanner import BackgroundScanner
from skein.services.outbox.dispatch import Dispatch
from skein.services.outbox.due_scanner import DueScanner
from skein.services.outbox.pause_scanner import PauseScanner
from skein.services.outbox.tick import Tick
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT

BUDGET = timedelta(seconds=45)
PAGE, BATCH = 40, 10


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "PAGE", PAGE)
    monkeypatch.setattr(finding, "BATCH", BATCH)


class Sick(MemoryTable):
    """A table some of whose partitions and items cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: set[str] = set()

    def query(self, query: Query) -> Page:
        if query.pk in self.bad:
            raise Unavailable("throttled")
        return super().query(query)

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        if any(key.pk in self.bad for key in keys):
            raise Unavailable("throttled")
        return super().get_many(keys, consistent=consistent)


class Late(MemoryTable):
    """A table whose index still shows marks that have been moved."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, list[Item]] = {}

    def query(self, query: Query) -> Page:
        page = super().query(replace(query, start=None, limit=10_000))
        rows = self.shown.setdefault(query.pk, list(page.items))
        start, limit = query.start, query.limit or 10_000
        after = [row for row in rows if start is None or row["gsi2sk"] > start["gsi2sk"]]
        full = len(after) > limit
        return Page(tuple(after[:limit]), after[limit - 1] if full else None)


class Due:
    """Runs that are due, and what finds them."""

    def __init__(self, table: MemoryTable | None = None) -> None:
        self.table = table or MemoryTable()
        self.clock = FixedClock(NOON)
        self.queues = MemoryQueues(self.clock)
        self.metrics = MemoryMetrics()
        self.dispatch = Dispatch(queues=self.queues, metrics=self.metrics)

    def put(self, count: int, *, first: int = 0, minutes: int = 5, **fields: object) -> None:
        """Runs, the first of them due so many minutes ago and each other a second later."""
        for number in range(first, first + count):
            key = Key(f"{TENANT}#CHAT#chat_{number}", "RUN#1")
            at = NOON - timedelta(minutes=minutes) + timedelta(seconds=number)
            item = {"tenant": TENANT, "id": f"run_{number:05d}", "agent_id": "agt_1", **fields}
            self.table.write(Put(key, item | due_pointer("run", key, at)))

    def tick(self) -> int:
        tick = Tick(
            table=self.table,
            due_scanner=self.finder,
            background_scanner=BackgroundScanner(table=self.table, due_scanner=self.finder),
            pause_scanner=PauseScanner(
                table=self.table,
                clock=self.clock,
                due_scanner=self.finder,
                metrics=self.metrics,
            ),
            metrics=self.metrics,
            extensions=RegisteredExtensions,
        )
        return tick.run({}, until=self.clock.now() + BUDGET)

    @property
    def finder(self) -> DueScanner:
        return DueScanner(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            metrics=self.metrics,
            parallel_map=map_threads,
        )

    @property
    def sent(self) -> list[str]:
        return [one.job.run_id for one in self.queues.sent if isinstance(one.job, RunJob)]


def test_more_than_a_page_of_every_shard_is_sent_in_one_tick_each_once() -> None:
    due = Due()
    many = PAGE * DUE_SHARDS + BATCH
    due.put(many, minutes=24 * 60)
    assert due.tick() == many
    assert len(set(due.sent)) == len(due.sent) == many
    assert due.tick() == 0


def test_oldest_due_items_are_dispatched_first() -> None:
    due = Due()
    due.put(BATCH)
    due.tick()
    assert due.sent == sorted(due.sent)


def test_two_ticks_at_the_same_time_send_each_job_once() -> None:
    due = Due()
    due.put(300)
    counts = map_threads(lambda _: due.tick(), [1, 2, 3])
    assert sum(counts) == 300
    assert len(set(due.sent)) == len(due.sent) == 300


def test_pointer_that_was_moved_after_the_read_keeps_its_time_and_sends_no_job() -> None:
    class Moving(MemoryTable):
        moved: Key | None = None

        def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
            found = super().get_many(keys, consistent=consistent)
            for key in found:
                self.moved = key
                self.write(Update(key, set=due_pointer("run", key, later)))
            return found

    later = NOON + timedelta(hours=1)
    due = Due(Moving())
    due.put(1)
    assert due.tick() == 0
    assert isinstance(due.table, Moving)
    assert due.table.moved is not None
    item = due.table.get(due.table.moved)
    assert item is not None
    assert due_time(item) == later


def test_unreadable_shard_delays_no_other_and_is_logged() -> None:
    table = Sick()
    due = Due(table)
    due.put(80)
    table.bad = {"DUE#run#3"}
    with pytest.raises(Unavailable):
        due.tick()
    first = len(due.sent)
    assert 0 < first < 80
    table.bad = set()
    assert due.tick() == 80 - first


def test_items_that_cannot_be_read_hold_up_no_other_batch() -> None:
    table = Sick()
    due = Due(table)
    due.put(3 * BATCH)
    table.bad = {f"{TENANT}#CHAT#chat_0"}
    with pytest.raises(Unavailable):
        due.tick()
    assert len(due.sent) == 2 * BATCH
    table.bad = set()
    assert due.tick() == BATCH


def test_broken_due_items_do_not_block_others() -> None:
    due = Due()
    due.put(2 * PAGE, minutes=60, agent_id="")
    due.put(10, first=2 * PAGE, minutes=20)
    try:
        assert due.tick() == 10
    except ValidationError:
        pytest.fail("a broken item ends the tick")
    assert due.metrics.counts["DueFailed"] == 2 * PAGE


def test_an_index_that_lags_behind_ends_no_tick() -> None:
    table = Late()
    due = Due(table)
    many = PAGE * DUE_SHARDS + 1
    due.put(many, minutes=24 * 60)
    assert due.tick() == many
    assert due.tick() == 0  # all it is shown has been moved
    due.put(1, first=many, minutes=24 * 60)
    table.shown.clear()
    assert due.tick() == 1


def test_due_scanner_starts_no_work_after_its_deadline() -> None:
    due = Due()
    due.put(2 * BATCH)

    def slow(_: DueKind, item: Item, __: object) -> Job:
        due.clock.advance(1)
        due.table.write(Update(Key(item["pk"], item["sk"]), set={"gsi2pk": None, "gsi2sk": None}))
        return RunJob(tenant=TENANT, run_id=item["id"], agent_id="agt_1")

    sent = due.finder.run(["run"], slow, until=NOON + timedelta(seconds=BATCH))
    # Both batches may be at it when the time is over; what was moved is sent.
    assert BATCH <= sent <= BATCH + 1
    assert len(due.sent) == sent
