"""The silence of SMS is counted where some came a week ago, and only then."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from skein.errors import Unavailable
from skein.inbound.sms_hours import SmsHours
from skein.models.common.storage import Write
from tests.fakes.system import FixedClock, MemoryMetrics
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON

WEEK = 7 * 24


class Stage:
    def __init__(self) -> None:
        self.clock = FixedClock(NOON)
        self.table = MemoryTable(self.clock)
        self.metrics = MemoryMetrics()
        self.hours = self.container()

    def container(self) -> SmsHours:
        return SmsHours(self.table, self.clock, self.metrics)

    def text_after(self, *hours: float) -> None:
        """Note an SMS after each of these hours, counted from the beginning."""
        for each in hours:
            self.clock.set(NOON + timedelta(hours=each))
            self.hours.record()

    def silent_after(self, hours: float) -> bool:
        self.clock.set(NOON + timedelta(hours=hours))
        before = self.metrics.counts["SmsSilent"]
        self.hours.check()
        return self.metrics.counts["SmsSilent"] > before


@pytest.mark.parametrize(
    ("texts", "silent"),
    [
        ([0, 1.5], True),
        ([0], False),  # a week ago, there was an SMS in one of the hours only
        ([0, 1, WEEK + 1.9], False),
        ([0, 1, WEEK], False),
        ([0, 1, WEEK + 2.1], True),  # this hour is not over
        ([], False),
    ],
)
def test_two_hours_without_an_sms_are_silent_if_both_had_some_a_week_ago(
    texts: Sequence[float], silent: bool
) -> None:
    stage = Stage()
    stage.text_after(*texts)
    assert stage.silent_after(WEEK + 2.2) is silent


def test_container_writes_each_hour_once() -> None:
    stage = Stage()
    written: list[Write] = []

    def write(write: Write) -> None:
        written.append(write)

    stage.table.write = write  # type: ignore[method-assign]
    stage.text_after(0, 0.5, 0.9, 1)
    assert len(written) == 2


def test_table_that_is_out_of_reach_refuses_no_sms() -> None:
    stage = Stage()

    def down(write: Write) -> None:
        raise Unavailable("the table is down")

    stage.table.write = down  # type: ignore[method-assign]
    stage.hours.record()
