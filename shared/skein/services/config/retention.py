"""How long a tenant keeps messages and runs: each says itself when it goes, as it is written.

A chat knows what its tenant says since it was opened, or since the hour in which somebody last
wrote there (`Chat.retention`), so nothing is read for it with a message.
"""

from datetime import datetime, timedelta

from skein.models.overrides import Retention, TenantOverrides


def retention_of(said: TenantOverrides) -> Retention | None:
    """What a tenant says of retention; None if it keeps everything for good."""
    own = Retention(message_days=said.message_days, run_days=said.run_days)
    return own if own.said else None


def kept_until(made_at: datetime, days: int | None) -> int | None:
    """When something goes that was made then, in seconds since 1970; None for never."""
    return int((made_at + timedelta(days=days)).timestamp()) if days is not None else None


def message_days(retention: Retention | None) -> int | None:
    """How long messages are kept."""
    return retention.message_days if retention is not None else None


def run_days(retention: Retention | None) -> int | None:
    """How long runs are kept."""
    return retention.run_days if retention is not None else None
