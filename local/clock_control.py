"""Control of the local clock, which waits until the whole stack is idle."""

import threading
import time
from datetime import timedelta

from local.clock import TurnableClock
from local.errors import RestlessError
from local.poller import Poller
from local.schedules import Schedules
from local.twilio_sandbox import TwilioSandbox

# A long advance is split into steps, so that due work runs at about its due time. Each step costs a
# tick.
MAX_STEPS = 24
MIN_STEP = timedelta(minutes=1)
MAX_ROUNDS = 5
GIVE_UP_SECONDS = 600.0

Deadline = float


class ClockControl:
    """Clock control that waits until all work that becomes due is finished.

    Args:
        clock: The local clock.
        poller: The poller of the queues.
        schedules: The schedules of the functions.
        sandbox: The Twilio sandbox, which sends status callbacks asynchronously.
    """

    def __init__(
        self,
        clock: TurnableClock,
        *,
        poller: Poller,
        schedules: Schedules,
        sandbox: TwilioSandbox,
    ) -> None:
        self._clock = clock
        self._poller = poller
        self._schedules = schedules
        self._sandbox = sandbox
        self._one_at_a_time = threading.Lock()

    def advance(self, by: timedelta) -> None:
        """Advance the clock and run the work that becomes due, in approximate order of time.

        Raises:
            RestlessError: The stack is still busy after ten minutes of real time.
        """
        with self._one_at_a_time, self._schedules.held_back():
            self._advance(by, time.monotonic() + GIVE_UP_SECONDS)

    def drain(self) -> None:
        """Run all queued messages until all queues are empty, advancing the clock for delays.

        Raises:
            RestlessError: The stack is still busy after ten minutes of real time.
        """
        with self._one_at_a_time, self._schedules.held_back():
            until = time.monotonic() + GIVE_UP_SECONDS
            self._settle(until)
            while (due := self._poller.next_due()) is not None:
                self._advance(max(due - self._clock.now(), timedelta(0)), until)

    def _advance(self, by: timedelta, until: Deadline) -> None:
        self._settle(until)
        step = max(MIN_STEP, by / MAX_STEPS)
        while by >= timedelta(0):
            hop = min(by, step, self._until_next_message() or step)
            self._clock.turn(hop)
            by -= hop
            self._run_due(until)
            if not by:
                return

    def _until_next_message(self) -> timedelta | None:
        due = self._poller.next_due()
        ahead = due - self._clock.now() if due is not None else timedelta(0)
        return ahead if ahead > timedelta(0) else None

    def _run_due(self, until: Deadline) -> None:
        self._settle(until)
        fire = self._schedules.fire_due
        for _ in range(MAX_ROUNDS):
            before = self._moves()
            if not fire():
                return
            self._settle(until)
            # A tick's jobs may make more work due. A tick that sends nothing ends the loop.
            if self._moves() == before:
                return
            fire = self._schedules.fire_all

    def _settle(self, until: Deadline) -> None:
        """Wait until neither the poller nor the Twilio sandbox has work left.

        Raises:
            RestlessError: Work is left at the moment `until`.
        """
        while True:
            before = self._moves()
            if not (self._sandbox.settle(until=until) and self._poller.settle(until=until)):
                raise RestlessError("the queues did not become empty")
            if self._moves() == before:
                return

    def _moves(self) -> tuple[int, int]:
        return self._sandbox.callbacks, self._poller.batches
