"""The roll-out of context: a switch and a percentage of the people.

The tenant's settings win over the stack's, and the stack's over the environment's.
"""

from skein.models.common.base import stable_hash
from skein.models.config.overrides import RolloutOverride
from skein.settings import Settings

SHARES = 10_000  # equal shares of all people
EVERYBODY = 100  # percent


def gets_context(
    user_id: str, tenant: RolloutOverride, stack: RolloutOverride, settings: Settings
) -> bool:
    """Return whether this person's agents get context; stable per person.

    Args:
        user_id: The person.
        tenant: The tenant's settings.
        stack: The stack's settings.
        settings: The environment's.
    """
    own = stack.own_values | tenant.own_values
    enabled = own.get("context_enabled", settings.context_enabled)
    percent = own.get("context_rollout_percent", settings.context_rollout_percent)
    return bool(enabled) and share_of(user_id) < percent * SHARES / EVERYBODY


def share_of(user_id: str) -> int:
    """Return a person's share, a fixed number from 0 to 9,999."""
    return stable_hash(f"context:{user_id}") % SHARES
