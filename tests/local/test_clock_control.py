"""The drain and a turn of the clock, beside work that begins in real time."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import cast

from local.polling.feed import FeedPoller
from local.polling.poller import Poller
from local.timing.clock import TurnableClock
from local.timing.clock_control import ClockControl
from local.timing.schedules import Schedules
from local.timing.waiting import Waiting, WaitingWork
from local.twilio.sandbox import TwilioSandbox
from skein.models.common.storage import Item
from tests.fakes.table import MemoryTable


class IdleStack:
    """The poller, the schedules and the sandbox of a stack without work.

    Args:
        taken: Whether a message is taken while the queues are first read.

    Attributes:
        batches: How many batches were started.
        settled: How often somebody waited until the stack was idle.
    """

    callbacks = 0
    stopping = False

    def __init__(self, *, taken: bool) -> None:
        self.batches = 0
        self.settled = 0
        self._taken = taken

    def read(self) -> None:
        if self._taken:
            self._taken = False
            self.batches += 1

    def next_due(self) -> None:
        self.read()

    def next_useful(self) -> None:
        return

    def settle(self, *, until: float) -> bool:
        self.settled += 1
        return True

    def held_back(self) -> "IdleStack":
        return self

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        return

    def taken(self) -> Counter[str]:
        return Counter()

    fired = taken

    def running(self) -> dict[str, int]:
        return {}

    def wake(self) -> None:
        return

    def fire_useful(self, *, early: bool) -> int:
        return 0


class Waits:
    """Work that waits: none."""

    def __init__(self, stack: IdleStack) -> None:
        self._stack = stack

    def in_queues(self) -> Sequence[Waiting]:
        self._stack.read()
        return ()

    def report(self) -> tuple[list[dict[str, object]], int]:
        return [], 0


def control_of(stack: IdleStack) -> ClockControl:
    no_items: list[Item] = []
    return ClockControl(
        TurnableClock(),
        poller=cast("Poller", stack),
        feed=cast("FeedPoller", stack),
        schedules=cast("Schedules", stack),
        sandbox=cast("TwilioSandbox", stack),
        waiting=cast("WaitingWork", Waits(stack)),
        table=MemoryTable(),
        all_items=lambda: no_items,
        restart=lambda: None,
    )


def test_drain_waits_for_a_message_that_is_taken_while_it_looks_at_the_queues() -> None:
    busy, idle = IdleStack(taken=True), IdleStack(taken=False)
    control_of(busy).drain()
    control_of(idle).drain()
    assert busy.settled == 2 * idle.settled


def test_turn_waits_for_a_message_that_is_taken_while_the_next_time_is_chosen() -> None:
    busy, idle = IdleStack(taken=True), IdleStack(taken=False)
    control_of(busy).advance(timedelta(0))
    control_of(idle).advance(timedelta(0))
    assert busy.settled == idle.settled + 3  # the poller, the feed and the sandbox
