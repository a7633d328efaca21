"""Goals of agents."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, StringConstraints

from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.storage import SortKeyPrefix
from skein.models.items.agent_item import AgentItem

GoalStatus = Literal["active", "completed", "abandoned"]
GoalOutcome = Literal["completed", "abandoned"]
GoalText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000),
    Field(description="The aim in words."),
]

MAX_GOALS = 100  # active goals that may be shown to the same readers


class GoalFields(BaseModel):
    """The fields of a goal that have defaults."""

    priority: Annotated[int, Field(description="1 is the most important.", ge=1, le=5), NUMBER] = 2
    long_term: Annotated[JsonBool, Field(description="Whether the goal is a long-term one.")] = (
        False
    )


class Goal(GoalFields, AgentItem):
    """An aim of an agent."""

    PREFIX: ClassVar = SortKeyPrefix("GOAL#")
    COUNTER: ClassVar = "goals"
    TEXTS: ClassVar = ("text",)

    text: GoalText
    status: GoalStatus = "active"
