"""Who gets context: a switch and a percentage of the people, for everybody or for one tenant.

What the tenant says wins, then the operator's flags, then the deployment's settings.
"""

import logging
from dataclasses import dataclass
from typing import Any

from skein.models.base import stable_hash
from skein.models.overrides import RolloutOverride
from skein.ports import Flags
from skein.settings import Settings

ENABLED = "context"
PERCENT = "context_rollout_percent"
SHARES = 10_000  # of all people
EVERYBODY = 100  # percent

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """Decides whether a person's agents are given context.

    Args:
        flags: The operator's.
        settings: For what no flag says.
    """

    flags: Flags
    settings: Settings

    def includes(self, tenant: str, user_id: str, said: RolloutOverride) -> bool:
        """Whether this person's agents are given context; the same person, the same answer.

        Args:
            tenant: Whose agents.
            user_id: The person.
            said: What the tenant says.
        """
        about = {"tenant": tenant, "user": user_id}
        enabled = said.context_enabled
        if enabled is None:
            enabled = self._flag(ENABLED, about, self.settings.context_enabled) is True
        percent = said.context_rollout_percent
        if percent is None:
            percent = self._flag(PERCENT, about, self.settings.context_rollout_percent)
        return enabled and share_of(user_id) < percent * SHARES / EVERYBODY

    def _flag(self, name: str, about: dict[str, str], default: Any) -> Any:
        """What a flag says; the default, too, where it says nothing that makes sense."""
        value = self.flags.evaluate(name, about, default)
        fits = isinstance(value, bool) if name == ENABLED else _is_percentage(value)
        if not fits:
            logger.warning("a flag has no fit value", extra={"flag": name})
            return default
        return value


def share_of(user_id: str) -> int:
    """Which of the 10,000 shares of all people a person belongs to, for good."""
    return stable_hash(f"context:{user_id}") % SHARES


def _is_percentage(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= EVERYBODY
