"""Injected faults: their kinds, their probabilities and how callers see them.

All faults are injected by this module. Skein's own code knows nothing about them.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from local.events import Request, Response
from local.polling.inbox import Held, Inbox, PolledQueue
from skein.errors import Ambiguous, Throttled, Unavailable
from skein.ports import Clock

Fault = Literal["throttle", "reset", "lost before", "lost after"]
FAULTS: tuple[Fault, ...] = ("throttle", "reset", "lost before", "lost after")

SHARE = 0.05
SHARE_OF_PORTS = 0.01  # of the calls of the table and the queues that fail after the SDK's retries
WRITES = frozenset({"write", "transact", "send"})
LATEST_SECONDS = 2.0  # the longest delay of a late message
COPIED, LATE = 0.1, 0.5  # the shares of messages that come twice, and late

Answer = Callable[[Request], Response]


class Storm:
    """Source of injected faults. It injects none until `raging` is true."""

    def __init__(self, seed: str) -> None:
        self.raging = False
        self.drawn: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.begin(seed)

    def begin(self, seed: str) -> None:
        """Start again with this seed."""
        self._random = random.Random(seed)

    def draw(self, whose: str, share: float = SHARE) -> Fault | None:
        """Decide whether a call fails: return its fault, or None."""
        with self._lock:
            if not self.raging or self._random.random() >= share:
                return None
            fault = self._random.choice(FAULTS)
            self.drawn[f"{whose}: {fault}"] += 1
            return fault

    def taken(self) -> dict[str, int]:
        """Return the counts of faults since the last call of this method."""
        with self._lock:
            drawn = dict(self.drawn)
            self.drawn.clear()
            return drawn

    def chance(self, share: float) -> bool:
        """Return whether an event with this probability happens."""
        with self._lock:
            return self.raging and self._random.random() < share

    def seconds(self, longest: float) -> float:
        """Return a random time up to a maximum."""
        with self._lock:
            return self._random.uniform(0, longest)


def lossy(answer: Answer, storm: Storm, whose: str, request: Request) -> Response:
    """Answer a request, unless an injected fault loses the request or its response.

    Raises:
        ConnectionResetError: A fault was injected.
    """
    fault = storm.draw(whose)
    if fault in {"throttle", "lost before"}:
        raise ConnectionResetError("injected fault: request lost")
    response = answer(request)
    if fault is not None:
        raise ConnectionResetError("injected fault: response lost")
    return response


class ShakenPort:
    """Wraps an adapter of a port, so that some calls fail with the errors that AWS adapters raise.

    Args:
        name: The port's name in the counts of faults.
        storm: Decides which calls fail.
    """

    def __init__(self, adapter: object, name: str, storm: Storm) -> None:
        self._adapter, self._name, self._storm = adapter, name, storm

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._adapter, method)

        def shaken_call(*arguments: Any, **named: Any) -> Any:
            fault = self._storm.draw(self._name, SHARE_OF_PORTS)
            if fault == "throttle":
                raise Throttled("injected fault: throttled")
            if fault == "lost before" or (fault == "reset" and method not in WRITES):
                raise Unavailable("injected fault: call lost")
            answer = call(*arguments, **named)
            if fault is not None:
                raise (Ambiguous if method in WRITES else Unavailable)(
                    "injected fault: answer lost"
                )
            return answer

        return shaken_call


# ------------------------------------------------------------------ what is called over HTTP


def shaken(
    answer: Answer, storm: Storm, *, name: str, throttled: Response, hang_seconds: float
) -> Answer:
    """Return a server whose answers fail with 429, a closed connection or a time-out.

    Args:
        answer: Answers a request.
        storm: Decides which answers fail.
        name: The server's name in the counts of faults.
        throttled: The response to a throttled request.
        hang_seconds: How long the server hangs. It must be longer than the caller waits.
    """

    def respond(request: Request) -> Response:
        fault = storm.draw(name)
        if fault is None:
            return answer(request)
        if fault == "throttle":
            return throttled
        if fault == "lost after" or (fault == "reset" and storm.chance(0.5)):
            answer(request)
        if fault != "reset":
            time.sleep(hang_seconds)
        raise ConnectionResetError("injected fault: no answer")

    return respond


# ------------------------------------------------------------------ what queues do


class UnreliableInbox:
    """An inbox that delivers some messages twice and many late, so that later ones come first.

    Args:
        inbox: The inbox that holds the messages.
        storm: Decides which messages come late or twice.
        copied: The share of messages that come twice.
        late: The share of messages that come late.
    """

    def __init__(
        self,
        inbox: Inbox,
        clock: Clock,
        *,
        storm: Storm,
        copied: float = COPIED,
        late: float = LATE,
    ) -> None:
        self._copied = copied
        self._late = late
        self._inbox = inbox
        self._clock = clock
        self._storm = storm
        self._lock = threading.Lock()
        self._held_back: list[Held] = []
        self._copies = 0

    @property
    def sources(self) -> Sequence[PolledQueue]:
        """See `local.polling.inbox.Inbox`."""
        return self._inbox.sources

    def next_due(self) -> datetime | None:
        """See `local.polling.inbox.Inbox`."""
        with self._lock:
            times = [held.due_at for held in self._held_back]
        return min(filter(None, [*times, self._inbox.next_due()]), default=None)

    def waiting(self) -> list[Held]:
        """See `local.polling.inbox.Inbox`."""
        with self._lock:
            return [*self._inbox.waiting(), *self._held_back]

    def shift(self, by: timedelta) -> int:
        """See `local.polling.inbox.Inbox`."""
        with self._lock:
            for held in self._held_back:
                held.due_at += by
            return self._inbox.shift(by) + len(self._held_back)

    def take(self, source: PolledQueue) -> list[Held]:
        """See `local.polling.inbox.Inbox`."""
        now, most = self._clock.now(), source.settings.batch_size
        with self._lock:
            due = [h for h in self._held_back if h.source is source and h.due_at <= now][:most]
            self._held_back = [held for held in self._held_back if held not in due]
        if due:
            return due
        return [held for held in self._inbox.take(source) if not self._delayed(held, now)]

    def succeed(self, held: Held) -> None:
        """See `local.polling.inbox.Inbox`. The queue knows nothing of the copies made here."""
        if held.message.receipt_handle:
            self._inbox.succeed(held)

    def fail(self, held: Held) -> None:
        """See `local.polling.inbox.Inbox`. A copy that fails is not delivered again."""
        if held.message.receipt_handle:
            self._inbox.fail(held)

    def release(self) -> None:
        """See `local.polling.inbox.Inbox`."""
        self._inbox.release()

    def _delayed(self, held: Held, now: datetime) -> bool:
        """Randomly hold a message back, or plan a copy of it; return whether it is held back."""
        late, copied = self._storm.chance(self._late), self._storm.chance(self._copied)
        with self._lock:
            if copied:
                self._copies += 1
                again = replace(held.message, message_id=f"copy-{self._copies}", receipt_handle="")
                self._held_back.append(Held(held.source, again, now + self._some_time()))
                self._storm.drawn["queues: given out twice"] += 1
            if late:
                held.due_at = now + self._some_time()
                self._held_back.append(held)
        return late

    def _some_time(self) -> timedelta:
        return timedelta(seconds=self._storm.seconds(LATEST_SECONDS))
