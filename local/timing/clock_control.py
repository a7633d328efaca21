"""Control of the local clock: move it forward, drain the queues, and reset it.

The clock moves from one due time to the next. At each due time, the stack works until nothing is
due. So the cost of moving the clock depends on the amount of work, not on how far the clock is
moved.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from local.errors import RestlessError
from local.polling.feed import FeedPoller
from local.polling.poller import Poller
from local.timing.clock import TurnableClock
from local.timing.reset import Reset
from local.timing.schedules import Schedules
from local.timing.waiting import BARRIERS, Waiting, WaitingWork
from local.twilio.sandbox import TwilioSandbox
from skein.models.common.base import rfc3339
from skein.models.common.storage import Item
from skein.ports import Table

TURN_SECONDS = 600.0  # the most real time for turning the clock
DRAIN_SECONDS = 60.0
SAY_SECONDS = 10.0  # how often the terminal shows that a call is still at work
MAX_EARLY_ROUNDS = 5  # firings at the end of a turn; each may make more work due
LOOK_SECONDS = 1.0  # how often a waiting drain checks what it waits for
MAX_NAMED_RUNS = 3
BLINK = timedelta(milliseconds=1)
ZERO = timedelta(0)

logger = logging.getLogger(__name__)

Deadline = float
"""A moment of `time.monotonic`."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts of the work that the stack has done so far."""

    taken: Counter[str]
    fired: Counter[str]
    changes: Counter[str]
    callbacks: int
    ahead: timedelta


class ClockControl:
    """Moves the clock, and waits until all work that becomes due is finished.

    Args:
        feed: The poller of the table's changes.
        sandbox: The Twilio sandbox, which sends status callbacks asynchronously.
        waiting: Lists the work that waits.
        table: The table, in which a reset corrects stored times.
        all_items: Returns all items of the table.
        restart: Called at a reset, to drop times that are kept in memory.
    """

    def __init__(
        self,
        clock: TurnableClock,
        *,
        poller: Poller,
        feed: FeedPoller,
        schedules: Schedules,
        sandbox: TwilioSandbox,
        waiting: WaitingWork,
        table: Table,
        all_items: Callable[[], Iterable[Item]],
        restart: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._poller = poller
        self._feed = feed
        self._schedules = schedules
        self._sandbox = sandbox
        self._waiting = waiting
        self._table = table
        self._all_items = all_items
        self._restart = restart
        self._one_at_a_time = threading.Lock()
        self._say_at = 0.0

    def advance(self, by: timedelta) -> dict[str, object]:
        """Advance the clock, and run all work that becomes due, in the order of the due times.

        Returns:
            The report: what was done, the clock's new time and its offset.

        Raises:
            RestlessError: The stack is still busy after ten minutes of real time.
        """
        with self._one_at_a_time, self._schedules.held_back():
            before = self._counts()
            self._advance(by, time.monotonic() + TURN_SECONDS)
            return self._report(before)

    def drain(self) -> dict[str, object]:
        """Handle all queued messages. Move the clock past short delays only.

        `local.timing.waiting.POLICY` lists the delays that the clock is moved past. If the model
        fails, the drain waits in real time until the model works again.

        Returns:
            The report: what was done, what still waits, the clock's new time and its offset.

        Raises:
            RestlessError: Work is left after a minute of real time. The error contains the report.
        """
        with self._one_at_a_time, self._schedules.held_back():
            before = self._counts()
            until = time.monotonic() + DRAIN_SECONDS
            try:
                self._drain(until)
            except RestlessError as error:
                raise RestlessError(str(error), self._report(before, waiting=True)) from error
            return self._report(before, waiting=True)

    def reset(self) -> dict[str, object]:
        """Set the clock to real time, and correct stored times that would hold work back.

        Returns:
            The report: the number of corrected items and messages, and what still waits.

        Raises:
            RestlessError: Functions are still running after a minute. In this case, nothing was
                changed.
        """
        with self._one_at_a_time, self._schedules.held_back():
            before = self._counts()
            self._settle(time.monotonic() + DRAIN_SECONDS)
            with self._poller.paused(), self._feed.paused():
                back = self._clock.ahead
                real = Reset(self._table, self._clock.now() - back, back)
                items = real.correct(self._all_items())
                messages = self._poller.shift(-back)
                self._feed.shift(-back)
                self._clock.reset()
                self._schedules.shift(-back)
                self._restart()
            corrected = {"items": items, "messages": messages}
            return {"corrected": corrected, **self._report(before, waiting=True)}

    def _advance(self, left: timedelta, until: Deadline) -> None:
        early_rounds = 0
        while True:
            moves = self._settle(until)
            moments = (
                self._poller.next_due(),
                self._feed.next_due(),
                self._schedules.next_useful(),
            )
            if self._moves() != moves:
                continue  # a message became due in real time, and was taken meanwhile
            hop = min((m - self._clock.now() for m in moments if m is not None), default=left)
            hop = min(max(hop, ZERO), left)
            self._turn(hop, until)
            left -= hop
            fired = self._schedules.fire_useful(early=not left)
            self._settle(until)
            if left:
                continue
            early_rounds += 1
            if not fired or early_rounds == MAX_EARLY_ROUNDS:
                return

    def _drain(self, until: Deadline) -> None:
        while True:
            moves = self._settle(until)
            if self._schedules.fire_useful(early=False):
                continue
            waiting = self._waiting.in_queues()
            if self._moves() != moves:
                continue  # a message became due in real time, and was taken meanwhile
            delays = [each.until for each in waiting if each.step == "turn"]
            moment = min(delays, default=None)
            if moment is not None and moment <= self._barrier(waiting, moment):
                self._turn(max(moment - self._clock.now(), ZERO) + BLINK, until)
                continue
            models = [each.until for each in waiting if each.step == "wait"]
            if not (delays or models):
                return
            self._wait_until(min(delays + models), waiting, until)

    def _barrier(self, waiting: Iterable[Waiting], moment: datetime) -> datetime:
        """Return the time up to which a drain may move the clock: `moment`, or an earlier time.

        A drain must not move the clock past the end of a wait whose kind is in `BARRIERS`.
        """
        others = (*waiting, *self._waiting.due_until(moment))
        barred = (each.until for each in others if each.kind in BARRIERS)
        return min(barred, default=moment)

    def _wait_until(self, moment: datetime, waiting: Iterable[Waiting], until: Deadline) -> None:
        """Wait in real time until `moment`, but at most for `LOOK_SECONDS`.

        Raises:
            RestlessError: `moment` is later than `until`.
        """
        seconds = (moment - self._clock.now() + BLINK).total_seconds()
        why = _why(waiting)
        if time.monotonic() + seconds > until:
            raise RestlessError(f"Gave up: {why}; the next try is at {rfc3339(moment)}.")
        if time.monotonic() > self._say_at:
            self._say_at = time.monotonic() + SAY_SECONDS
            logger.info("drain waits: %s; the next try is at %s", why, rfc3339(moment))
        self._poller.sleep(min(max(seconds, 0.0), LOOK_SECONDS))

    def _turn(self, by: timedelta, until: Deadline) -> None:
        if by:
            self._clock.turn(by)
            self._poller.wake()
            self._feed.wake()
            self._settle(until)

    def _settle(self, until: Deadline) -> tuple[int, int, int]:
        """Wait until the pollers and the Twilio sandbox have no work left.

        Returns:
            Counts of all work so far. If a later call returns higher counts, new work has begun in
            between.

        Raises:
            RestlessError: Work is still left when `until` has come.
        """
        while True:
            before = self._moves()
            parts = (self._sandbox.settle, self._feed.settle, self._poller.settle)
            if not all(self._settled(settle, until) for settle in parts):
                raise RestlessError(f"Gave up: {self._at_work()}.")
            if self._moves() == before:
                return before

    def _settled(self, settle: Callable[..., bool], until: Deadline) -> bool:
        """Wait until a part of the stack has no more work; if this takes long, log what is running.

        Returns:
            Whether the part had no more work before `until`.
        """
        while (now := time.monotonic()) < until and not self._poller.stopping:
            if settle(until=min(until, now + SAY_SECONDS)):
                return True
            if now + SAY_SECONDS < until:
                logger.info("the clock waits: %s", self._at_work())
        return False

    def _at_work(self) -> str:
        running = self._poller.running()
        if not running:
            return "messages, changes of the table or status callbacks are due and not taken"
        return ", ".join(
            f"{name} has {count} running {'batch' if count == 1 else 'batches'}"
            for name, count in running.items()
        )

    def _moves(self) -> tuple[int, int, int]:
        return self._sandbox.callbacks, self._feed.batches, self._poller.batches

    def _counts(self) -> _Counts:
        return _Counts(
            self._poller.taken(),
            self._schedules.fired(),
            self._feed.taken(),
            self._sandbox.callbacks,
            self._clock.ahead,
        )

    def _report(self, before: _Counts, *, waiting: bool = False) -> dict[str, object]:
        after = self._counts()
        report: dict[str, object] = {
            "now": rfc3339(self._clock.now()),
            "offset_seconds": after.ahead.total_seconds(),
            "done": {
                "jobs": dict(after.taken - before.taken),
                "fired": dict(after.fired - before.fired),
                "changes": dict(after.changes - before.changes),
                "status_callbacks": after.callbacks - before.callbacks,
                "turned_seconds": (after.ahead - before.ahead).total_seconds(),
            },
        }
        if waiting:
            report["waiting_for"], report["left_out"] = self._waiting.report()
        return report


def _why(waiting: Iterable[Waiting]) -> str:
    """Say why a drain waits in real time."""
    runs = [str(each.names["run_id"]) for each in waiting if each.step == "wait"]
    if not runs:
        return "a delay is left behind other work that the clock must not be turned past"
    return f"the model does not answer {', '.join(runs[:MAX_NAMED_RUNS])}"
