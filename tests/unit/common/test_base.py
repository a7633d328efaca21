"""Times are stored in UTC with whole milliseconds."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from skein.models.common.base import to_utc


def test_time_is_stored_in_utc_with_whole_milliseconds() -> None:
    amman = timezone(timedelta(hours=3))
    moment = datetime(2026, 2, 18, 15, 0, 0, 123_999, tzinfo=amman)
    assert to_utc(moment) == datetime(2026, 2, 18, 12, 0, 0, 123_000, tzinfo=UTC)


def test_time_without_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        to_utc(datetime(2026, 2, 18, 12, 0))  # noqa: DTZ001 - this is what is refused
