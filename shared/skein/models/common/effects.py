"""Effects that must happen only once: their ids, and the records that a retry finds."""

import hashlib
from datetime import datetime, timedelta

from skein.models.common.base import Stored, key_part
from skein.models.common.storage import Key, Missing, Put, SortKeyPrefix

EFFECT = SortKeyPrefix("EFFECT#")
EFFECT_KEPT = timedelta(days=30)  # longer than any run is retried


def effect_id(*parts: str | int) -> str:
    """Return an id that is the same for each retry of the same effect."""
    text = "\x1f".join(map(str, parts))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:26]


def effect_key(partition: str, effect: str) -> Key:
    """Return the key of an effect's record in a partition, such as the partition of an agent."""
    return Key(partition, f"{EFFECT}{key_part(effect)}")


def effect_record(key: Key, result: Stored | None, now: datetime) -> Put:
    """Return the write of an effect's record with its result; the record expires after 30 days.

    The write fails if an earlier attempt has written the record.
    """
    kept_until = int((now + EFFECT_KEPT).timestamp())
    attributes = result.attributes() if result is not None else {}
    return Put(key, attributes | {"expires_at": kept_until}, Missing())
