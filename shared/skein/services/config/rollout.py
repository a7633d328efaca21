"""The roll-out of context: a switch and a percentage of the people."""

from skein.models.common.base import stable_hash
from skein.models.config.overrides import RolloutSettings

SHARES = 10_000  # equal shares of all people
EVERYBODY = 100  # percent


def gets_context(user_id: str, settings: RolloutSettings) -> bool:
    """Return whether this person's agents get context; stable per person."""
    share = settings.context_rollout_percent * SHARES / EVERYBODY
    return settings.context_enabled and share_of(user_id) < share


def share_of(user_id: str) -> int:
    """Return a person's share, a fixed number from 0 to 9,999."""
    return stable_hash(f"context:{user_id}") % SHARES
