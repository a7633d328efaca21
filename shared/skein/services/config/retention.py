"""Decide how long a tenant's messages and runs are kept.

Each item gets its expiry when it is written. A chat stores its tenant's retention
(`Chat.retention`), so a message needs no further read. In a direct chat, each message of the person
updates the stored retention. A group stores the retention when it is created, and upkeep updates it
once for each hour with messages.
"""

from datetime import datetime, timedelta

from skein.models.config.overrides import Overrides, Retention


def retention_of(tenant: Overrides) -> Retention | None:
    """Return the retention in a tenant's settings; None if the tenant sets no retention."""
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
