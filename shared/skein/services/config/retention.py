"""Retention: how long a tenant keeps messages and runs.

Each item gets its expiry when it is written. A chat stores its tenant's retention
(`Chat.retention`), so a message needs no further read. A direct chat stores the value as of its
person's last message, a group as of its creation or of the hour of the last post there.
"""

from datetime import datetime, timedelta

from skein.models.config.overrides import Overrides, Retention


def retention_of(tenant: Overrides) -> Retention | None:
    """Return the retention in a tenant's settings; None if the tenant keeps everything forever."""
    own = Retention.model_validate(tenant)
    return own if own.model_fields_set else None


def kept_until(made_at: datetime, days: int | None) -> int | None:
    """Return when an item created at `made_at` expires, in Unix seconds; None for never."""
    return int((made_at + timedelta(days=days)).timestamp()) if days is not None else None


def message_days(retention: Retention | None) -> int | None:
    """Return the number of days for which messages are kept; None for forever."""
    return retention.message_days if retention is not None else None


def run_days(retention: Retention | None) -> int | None:
    """Return the number of days for which runs are kept; None for forever."""
    return retention.run_days if retention is not None else None
