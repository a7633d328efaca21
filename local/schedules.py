"""EventBridge rules with a schedule, fired by the local clock."""

import json
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from local.errors import BadTemplateError
from local.events import schedule_event
from local.functions import Invoker
from local.template import Function, Schedule
from skein.ports import Clock

POLL_SECONDS = 0.5
UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
YEARS_AHEAD = 5

logger = logging.getLogger(__name__)

Next = Callable[[datetime], datetime]


@dataclass
class _Rule:
    schedule: Schedule
    function: Function
    following: Next
    due_at: datetime


class Schedules:
    """Calls the functions that have schedules; every rate fires first at the start.

    Args:
        functions_with_schedules: As the template describes them.
        functions: Where they run.
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
        self._rules: list[_Rule] = []
        for function in functions_with_schedules:
            for schedule in function.schedules:
                following = parse(schedule.expression)
                first = now if schedule.expression.startswith("rate") else following(now)
                self._rules.append(_Rule(schedule, function, following, first))
        self._firing = threading.RLock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="schedules", daemon=True)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Wait for what is firing; until the end of the block only this thread fires."""
        with self._firing:
            yield

    def start(self) -> None:
        """Begin to fire."""
        self._thread.start()

    def stop(self) -> None:
        """Fire no more."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def fire_due(self) -> int:
        """Fire, once each, the rules that have become due, in this thread; returns their number."""
        with self._firing:
            now = self._clock.now()
            due = [rule for rule in self._rules if rule.due_at <= now]
            for rule in due:
                rule.due_at = rule.following(now)
                self._fire(rule)
            return len(due)

    def fire_all(self) -> int:
        """Fire every rule now, due or not, in this thread; returns their number."""
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


def parse(expression: str) -> Next:
    """What gives, for any moment, the next one at which a schedule fires.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html

    Raises:
        BadTemplateError: It is neither a `rate(...)` nor a `cron(...)`.
    """
    rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if rate:
        step = int(rate[1]) * UNITS[rate[2]]
        return lambda moment: moment + step
    cron = re.fullmatch(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)", expression)
    if cron:
        return _Cron(cron.groups()).following
    raise BadTemplateError(f"no schedule: {expression}")


class _Cron:
    """Minutes, hours, day of month, month, day of week (1 or SUN to 7), year; in UTC."""

    def __init__(self, fields: Sequence[str]) -> None:
        minute, hour, day, month, weekday, year = fields
        self._minutes = _values(minute, 0, 59)
        self._hours = _values(hour, 0, 23)
        self._days = _values(day, 1, 31)
        self._months = _values(month, 1, 12, MONTHS)
        self._weekdays = _values(weekday, 1, 7, WEEKDAYS)
        self._years = _values(year, 1970, 2199)

    def following(self, moment: datetime) -> datetime:
        """The first moment after `moment` that fits."""
        at = moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = at.year + YEARS_AHEAD
        while at.year <= last:
            if not self._fits_day(at):
                at = at.replace(hour=0, minute=0) + timedelta(days=1)
            elif at.hour not in self._hours:
                at = at.replace(minute=0) + timedelta(hours=1)
            elif at.minute not in self._minutes:
                at += timedelta(minutes=1)
            else:
                return at
        return datetime.max.replace(tzinfo=UTC)

    def _fits_day(self, at: datetime) -> bool:
        return (
            at.day in self._days
            and at.month in self._months
            and at.isoweekday() % 7 + 1 in self._weekdays
            and at.year in self._years
        )


def _values(field: str, first: int, last: int, names: Sequence[str] = ()) -> frozenset[int]:
    """The numbers that a field of a cron expression stands for."""
    values: set[int] = set()
    for part in field.upper().split(","):
        span, _, step = part.partition("/")
        if span in {"*", "?"}:
            low, high = first, last
        else:
            start, _, end = span.partition("-")
            low = _number(start, names)
            high = _number(end, names) if end else (last if step else low)
        values.update(range(low, high + 1, int(step or 1)))
    return frozenset(values)


def _number(text: str, names: Sequence[str]) -> int:
    if text in names:
        return names.index(text) + 1
    try:
        return int(text)
    except ValueError as error:
        raise BadTemplateError(f"{text} in a cron expression is not understood") from error
