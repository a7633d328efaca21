"""The drain, beside work that begins in real time."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from local.clock import TurnableClock
from local.clock_control import ClockControl
from local.poller import Poller
from local.schedules import Schedules
from local.twilio_sandbox import TwilioSandbox
from local.waiting import Waiting, WaitingWork
from skein.models.common.storage import Item
from tests.fakes.table import MemoryTable


class IdleStack:
    """The poller, the schedules and the sandbox of a stack without work.

    Attributes:
        batches: How many batches were started.
        settled: How often somebody waited until the stack was idle.
    """

    callbacks = 0
    stopping = False

    def __init__(self) -> None:
        self.batches = 0
        self.settled = 0

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
    """Work that waits; a message is taken while it is first looked at."""

    def __init__(self, stack: IdleStack, *, taken: bool) -> None:
        self._stack = stack
        self._taken = taken

    def in_queues(self) -> Sequence[Waiting]:
        if self._taken:
            self._taken = False
            self._stack.batches += 1
        return ()

    def report(self) -> tuple[list[dict[str, object]], int]:
        return [], 0


def settled_times(*, taken: bool) -> int:
    stack = IdleStack()
    no_items: list[Item] = []
    control = ClockControl(
        TurnableClock(),
        poller=cast("Poller", stack),
        schedules=cast("Schedules", stack),
        sandbox=cast("TwilioSandbox", stack),
        waiting=cast("WaitingWork", Waits(stack, taken=taken)),
        table=MemoryTable(),
        all_items=lambda: no_items,
        restart=lambda: None,
    )
    control.drain()
    return stack.settled


def test_drain_waits_for_a_message_that_is_taken_while_it_looks_at_the_queues() -> None:
    assert settled_times(taken=True) == 2 * settled_times(taken=False)
