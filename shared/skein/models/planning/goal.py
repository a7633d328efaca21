"""Goals of agents."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from skein.models.common.agent_item import AgentItem
from skein.models.common.storage import SortKeyPrefix

GoalStatus = Literal["active", "completed", "abandoned"]
GoalText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
GoalPriority = Annotated[int, Field(ge=1, le=5)]

MAX_GOALS = 100  # active goals that may be shown to the same readers


class Goal(AgentItem):
    """An aim of an agent.

    Attributes:
        priority: 1 (first) to 5.
    """

    PREFIX: ClassVar = SortKeyPrefix("GOAL#")
    COUNTER: ClassVar = "goals"
    TEXTS: ClassVar = ("text",)

    text: GoalText
    priority: GoalPriority = 2
    long_term: bool = False
    status: GoalStatus = "active"
