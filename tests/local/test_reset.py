"""Stored times after a reset of the clock."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from local.timing.reset import Reset
from skein.errors import ConditionFailed
from skein.models.common.base import rfc3339
from skein.models.common.storage import Key, Put, Update, Write
from skein.models.outbox.due import DueKind, due_pointer
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON

BY = timedelta(days=7)
KEY = Key("demo#CHAT#1", "RUN#1")


def corrected(**item: Any) -> tuple[int, dict[str, Any]]:
    """Correct one item; return the number of changed items, and the item."""
    table = MemoryTable()
    table.write(Put(KEY, item))
    count = Reset(table, NOON, BY).correct([*table.all_items().values()])
    return count, dict(table.get(KEY) or {})


def at(delta: timedelta) -> str:
    return rfc3339(NOON + delta)


@pytest.mark.parametrize(
    "name",
    [
        "lease_until",
        "busy_until",
        "messages_full_at",
        "segments_full_at",
        "upkeep_at",
        "signed_out_at",
    ],
)
def test_time_that_holds_work_back_is_moved_back_by_the_offset(name: str) -> None:
    count, item = corrected(**{name: at(BY + timedelta(minutes=2))})
    assert (count, item[name]) == (1, at(timedelta(minutes=2)))


def test_time_of_an_older_offset_is_moved_to_now() -> None:
    assert corrected(lease_until=at(timedelta(days=1)))[1]["lease_until"] == at(timedelta(0))


def test_past_time_is_left_alone() -> None:
    assert corrected(lease_until=at(-timedelta(minutes=1)))[0] == 0


def test_times_inside_of_a_burst_and_of_parts_are_moved_back() -> None:
    moment = at(BY + timedelta(minutes=5))
    parts = [{"body": "Hi", "next_at": moment, "intent_at": moment}, {"body": moment}]
    _, item = corrected(burst={"until": moment, "latest": moment}, parts=parts)
    soon = at(timedelta(minutes=5))
    assert item["burst"] == {"until": soon, "latest": soon}
    assert item["parts"] == [{"body": "Hi", "next_at": soon, "intent_at": moment}, {"body": moment}]


def test_permits_of_runs_that_work_and_wait_are_moved_back() -> None:
    late, soon = at(BY + timedelta(minutes=5)), at(timedelta(minutes=5))
    permits = {"held": {"run_1": {"until": late}}, "waiting": [{"run_id": "run_2", "until": late}]}
    _, item = corrected(permits=permits)
    assert item["permits"] == {
        "held": {"run_1": {"until": soon}},
        "waiting": [{"run_id": "run_2", "until": soon}],
    }


def test_other_times_are_left_alone() -> None:
    assert corrected(created_at=at(BY), text=at(BY), next_at=at(BY))[0] == 0


@pytest.mark.parametrize("kind", ["run", "delivery", "chat", "merge", "erasure"])
def test_due_pointer_of_unfinished_work_is_moved_back(kind: DueKind) -> None:
    _, item = corrected(status="running", **due_pointer(kind, KEY, NOON + BY + timedelta(hours=1)))
    assert item["gsi2sk"].startswith(at(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("kind", "status"),
    [("run", "waiting"), ("plan", "active"), ("consolidation", ""), ("fading", "")],
)
def test_due_pointer_of_a_wait_is_left_alone(kind: DueKind, status: str) -> None:
    assert corrected(status=status, **due_pointer(kind, KEY, NOON + BY))[0] == 0


def test_item_that_changes_meanwhile_is_left_to_its_writer() -> None:
    class Racing(MemoryTable):
        def write(self, write: Write) -> None:
            if isinstance(write, Update):
                raise ConditionFailed(frozenset({0}))
            super().write(write)

    table = Racing()
    table.write(Put(KEY, {"lease_until": at(BY)}))
    assert Reset(table, NOON, BY).correct([*table.all_items().values()]) == 0


def test_shifted_time_attributes_stay_valid_times() -> None:
    _, item = corrected(lease_until=at(BY))
    assert datetime.fromisoformat(item["lease_until"]) == NOON
