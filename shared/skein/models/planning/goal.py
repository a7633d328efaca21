"""Goals of agents."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from skein.models.common.base import Identifier, Instant, key_part
from skein.models.common.ownership import OwnedItem, owned_partition
from skein.models.common.storage import Item, Key, SortKeyPrefix

GoalStatus = Literal["active", "completed", "abandoned"]
GoalText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
GoalPriority = Annotated[int, Field(ge=1, le=5)]

MAX_GOALS = 100  # active goals that may be shown to the same readers


class Goal(OwnedItem):
    """An aim of an agent.

    Attributes:
        priority: 1 (first) to 5.
        version: The optimistic lock: every change raises it.
    """

    PREFIX: ClassVar = SortKeyPrefix("GOAL#")

    id: Identifier
    text: GoalText
    priority: GoalPriority = 2
    long_term: bool = False
    status: GoalStatus = "active"
    version: int = 1
    ended_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, agent_id: str, scope: str | None, goal_id: str) -> Key:
        """Return the key of an active goal."""
        return Key(owned_partition(tenant, agent_id, scope), f"{Goal.PREFIX}{key_part(goal_id)}")

    @staticmethod
    def ended_key_of(tenant: str, agent_id: str, scope: str | None, goal_id: str) -> Key:
        """Return the key of an ended goal, which a prompt's query does not read."""
        sk = f"{Goal.PREFIX.ended}{key_part(goal_id)}"
        return Key(owned_partition(tenant, agent_id, scope), sk)

    @property
    def key(self) -> Key:
        """The key of this goal; it changes when the goal ends."""
        make = self.key_of if self.status == "active" else self.ended_key_of
        return make(self.tenant, self.agent_id, self.scope, self.id)

    def to_item(self) -> Item:
        """Return the goal as table attributes."""
        return self.attributes()
