"""Parse the delays, times and cron expressions of plans.

The functions are pure, apart from reading time zone data.
"""

import re
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from skein.errors import Unprocessable
from skein.models.common.base import to_utc

CRON_FIELDS = 5
MAX_CRON_CHARACTERS = 200
FIRINGS_CHECKED = 100  # more than a day, if a plan fires every 15 minutes
FARTHEST = timedelta(days=3_660)  # ten years from now

_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_AFTER = re.compile(r"(?P<n>[1-9][0-9]{0,8}) +(?P<unit>second|minute|hour|day|week)s?")
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?", re.ASCII
)


def zone_of(name: str) -> ZoneInfo:
    """Return the IANA time zone with this name.

    Raises:
        Unprocessable: The name is not an IANA time zone.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # zoneinfo raises all of these for invalid names
        raise Unprocessable("time_zone is not an IANA time zone such as Europe/Berlin") from None


def local_time(moment: datetime, zone: str) -> str:
    """Format a time in a zone: `Wednesday 2026-02-18 15:50 in Europe/Berlin`."""
    return f"{moment.astimezone(ZoneInfo(zone)):%A %Y-%m-%d %H:%M} in {zone}"


def after_a_while(text: str, now: datetime) -> datetime:
    """Return the time after a delay such as `2 hours` from `now`.

    A day is always 24 hours, even when clocks change.

    Raises:
        Unprocessable: The text is not a delay of this form, or the delay is longer than ten years.
    """
    match = _AFTER.fullmatch(text.strip().lower())
    if match is None:
        raise Unprocessable(
            'run_after must look like "90 seconds", "20 minutes", "2 hours", "1 day" or "3 weeks"'
        )
    seconds = int(match["n"]) * _SECONDS[match["unit"]]
    if seconds > FARTHEST.total_seconds():
        raise Unprocessable("run_after must not be longer than ten years")
    return now + timedelta(seconds=seconds)


def moment_of(text: str, zone: ZoneInfo, now: datetime) -> datetime:
    """Parse a future time in RFC 3339 form, or a local time in `zone`.

    If the clocks skip a local time, the UTC offset before the gap applies. If a local time occurs
    twice, the first occurrence counts. Both rules follow RFC 5545, section 3.3.5.

    Raises:
        Unprocessable: The text is not a valid time, or the time is not in the next ten years.
    """
    form = text.strip().upper()
    try:
        if _MOMENT.fullmatch(form) is None:
            raise ValueError("not a valid time")  # noqa: TRY301 - one answer to every bad time
        named = datetime.fromisoformat(form)
        moment = to_utc(named if named.tzinfo else named.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        raise Unprocessable(
            "scheduled_at must be a time such as 2026-02-18T17:00:00Z, or 2026-02-18T17:00 in the "
            "plan's time zone"
        ) from None
    if moment <= now:
        raise Unprocessable("scheduled_at must be in the future")
    if moment > now + FARTHEST:
        raise Unprocessable("scheduled_at must be at most ten years in the future")
    return moment


def deadline_of(text: str, zone: ZoneInfo, now: datetime, longest: timedelta) -> datetime:
    """Parse a deadline: a delay such as `3 days`, or a time as in `moment_of`.

    Raises:
        Unprocessable: The text is neither a delay nor a time, or the deadline is more than
            `longest` after `now`.
    """
    is_delay = _AFTER.fullmatch(text.strip().lower()) is not None
    try:
        until = after_a_while(text, now) if is_delay else moment_of(text, zone, now)
    except Unprocessable:
        raise Unprocessable(
            "until must be a delay such as 2 days, or a later time such as 2026-02-18T17:07"
        ) from None
    if until > now + longest:
        raise Unprocessable(f"until must be at most {longest.days} days from now")
    return until


def next_time(cron: str, zone: ZoneInfo, after: datetime) -> datetime | None:
    """Return the first time strictly after `after` at which a cron expression fires in `zone`.

    When clocks change, the rules of Debian's cron apply. A fixed time that the clocks skip fires
    right after the gap. A fixed time that the clocks repeat fires once. An expression with `*`,
    such as every 20 minutes, keeps its interval.

    Returns:
        The time in UTC; None if the expression does not fire in the next 50 years.

    Raises:
        Unprocessable: The text is not a valid cron expression of five fields.
    """
    if len(cron) > MAX_CRON_CHARACTERS or len(cron.split()) != CRON_FIELDS:
        raise Unprocessable(
            "cron must have five fields: minute, hour, day of month, month and day of week, "
            'for example "0 9 * * 1"'
        )
    try:
        times = CronSim(cron, after.astimezone(zone))
    except CronSimError as error:
        raise Unprocessable(f"cron is not valid: {error}") from None
    # In a repeated hour, the library returns the first occurrence, which may have passed.
    return next((at for local in times if (at := local.astimezone(UTC)) > after), None)


def fires_too_often(cron: str, least: timedelta, after: datetime) -> bool:
    """Return whether two of a cron expression's next 100 times are less than `least` apart.

    The expression must be valid. The times are computed in UTC, so that no clock change makes a
    plan invalid.
    """
    times = islice(CronSim(cron, after.astimezone(UTC)), FIRINGS_CHECKED)
    return any(later - earlier < least for earlier, later in pairwise(times))
