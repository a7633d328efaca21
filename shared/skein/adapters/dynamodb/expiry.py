"""A filter for expired items that the table has not deleted yet."""

from collections.abc import Iterable
from datetime import datetime

from skein.models.common.storage import Item, has_expired


def unexpired(items: Iterable[Item], now: datetime) -> list[Item]:
    """Return the items that have not expired; DynamoDB deletes expired items within two days."""
    return [item for item in items if not has_expired(item, now)]
