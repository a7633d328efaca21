"""When: what people and models say about time, turned into moments. Pure, apart from zone data."""

import re
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from skein.errors import Unprocessable
from skein.models.base import to_utc

CRON_FIELDS = 5
MAX_CRON_CHARACTERS = 200
FIRINGS_CHECKED = 100  # at a quarter of an hour, more than a day's
FARTHEST = timedelta(days=3_660)  # ten years ahead

_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_AFTER = re.compile(r"(?P<n>[1-9][0-9]{0,8}) +(?P<unit>second|minute|hour|day|week)s?")
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?", re.ASCII
)


def zone_of(name: str) -> ZoneInfo:
    """The IANA time zone of this name.

    Raises:
        Unprocessable: There is none.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # what zoneinfo raises for odd names of all sorts
        raise Unprocessable("time_zone is not an IANA time zone such as Europe/Berlin") from None


def after_a_while(text: str, now: datetime) -> datetime:
    """The moment that lies e.g. `2 hours` after `now`; a day is 24 hours, whatever the clocks do.

    Raises:
        Unprocessable: The text has another form, or means more than ten years.
    """
    match = _AFTER.fullmatch(text.strip().lower())
    if match is None:
        raise Unprocessable(
            'run_after must look like "90 seconds", "20 minutes", "2 hours", "1 day" or "3 weeks"'
        )
    seconds = int(match["n"]) * _SECONDS[match["unit"]]
    if seconds > FARTHEST.total_seconds():
        raise Unprocessable("run_after must not mean more than ten years")
    return now + timedelta(seconds=seconds)


def moment_of(text: str, zone: ZoneInfo, now: datetime) -> datetime:
    """The moment that an RFC 3339 time, or a local time of `zone`, names; it must lie ahead.

    A local time that the clocks skip is taken by the offset before the gap, and of one that comes
    twice the first is meant, as in calendars (RFC 5545, section 3.3.5).

    Raises:
        Unprocessable: The text is no such time, or it lies in the past or over ten years ahead.
    """
    form = text.strip().upper()
    try:
        if _MOMENT.fullmatch(form) is None:
            raise ValueError("not of this form")  # noqa: TRY301 - one answer to every bad time
        named = datetime.fromisoformat(form)
        moment = to_utc(named if named.tzinfo else named.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        raise Unprocessable(
            "scheduled_at must be a time such as 2026-02-18T17:00:00Z, or 2026-02-18T17:00 in the "
            "plan's time zone"
        ) from None
    if moment <= now:
        raise Unprocessable("scheduled_at must lie in the future")
    if moment > now + FARTHEST:
        raise Unprocessable("scheduled_at must not lie more than ten years ahead")
    return moment


def next_time(cron: str, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The first moment strictly after `after` that a cron expression names in `zone`.

    Where clocks change, it goes by Debian's cron: a fixed time that the clocks skip comes right
    after the gap, and one that they repeat comes once; `*` goes by the time that really passes.

    Returns:
        The moment in UTC, or None when there is none in the next 50 years.

    Raises:
        Unprocessable: This is no cron expression of five fields.
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
    # Of an hour that is repeated, the library names the first, which may have passed.
    return next((at for local in times if (at := local.astimezone(UTC)) > after), None)


def fires_too_often(cron: str, least: timedelta, after: datetime) -> bool:
    """Whether two of a valid cron expression's next 100 times are less than `least` apart.

    Goes by UTC, so that a change of the clocks makes no plan invalid.
    """
    times = islice(CronSim(cron, after.astimezone(UTC)), FIRINGS_CHECKED)
    return any(later - earlier < least for earlier, later in pairwise(times))
