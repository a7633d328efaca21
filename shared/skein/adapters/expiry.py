"""What has expired is as good as gone, whether or not the table has tidied it up by now."""

from collections.abc import Iterable
from datetime import datetime

from skein.models.storage import Item


def living(items: Iterable[Item], now: datetime) -> list[Item]:
    """Those of some items that have not expired; DynamoDB takes its time, up to two days."""
    seconds = now.timestamp()
    return [
        item for item in items if item.get("expires_at") is None or item["expires_at"] > seconds
    ]
