"""Hours in which SMS arrived, so that a deployment can detect that they have stopped."""

from datetime import datetime, timedelta

from skein.models.common.base import Instant, Stored, rfc3339
from skein.models.common.storage import Item, Key

DAY, WEEK = timedelta(days=1), timedelta(days=7)


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
