"""What people and models say about time."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.errors import Unprocessable
from skein.services.common.schedule import after_a_while, moment_of, next_time, zone_of
from tests.support.builders import NOON

BERLIN = ZoneInfo("Europe/Berlin")
SPRING = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)  # clocks go from 2:00 to 3:00 on the 29th
AUTUMN = datetime(2026, 10, 24, 12, 0, tzinfo=UTC)  # and from 3:00 to 2:00 on October 25th


def times(cron: str, after: datetime, count: int, zone: ZoneInfo = BERLIN) -> list[str]:
    """The next `count` times, in UTC."""
    found: list[str] = []
    for _ in range(count):
        at = next_time(cron, zone, after)
        assert at is not None
        found.append(f"{at:%m-%d %H:%M}")
        after = at
    return found


# ---------------------------------------------------------------------- after a while


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 second", 1),
        ("90 seconds", 90),
        ("1 minute", 60),
        ("20 minutes", 1_200),
        ("2 hours", 7_200),
        ("1 day", 86_400),
        ("2 weeks", 1_209_600),
        (" 2  HOURS ", 7_200),
        ("1 hours", 3_600),
    ],
)
def test_relative_time_counts_from_now(text: str, seconds: int) -> None:
    assert after_a_while(text, NOON) == NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "0 minutes",
        "-1 hours",
        "1.5 hours",
        "2h",
        "2 months",
        "٢ hours",
        "1 hour 2 minutes",
    ],
)
def test_a_while_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(Unprocessable, match="run_after must look like"):
        after_a_while(text, NOON)


def test_a_while_of_more_than_ten_years_is_refused() -> None:
    with pytest.raises(Unprocessable, match="ten years"):
        after_a_while("999999999 weeks", NOON)


# ---------------------------------------------------------------------- at a time


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-02-18T17:00:00Z", "17:00"),
        ("2026-02-18t17:00:00.5z", "17:00"),
        ("2026-02-18T17:00:00+02:00", "15:00"),
        ("2026-02-18T17:00:00", "16:00"),
        ("2026-02-18 17:00", "16:00"),
    ],
)
def test_a_time_without_an_offset_is_local(text: str, utc: str) -> None:
    assert f"{moment_of(text, BERLIN, NOON):%H:%M}" == utc


def test_a_local_time_that_the_clocks_skip_lies_behind_the_gap() -> None:
    at = moment_of("2026-03-29T02:30", BERLIN, SPRING)
    assert at.astimezone(BERLIN).isoformat() == "2026-03-29T03:30:00+02:00"


def test_ambiguous_local_time_resolves_to_its_first_occurrence() -> None:
    at = moment_of("2026-10-25T02:30", BERLIN, AUTUMN)
    assert at.astimezone(BERLIN).isoformat() == "2026-10-25T02:30:00+02:00"


@pytest.mark.parametrize("text", ["2026-02-18T12:00:00Z", "2020-01-01T00:00", "0001-01-01T00:00Z"])
def test_a_time_that_has_passed_is_refused(text: str) -> None:
    with pytest.raises(Unprocessable, match="future"):
        moment_of(text, BERLIN, NOON)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2026-02-30T12:00Z",
        "2026-02-19",
        "20260219T120000Z",
        "0001-01-01T00:00+23:00",
    ],
)
def test_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(Unprocessable, match="scheduled_at must be a time"):
        moment_of(text, BERLIN, NOON)


def test_a_time_more_than_ten_years_ahead_is_refused() -> None:
    with pytest.raises(Unprocessable, match="ten years"):
        moment_of("9999-12-31T00:00Z", BERLIN, NOON)


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../etc/passwd", "Europe", "\0", "x" * 5_000])
def test_invalid_time_zone_is_refused(name: str) -> None:
    with pytest.raises(Unprocessable, match="time_zone"):
        zone_of(name)


# ---------------------------------------------------------------------- again and again


def test_nine_in_berlin_stays_nine_in_berlin_when_the_clocks_change() -> None:
    assert times("0 9 * * *", SPRING, 2) == ["03-29 07:00", "03-30 07:00"]
    assert times("0 9 * * *", AUTUMN - timedelta(days=1), 3) == [
        "10-24 07:00",
        "10-25 08:00",
        "10-26 08:00",
    ]


def test_a_time_that_the_clocks_skip_comes_right_after_the_gap_and_once() -> None:
    assert times("30 2 * * *", SPRING, 2) == ["03-29 01:00", "03-30 00:30"]


def test_a_time_that_the_clocks_repeat_comes_once() -> None:
    assert times("30 2 * * *", AUTUMN, 2) == ["10-25 00:30", "10-26 01:30"]


@pytest.mark.parametrize("minute", [10, 30, 45])
def test_within_the_repeated_hour_the_next_time_still_lies_ahead(minute: int) -> None:
    second_round = datetime(2026, 10, 25, 1, minute, tzinfo=UTC)
    assert times("30 2 * * *", second_round, 1) == ["10-26 01:30"]


def test_every_half_hour_goes_by_the_time_that_really_passes() -> None:
    gap = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert times("*/30 * * * *", gap, 2) == ["03-29 01:00", "03-29 01:30"]
    repeated = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert times("*/30 * * * *", repeated, 3) == ["10-25 01:00", "10-25 01:30", "10-25 02:00"]


def test_the_next_time_is_never_now() -> None:
    assert next_time("0 12 * * *", ZoneInfo("UTC"), NOON) == NOON + timedelta(days=1)
    almost = NOON - timedelta(milliseconds=1)
    assert next_time("0 12 * * *", ZoneInfo("UTC"), almost) == NOON


@pytest.mark.parametrize("cron", ["", "* * * *", "0 0 9 * * *", "@daily", "* " * 500])
def test_cron_without_five_fields_is_refused(cron: str) -> None:
    with pytest.raises(Unprocessable, match="five fields"):
        next_time(cron, BERLIN, NOON)


@pytest.mark.parametrize(
    "cron", ["61 * * * *", "* 24 * * *", "* * 0 * *", "a b c d e", "*/0 * * * *", "0 0 30 2 *"]
)
def test_invalid_cron_is_refused(cron: str) -> None:
    with pytest.raises(Unprocessable, match="cron is not valid"):
        next_time(cron, BERLIN, NOON)


# ---------------------------------------------------------------------- whatever comes

SCRIBBLE = st.text("0123456789*/,-#LW MONJAN²é:TZ+", max_size=40) | st.text(max_size=40)


@given(SCRIBBLE)
def test_any_text_parses_to_a_future_time_or_is_refused(text: str) -> None:
    readings: tuple[Callable[[], datetime | None], ...] = (
        lambda: after_a_while(text, NOON),
        lambda: moment_of(text, BERLIN, NOON),
        lambda: next_time(text, BERLIN, NOON),
    )
    for read in readings:
        try:
            at = read()
        except Unprocessable:
            continue
        assert at is None or at > NOON


FIELDS = st.tuples(
    *(
        st.sampled_from(values)
        for values in (
            ["*", "0", "5,35", "*/7", "10-20"],
            ["*", "2", "1-3", "*/5", "23"],
            ["*", "1", "29", "L", "LW"],
            ["*", "3", "10", "2", "JAN-JUN"],
            ["*", "MON", "0", "7#2", "5L"],
        )
    )
)


@given(FIELDS, st.integers(0, 400 * 24 * 60))
def test_the_next_time_fits_the_expression_and_comes_from_earlier_moments_too(
    fields: tuple[str, ...], minutes: int
) -> None:
    cron = " ".join(fields)
    after = NOON + timedelta(minutes=minutes)
    try:
        at = next_time(cron, BERLIN, after)
    except Unprocessable:
        return
    if at is None:
        return
    assert at > after
    assert next_time(cron, BERLIN, at - timedelta(seconds=1)) == at
