"""Missing SMS: hours in which no SMS arrived, although some did at the same time a week ago.

A number whose webhook points elsewhere, or a revoked account, causes no error here: SMS just stop.
"""

import logging
from datetime import datetime, timedelta

from skein.errors import SkeinError
from skein.models.common.base import Instant, Stored, rfc3339
from skein.models.common.storage import Item, Key, Put
from skein.ports import Clock, Metrics, Table

HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
SILENT_HOURS = 2  # one quiet hour is nothing unusual

logger = logging.getLogger(__name__)


class SmsHourRecord(Stored):
    """An hour in which at least one SMS arrived, on any line of the deployment."""

    hour: Instant

    @staticmethod
    def key_of(hour: datetime) -> "Key[SmsHourRecord]":
        """Return the key of an hour; all hours are in one partition."""
        return Key("STACK#SMS", rfc3339(hour))

    @property
    def key(self) -> "Key[SmsHourRecord]":
        return self.key_of(self.hour)

    def to_item(self) -> Item:
        """Return the hour as table attributes; it expires after the comparison a week later."""
        return self.attributes() | {"expires_at": int((self.hour + WEEK + DAY).timestamp())}


class SmsHours:
    """The record of the hours in which SMS arrived.

    Args:
        table: Stores the hours.
        clock: The clock.
        metrics: Counts the silence.
    """

    def __init__(self, table: Table, clock: Clock, metrics: Metrics) -> None:
        self._table = table
        self._clock = clock
        self._metrics = metrics
        self._noted: datetime | None = None

    def record(self) -> None:
        """Record that an SMS arrived in this hour; only a container's first one costs a write."""
        hour = self._hour()
        if hour == self._noted:
            return
        try:
            noted = SmsHourRecord(hour=hour)
            self._table.write(Put(noted.key, noted.to_item()))
        except SkeinError:
            logger.warning("failed to note the hour of an SMS", exc_info=True)
            return
        self._noted = hour

    def check(self) -> None:
        """Count the last full hours without SMS, if SMS arrived in all of them a week ago."""
        hours = [self._hour() - HOUR * back for back in range(1, SILENT_HOURS + 1)]
        before = [hour - WEEK for hour in hours]
        found = self._table.get_many([SmsHourRecord.key_of(hour) for hour in (*hours, *before)])
        if found.keys() == {SmsHourRecord.key_of(hour) for hour in before}:
            self._metrics.count("SmsSilent")

    def _hour(self) -> datetime:
        return self._clock.now().replace(minute=0, second=0, microsecond=0)
