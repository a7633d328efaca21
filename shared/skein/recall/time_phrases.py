"""Parse English phrases such as "last March", and dates in digits, into ranges of time.

A phrase without a year means the most recent matching time that has begun.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "couple of": 2, "few": 3,
}  # fmt: skip
_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_COUNT = r"(?:a )?(?P<count>\d{1,3}|" + "|".join(_COUNTS) + ")"


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A range of time that a text names.

    Attributes:
        phrase: The words that name the range.
        first_at: The range's first second, in seconds since 1970.
        last_at: The range's last second, in seconds since 1970.
    """

    phrase: str
    first_at: int
    last_at: int


Days = tuple[date, date]
"""The first and the last day of a range."""


def time_range_in(text: str, now: datetime, zone: ZoneInfo) -> TimePhrase | None:
    """Return the past or present range of time that a text names, or None.

    If a text names several ranges, the phrase of the most exact kind is used.

    Args:
        zone: The time zone in which days begin.
    """
    today = now.astimezone(zone).date()
    for pattern, days_of in _phrases():
        for match in pattern.finditer(text):
            days = days_of(match, today)
            if days is None or days[0] > today:
                continue
            begin = datetime.combine(days[0], time(), zone)
            end = datetime.combine(days[1] + timedelta(days=1), time(), zone)
            return TimePhrase(match[0], int(begin.timestamp()), int(end.timestamp()) - 1)
    return None


def seconds_of(moment: str, zone: ZoneInfo, *, last: bool) -> int:
    """Return the first or last second of a day, or a moment itself, in seconds since 1970.

    Args:
        moment: A date or a time by ISO 8601, such as `2026-02-18` or `2026-02-18T14:00`.
        zone: The time zone, if the moment has none.
        last: Whether the moment ends a range, so that a date means its last second.

    Raises:
        ValueError: The moment is not a date or a time by ISO 8601.
    """
    try:
        if len(moment) == len("2026-02-18"):
            day = date.fromisoformat(moment)
            if not last:
                return int(datetime.combine(day, time(), zone).timestamp())
            return int(datetime.combine(day + timedelta(days=1), time(), zone).timestamp()) - 1
        at = datetime.fromisoformat(moment)
        return int((at if at.tzinfo is not None else at.replace(tzinfo=zone)).timestamp())
    except OverflowError:
        raise ValueError(f"out of range: {moment}") from None


def _month_of(match: re.Match[str]) -> int:
    return 1 + next(
        number for number, name in enumerate(_MONTHS) if name.startswith(match["month"][:3].lower())
    )


def _whole_month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _iso_day(match: re.Match[str], _today: date) -> Days | None:
    return _day(int(match["year"]), int(match["month"]), int(match["day"]))


def _day(year: int, month: int, day: int) -> Days | None:
    try:
        one = date(year, month, day)
    except ValueError:
        return None
    return one, one


def _named_day(match: re.Match[str], today: date) -> Days | None:
    month, day = _month_of(match), int(match["day"])
    if match["year"]:
        return _day(int(match["year"]), month, day)
    found = _day(today.year, month, day)
    if found is None or found[0] > today:
        return _day(today.year - 1, month, day)
    return found


def _named_month(match: re.Match[str], today: date) -> Days:
    month, year = _month_of(match), match.groupdict().get("year")
    if year:
        return _whole_month(int(year), month)
    begun = month <= today.month
    if (match.groupdict().get("which") or "").lower().startswith("last"):
        begun = month < today.month
    return _whole_month(today.year if begun else today.year - 1, month)


def _whole_year(match: re.Match[str], _today: date) -> Days:
    year = int(match["year"])
    return date(year, 1, 1), date(year, 12, 31)


def _named_relative_day(match: re.Match[str], today: date) -> Days:
    words = match[0].lower()
    if "before yesterday" in words:
        back = 2
    elif "yesterday" in words or words == "last night":
        back = 1
    else:
        back = 0
    day = today - timedelta(days=back)
    return day, day


def _weekday(match: re.Match[str], today: date) -> Days:
    number = _DAYS.index(match["weekday"].lower())
    day = today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    return day, day


def _span(match: re.Match[str], today: date) -> Days:
    """Return the range of "this" or "last" week, weekend, month or year; weeks begin on Monday."""
    back = 0 if match["which"].lower() == "this" else 1
    unit = match["unit"].lower()
    if unit == "year":
        return date(today.year - back, 1, 1), date(today.year - back, 12, 31)
    if unit == "month":
        return _month_back(today, back)
    monday = today - timedelta(days=today.weekday() + 7 * back)
    if unit == "weekend":
        return monday + timedelta(days=5), monday + timedelta(days=6)
    return monday, monday + timedelta(days=6)


def _month_back(today: date, back: int) -> Days:
    months = today.year * 12 + today.month - 1 - back
    return _whole_month(*_year_and_month(months))


def _year_and_month(months: int) -> tuple[int, int]:
    return months // 12, months % 12 + 1


def _ago(match: re.Match[str], today: date) -> Days | None:
    """Return the day, week, month or year that a phrase such as "two weeks ago" means."""
    count = int(_COUNTS.get(match["count"].lower(), 0) or match["count"])
    unit = match["unit"].lower()
    if unit == "day":
        return today - timedelta(days=count), today - timedelta(days=count)
    if unit == "week":
        middle = today - timedelta(days=7 * count)
        return middle - timedelta(days=3), middle + timedelta(days=3)
    if unit == "month":
        return _month_back(today, count)
    year = today.year - count
    return (date(year, 1, 1), date(year, 12, 31)) if year > 0 else None


def _past(match: re.Match[str], today: date) -> Days:
    """Return the range that a phrase such as "the past two weeks" means; it ends today."""
    count = int(_COUNTS.get((match["count"] or "one").lower(), 0) or match["count"])
    days = {"day": 1, "week": 7, "month": 31, "year": 366}[match["unit"].lower()]
    return today - timedelta(days=days * count), today


_DaysOf = Callable[[re.Match[str], date], Days | None]


def _compiled() -> Iterator[tuple[re.Pattern[str], _DaysOf]]:
    """Yield the patterns of phrases with their functions, the more exact patterns first."""
    unit = r"(?P<unit>day|week|month|year)s?\b"
    phrases: list[tuple[str, _DaysOf]] = [
        (r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b", _iso_day),
        (rf"\b{_MONTH} {_DAY}(?:,? {_YEAR})?", _named_day),
        (rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", _named_day),
        (r"\b(?:the day before yesterday|yesterday|last night|(?:earlier )?today)\b",
         _named_relative_day),
        (rf"\b{_MONTH} (?:of )?{_YEAR}", _named_month),
        (rf"\b(?P<which>last|this past|this|in|during|since) (?:early |mid |late )?{_MONTH}",
         _named_month),
        (rf"\b(?:last|on|this past) (?P<weekday>{'|'.join(_DAYS)})\b", _weekday),
        (rf"\b{_COUNT} {unit} ago\b", _ago),
        (rf"\b(?:past|last) (?P<count>\d{{1,3}}|{'|'.join(_COUNTS)}) {unit}", _past),
        (r"\b(?P<which>last|this) (?P<unit>week|weekend|month|year)\b", _span),
        (rf"\b(?:in|during|of) {_YEAR}", _whole_year),
    ]  # fmt: skip
    for text, days_of in phrases:
        yield re.compile(text, re.IGNORECASE), days_of


@lru_cache(maxsize=1)
def _phrases() -> tuple[tuple[re.Pattern[str], _DaysOf], ...]:
    return tuple(_compiled())
