"""Schedules of EventBridge rules, fired by the local clock."""

import json
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from local.errors import BadTemplateError
from local.events import schedule_event
from local.functions import Invoker
from local.template import Function, Schedule
from skein.ports import Clock

POLL_SECONDS = 0.5
UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}

logger = logging.getLogger(__name__)


@dataclass
class _Rule:
    schedule: Schedule
    function: Function
    every: timedelta
    due_at: datetime


class Schedules:
    """Scheduler that calls functions by their schedules, first at the start.

    Args:
        functions_with_schedules: The template's functions.
        functions: Runs the functions.
        clock: The local clock.
    """

    def __init__(
        self,
        functions_with_schedules: Sequence[Function],
        *,
        functions: Invoker,
        clock: Clock,
    ) -> None:
        self._functions = functions
        self._clock = clock
        now = clock.now()
        self._rules = [
            _Rule(schedule, function, parse(schedule.expression), due_at=now)
            for function in functions_with_schedules
            for schedule in function.schedules
        ]
        self._firing = threading.RLock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="schedules", daemon=True)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Block other threads from firing rules within the block, after the current firing."""
        with self._firing:
            yield

    def start(self) -> None:
        """Start firing rules."""
        self._thread.start()

    def stop(self) -> None:
        """Stop firing rules."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def fire_due(self) -> int:
        """Fire each due rule once, in this thread; return the number of rules fired."""
        with self._firing:
            now = self._clock.now()
            due = [rule for rule in self._rules if rule.due_at <= now]
            for rule in due:
                rule.due_at = now + rule.every
                self._fire(rule)
            return len(due)

    def fire_all(self) -> int:
        """Fire every rule, due or not, in this thread; return the number of rules."""
        with self._firing:
            for rule in self._rules:
                self._fire(rule)
            return len(self._rules)

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
        BadTemplateError: The expression is not a `rate(...)`, the only kind in the template.
    """
    rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if rate is None:
        raise BadTemplateError(f"not a schedule: {expression}")
    return int(rate[1]) * UNITS[rate[2]]
