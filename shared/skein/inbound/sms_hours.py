"""Missing SMS: hours in which no SMS arrived, although some did at the same time a week ago.

If the webhook of a number points elsewhere, or the account is revoked, Skein gets no error: SMS
just stop arriving. So Skein looks for such hours itself, and counts each silence in the metric
`SmsSilent`.
"""

import logging
from datetime import datetime, timedelta

from skein.errors import SkeinError
from skein.models.common.storage import Put
from skein.models.delivery.sms import WEEK, SmsHourRecord
from skein.ports import Clock, Metrics, Table

HOUR = timedelta(hours=1)
SILENT_HOURS = 2  # one hour without SMS is normal

logger = logging.getLogger(__name__)


class SmsHours:
    """The record of the hours in which SMS arrived.

    Args:
        table: Stores the hours.
        metrics: Counts the silence.
    """

    def __init__(self, table: Table, clock: Clock, metrics: Metrics) -> None:
        self._table = table
        self._clock = clock
        self._metrics = metrics
        self._noted: datetime | None = None

    def record(self) -> None:
        """Record that an SMS arrived in this hour; each container writes at most once an hour."""
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
        """Count a silence if the last two full hours had no SMS, but both had some a week ago."""
        hours = [self._hour() - HOUR * back for back in range(1, SILENT_HOURS + 1)]
        before = [hour - WEEK for hour in hours]
        found = self._table.get_many([SmsHourRecord.key_of(hour) for hour in (*hours, *before)])
        if found.keys() == {SmsHourRecord.key_of(hour) for hour in before}:
            self._metrics.count("SmsSilent")

    def _hour(self) -> datetime:
        return self._clock.now().replace(minute=0, second=0, microsecond=0)
