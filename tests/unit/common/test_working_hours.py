"""Working hours on the clocks of a time zone."""

from datetime import datetime

import pytest
from pydantic import ValidationError

from skein.models.common.working_hours import ALWAYS, WEEK, WorkingHours

OFFICE = WorkingHours(days=WEEK[:5], from_="09:00", to="17:00", time_zone="Europe/Berlin")
BAR = WorkingHours(days=("friday", "saturday"), from_="20:00", to="02:00")


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}Z")


@pytest.mark.parametrize(
    ("hours", "moment", "opening"),
    [
        (ALWAYS, "2026-02-18T03:00", None),
        (OFFICE, "2026-02-18T07:59:59", "2026-02-18T08:00"),
        (OFFICE, "2026-02-18T08:00", None),
        (OFFICE, "2026-02-18T15:59:59", None),
        (OFFICE, "2026-02-18T16:00", "2026-02-19T08:00"),
        (OFFICE, "2026-02-20T16:00", "2026-02-23T08:00"),  # Friday evening
        (OFFICE, "2026-03-27T17:00", "2026-03-30T07:00"),  # clocks go forward on the weekend
        (BAR, "2026-02-19T21:00", "2026-02-20T20:00"),
        (BAR, "2026-02-21T01:59", None),  # Friday's night
        (BAR, "2026-02-22T02:00", "2026-02-27T20:00"),
    ],
)
def test_opening_after_is_next_begin_or_none_within_the_hours(
    hours: WorkingHours, moment: str, opening: str | None
) -> None:
    assert hours.opening_after(at(moment)) == (at(opening) if opening else None)


@pytest.mark.parametrize("wrong", [{"days": []}, {"time_zone": "Europe/Nowhere"}, {"to": "24:00"}])
def test_hours_that_no_clock_has_are_refused(wrong: dict[str, object]) -> None:
    given = {"from": "09:00", "to": "17:00"} | wrong
    with pytest.raises(ValidationError):
        WorkingHours.model_validate(given)
