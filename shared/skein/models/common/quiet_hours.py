"""Quiet hours: the hours of a day in which plans send a person no SMS."""

from datetime import UTC, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

LocalTime = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class QuietHours(BaseModel):
    """Quiet hours of each day, in the person's time zone.

    They begin at `from` and end at `to`, on the next day if `to` is earlier. Equal times mean that
    there are no quiet hours.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True
    )

    from_: Annotated[LocalTime, Field(alias="from", description="Local time, such as `21:00`.")]
    to: Annotated[LocalTime, Field(description="Local time; equal to `from`: no quiet hours.")]

    def end_after(self, moment: datetime, zone: str) -> datetime | None:
        """Return the end of the quiet hours that are in force at a moment.

        If a change of the clocks skips the end, the end is computed with the offset before the
        change. If the end occurs twice, the first occurrence after `moment` counts.

        Args:
            zone: The IANA name of the person's time zone.

        Returns:
            The end in UTC, later than `moment`; None if the moment lies outside quiet hours.
        """
        local = moment.astimezone(ZoneInfo(zone))
        wall, begin, end = local.time(), time.fromisoformat(self.from_), time.fromisoformat(self.to)
        within = begin <= wall < end if begin <= end else wall >= begin or wall < end
        if not within:
            return None
        day = local.date() if wall < end else local.date() + timedelta(days=1)
        ends = datetime.combine(day, end, tzinfo=local.tzinfo)
        occurrences = (ends.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
        return next((each for each in occurrences if each > moment), None)
