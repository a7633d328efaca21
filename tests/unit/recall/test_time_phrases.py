"""Phrases of time as ranges."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from skein.recall.time_phrases import seconds_of, time_range_in

NOW = datetime(2026, 2, 18, 12, 0, tzinfo=UTC)  # a Wednesday
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did we say last March?", "2025-03-01", "2025-03-31"),
        ("the budget in January", "2026-01-01", "2026-01-31"),
        ("the budget in February", "2026-02-01", "2026-02-28"),
        ("last February", "2025-02-01", "2025-02-28"),
        ("in Feb 2024", "2024-02-01", "2024-02-29"),
        ("dinner on May 3, 2023", "2023-05-03", "2023-05-03"),
        ("dinner on 3 May", "2025-05-03", "2025-05-03"),
        ("the 3rd of May 2023", "2023-05-03", "2023-05-03"),
        ("on 2025-12-24", "2025-12-24", "2025-12-24"),
        ("yesterday", "2026-02-17", "2026-02-17"),
        ("the day before yesterday", "2026-02-16", "2026-02-16"),
        ("last week", "2026-02-09", "2026-02-15"),
        ("this month", "2026-02-01", "2026-02-28"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last Monday", "2026-02-16", "2026-02-16"),
        ("on Wednesday", "2026-02-11", "2026-02-11"),
        ("two months ago", "2025-12-01", "2025-12-31"),
        ("three days ago", "2026-02-15", "2026-02-15"),
        ("a couple of weeks ago", "2026-02-01", "2026-02-07"),
        ("in the last 10 days", "2026-02-08", "2026-02-18"),
        ("in 2024", "2024-01-01", "2024-12-31"),
    ],
)
def test_time_range_of_a_phrase_holds_whole_days(text: str, first: str, last: str) -> None:
    found = time_range_in(text, NOW, BERLIN)
    assert found is not None
    assert found.first_at == seconds_of(first, BERLIN, last=False)
    assert found.last_at == seconds_of(last, BERLIN, last=True)


@pytest.mark.parametrize(
    "text",
    ["", "may I march with you?", "tomorrow", "in 2030", "room 2024", "31 February", "I ran"],
)
def test_text_without_past_time_has_no_time_range(text: str) -> None:
    assert time_range_in(text, NOW, BERLIN) is None


def test_time_range_of_a_day_follows_the_zone() -> None:
    late = datetime(2026, 2, 18, 23, 30, tzinfo=UTC)
    here, there = (time_range_in("today", late, zone) for zone in (ZoneInfo("UTC"), BERLIN))
    assert here is not None
    assert there is not None
    assert there.first_at - here.first_at == 23 * 3600


def test_seconds_of_a_moment_without_zone_are_in_the_given_zone() -> None:
    assert seconds_of("2026-02-18T13:00", BERLIN, last=False) == int(NOW.timestamp())
    assert seconds_of("2026-02-18T12:00Z", BERLIN, last=True) == int(NOW.timestamp())


def test_seconds_of_something_else_fail() -> None:
    with pytest.raises(ValueError, match="Invalid isoformat"):
        seconds_of("last March", BERLIN, last=False)


def test_seconds_of_the_last_possible_day_fail() -> None:
    with pytest.raises(ValueError, match="out of range: 9999-12-31"):
        seconds_of("9999-12-31", BERLIN, last=True)
