"""What has expired is as good as gone, whether or not the table has tidied it up by now."""

from collections.abc import Iterable
from datetime import datetime

from skein.models.storage import Item, has_expired


def living(items: Iterable[Item], now: datetime) -> list[Item]:
    """Those of some items that have not expired; DynamoDB takes its time, up to two days."""
    return [item for item in items if not has_expired(item, now)]
