"""Token usage of a tenant's agents by day."""

from datetime import date

from skein.models.common.base import Value, key_part
from skein.models.common.storage import Key


class DayUsage(Value):
    """The number of model answers on one day (UTC), and their tokens; see `TokenUsage`."""

    day: date
    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


def usage_key(tenant: str, day: str, shard: int) -> Key:
    """Return the key of one counter of a day; `day` is `YYYY-MM-DD`."""
    return Key(f"{key_part(tenant)}#USAGE#{day}#{shard}", "TOTAL")
