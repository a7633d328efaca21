"""Schedules of EventBridge rules, which the local clock fires.

When the clock is moved forward, a rule is not fired at each of its scheduled times. Its function
reads partitions of the due index, and would usually find nothing. So a rule is fired only at the
first of its times at which something in these partitions is due.
"""

import json
import logging
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from local.errors import BadTemplateError
from local.events import schedule_event
from local.functions import Invoker
from local.template import Function, Schedule
from local.timing.due_index import DueIndex, DuePart
from skein.models.outbox.due import DUE_SHARDS, DueKind
from skein.ports import Clock
from skein.services.outbox.tick import BACKGROUND_KINDS
from skein.services.outbox.tick import KINDS as TICK_KINDS

POLL_SECONDS = 0.5
UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}

# The kinds of due items that a function with a schedule looks for. A function that is not listed is
# fired at each of its times.
KINDS: Mapping[str, tuple[DueKind, ...]] = {
    "Tick": (*TICK_KINDS, "plan", "merge", "pause", *BACKGROUND_KINDS),
    "BackgroundFinder": ("consolidation", "fading"),
}

logger = logging.getLogger(__name__)


@dataclass
class _Rule:
    """One schedule of a function.

    Attributes:
        parts: The partitions of the due index that the function reads; None if they are not known.
        due_at: The next scheduled time of the rule.
    """

    schedule: Schedule
    function: Function
    every: timedelta
    parts: tuple[DuePart, ...] | None
    due_at: datetime

    def first_due(self, earliest: Mapping[DuePart, datetime]) -> datetime | None:
        """Return when the rule's function will have work.

        This may be before or after a scheduled time of the rule.

        Returns:
            The earliest due time in the partitions that the function reads, or None if they are
                empty. If the partitions are not known, the rule's next time.
        """
        if self.parts is None:
            return self.due_at
        return min((earliest[part] for part in self.parts if part in earliest), default=None)

    def next_useful(self, earliest: Mapping[DuePart, datetime]) -> datetime | None:
        """Return the first scheduled time of the rule at which work is due; None for never."""
        first = self.first_due(earliest)
        if first is None or first <= self.due_at:
            return self.due_at if first is not None else None
        return self.due_at - (self.due_at - first) // self.every * self.every


class Schedules:
    """Calls functions by their schedules. The first call is at the start of the stack.

    Args:
        functions_with_schedules: The template's functions.
        due_index: Tells for which rules something is due.
    """

    def __init__(
        self,
        functions_with_schedules: Sequence[Function],
        *,
        functions: Invoker,
        clock: Clock,
        due_index: DueIndex,
    ) -> None:
        self._functions = functions
        self._clock = clock
        self._due_index = due_index
        now = clock.now()
        self._rules = [
            _Rule(
                schedule,
                function,
                parse(schedule.expression),
                parts=_parts(function),
                due_at=now,
            )
            for function in functions_with_schedules
            for schedule in function.schedules
        ]
        self._fired: Counter[str] = Counter()
        self._firing = threading.RLock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="schedules", daemon=True)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Fire no rules within the block. First wait until no rule is being fired."""
        with self._firing:
            yield

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def fired(self) -> Counter[str]:
        """Return how often each function was called by a rule so far."""
        with self._firing:
            return Counter(self._fired)

    def fire_due(self) -> int:
        """Fire each due rule once, in this thread; return the number of rules fired."""
        with self._firing:
            now = self._clock.now()
            due = [rule for rule in self._rules if rule.due_at <= now]
            self._fire_all(due, now)
            return len(due)

    def next_useful(self) -> datetime | None:
        """Return the next time at which a rule fires and its function finds work; None if never."""
        with self._firing:
            earliest = self._earliest(self._rules)
            times = [rule.next_useful(earliest) for rule in self._rules]
            return min((time for time in times if time is not None), default=None)

    def fire_useful(self, *, early: bool) -> int:
        """Fire each rule whose function would find work now; return the number of rules fired.

        Args:
            early: Whether to fire also rules whose scheduled time has not come.
        """
        with self._firing:
            now = self._clock.now()
            rules = [rule for rule in self._rules if early or rule.due_at <= now]
            earliest = self._earliest(rules)
            useful = [
                rule
                for rule in rules
                if (first := rule.first_due(earliest)) is not None and first <= now
            ]
            self._fire_all(useful, now)
            return len(useful)

    def shift(self, by: timedelta) -> None:
        """Move the next scheduled times of all rules."""
        with self._firing:
            for rule in self._rules:
                rule.due_at += by

    def _earliest(self, rules: Iterable[_Rule]) -> dict[DuePart, datetime]:
        parts = {part: None for rule in rules for part in rule.parts or ()}
        return self._due_index.earliest(parts)

    def _fire_all(self, rules: Sequence[_Rule], now: datetime) -> None:
        for rule in rules:
            rule.due_at = now + rule.every
            self._fired[rule.function.logical_id] += 1
            self._fire(rule)

    def _fire(self, rule: _Rule) -> None:
        given = rule.schedule.input
        event = (
            json.loads(given) if given else schedule_event(rule.schedule.name, self._clock.now())
        )
        try:
            self._functions.invoke(rule.function, event)
        except Exception:
            if not self._stopping.is_set():
                logger.exception("%s failed", rule.function.logical_id)

    def _loop(self) -> None:
        while not self._stopping.is_set():
            self.fire_due()
            self._stopping.wait(POLL_SECONDS)


def parse(expression: str) -> timedelta:
    """Parse a schedule expression and return its interval.

    See https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html.

    Raises:
        BadTemplateError: The expression is not a `rate(...)`. The template uses no other kind.
    """
    rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if rate is None:
        raise BadTemplateError(f"not a schedule: {expression}")
    return int(rate[1]) * UNITS[rate[2]]


def _parts(function: Function) -> tuple[DuePart, ...] | None:
    kinds = KINDS.get(function.logical_id)
    if kinds is None:
        return None
    return tuple(DuePart(kind, shard) for kind in kinds for shard in range(DUE_SHARDS))
