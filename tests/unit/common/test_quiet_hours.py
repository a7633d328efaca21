"""Quiet hours on the clocks of a time zone."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skein.models.common.quiet_hours import QuietHours

NIGHT = QuietHours(from_="21:00", to="08:00")


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}Z")


@pytest.mark.parametrize(
    ("moment", "zone", "end"),
    [
        ("2026-02-18T20:59:59", "UTC", None),
        ("2026-02-18T21:00", "UTC", "2026-02-19T08:00"),
        ("2026-02-19T07:59:59", "UTC", "2026-02-19T08:00"),
        ("2026-02-19T08:00", "UTC", None),
        ("2026-02-18T20:00", "Europe/Berlin", "2026-02-19T07:00"),
        ("2026-02-19T07:00", "Europe/Berlin", None),
        ("2026-02-18T08:00", "America/New_York", "2026-02-18T13:00"),
        ("2026-03-28T23:00", "Europe/Berlin", "2026-03-29T06:00"),  # the night has ten hours
        ("2026-10-24T23:00", "Europe/Berlin", "2026-10-25T07:00"),  # the night has twelve hours
    ],
)
def test_night_ends_in_the_morning_of_the_zone(moment: str, zone: str, end: str | None) -> None:
    assert NIGHT.end_after(at(moment), zone) == (at(end) if end else None)


def test_hours_within_a_day_end_on_that_day() -> None:
    noon = QuietHours(from_="12:00", to="14:00")
    assert noon.end_after(at("2026-02-18T12:30"), "UTC") == at("2026-02-18T14:00")
    assert noon.end_after(at("2026-02-18T14:00"), "UTC") is None
    assert noon.end_after(at("2026-02-18T11:59"), "UTC") is None


def test_equal_begin_and_end_mean_no_quiet_hours() -> None:
    none = QuietHours(from_="08:00", to="08:00")
    assert all(none.end_after(at(f"2026-02-18T{hour:02}:00"), "UTC") is None for hour in range(24))


def test_end_that_the_clocks_skip_uses_the_offset_before_the_gap() -> None:
    hours = QuietHours(from_="23:00", to="02:30")
    assert hours.end_after(at("2026-03-29T00:59"), "Europe/Berlin") == at("2026-03-29T01:30")


def test_end_that_occurs_twice_means_the_next_occurrence() -> None:
    hours = QuietHours(from_="23:00", to="02:30")
    assert hours.end_after(at("2026-10-25T00:10"), "Europe/Berlin") == at("2026-10-25T00:30")
    assert hours.end_after(at("2026-10-25T01:10"), "Europe/Berlin") == at("2026-10-25T01:30")


TIMES = st.times().map(lambda one: f"{one:%H:%M}")


@given(
    TIMES,
    TIMES,
    st.integers(1_577_836_800, 2_051_222_400).map(lambda at: datetime.fromtimestamp(at, UTC)),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"]),
)
def test_end_of_quiet_hours_lies_ahead_at_the_named_time(
    begin: str, end: str, moment: datetime, zone: str
) -> None:
    hours = QuietHours(from_=begin, to=end)
    ends = hours.end_after(moment, zone)
    if ends is None:
        return
    assert 0 < (ends - moment).total_seconds() <= 25 * 3_600
    local = ends.astimezone(ZoneInfo(zone))
    named = datetime.combine(local, time.fromisoformat(end), local.tzinfo)
    skipped = named.astimezone(UTC).astimezone(ZoneInfo(zone)).time() != named.time()
    assert f"{local:%H:%M}" == end or skipped


@pytest.mark.parametrize(
    "wrong",
    [
        {"from": "21:00"},
        {"from": "24:00", "to": "08:00"},
        {"from": "9:00", "to": "08:00"},
        {"from": "21:00:00", "to": "08:00"},
        {"from": "21:00", "to": "08:00", "zone": "UTC"},
        "21:00-08:00",
        [],
    ],
)
def test_other_values_are_refused(wrong: object) -> None:
    with pytest.raises(ValidationError):
        QuietHours.model_validate(wrong)


def test_quiet_hours_are_stored_and_shown_with_from_and_to() -> None:
    assert NIGHT.model_dump(mode="json") == {"from": "21:00", "to": "08:00"}
    assert QuietHours.model_validate({"from": "21:00", "to": "08:00"}) == NIGHT
