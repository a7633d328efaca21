"""Working hours: the hours of the week in which a team is at work."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from skein.models.common.base import TimeZone
from skein.models.common.quiet_hours import LocalTime

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEK: tuple[Weekday, ...] = get_args(Weekday)


class WorkingHours(BaseModel):
    """Working hours, the same on each working day.

    They begin at `from` and end at `to`, on the next day if `to` is not later. Equal times mean
    the whole day.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True
    )

    days: Annotated[
        tuple[Weekday, ...],
        Field(min_length=1, max_length=len(WEEK), description="The working days."),
    ] = WEEK
    from_: Annotated[LocalTime, Field(alias="from", description="Local time, such as `09:00`.")]
    to: Annotated[LocalTime, Field(description="Local time; equal to `from`: the whole day.")]
    time_zone: Annotated[TimeZone, Field(description="IANA time zone of these times.")] = "UTC"

    def opening_after(self, moment: datetime) -> datetime | None:
        """Return when the working hours begin again; None while they last.

        Returns:
            The beginning in UTC, later than `moment`; None if the moment lies within them.
        """
        today = moment.astimezone(ZoneInfo(self.time_zone)).date()
        begin, end = time.fromisoformat(self.from_), time.fromisoformat(self.to)
        for each in range(-1, len(WEEK) + 1):
            day = today + timedelta(days=each)
            if WEEK[day.weekday()] not in self.days:
                continue
            opening = self._at(day, begin)
            closing = self._at(day if end > begin else day + timedelta(days=1), end)
            if opening <= moment < closing:
                return None
            if opening > moment:
                return opening
        raise AssertionError("a week has at least one working day")

    def _at(self, day: date, wall: time) -> datetime:
        return datetime.combine(day, wall, tzinfo=ZoneInfo(self.time_zone)).astimezone(UTC)


ALWAYS = WorkingHours(from_="00:00", to="00:00")
