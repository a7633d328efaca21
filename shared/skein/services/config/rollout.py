"""Who gets context: a switch and a percentage of the people.

The tenant's settings win over the stack's, and those over the environment's.
"""

from skein.models.base import stable_hash
from skein.models.overrides import RolloutOverride
from skein.settings import Settings

SHARES = 10_000  # of all people
EVERYBODY = 100  # percent


def gets_context(
    user_id: str, tenant: RolloutOverride, stack: RolloutOverride, settings: Settings
) -> bool:
    """Return whether this person's agents get context; the same person, the same answer.

    Args:
        user_id: The person.
        tenant: The tenant's settings.
        stack: The stack's settings.
        settings: The environment's.
    """
    said = stack.said | tenant.said
    enabled = said.get("context_enabled", settings.context_enabled)
    percent = said.get("context_rollout_percent", settings.context_rollout_percent)
    return bool(enabled) and share_of(user_id) < percent * SHARES / EVERYBODY


def share_of(user_id: str) -> int:
    """Which of the 10,000 shares of all people a person belongs to, for good."""
    return stable_hash(f"context:{user_id}") % SHARES
