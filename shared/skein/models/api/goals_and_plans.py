"""Goals and plans as the HTTP API shows them (DESIGN section 7)."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import EntityId, Request, Resource
from skein.models.api.directory import TimeZone
from skein.models.common.base import Instant
from skein.models.planning.goal import Goal, GoalPriority, GoalStatus, GoalText
from skein.models.planning.plan import Plan, PlanInstruction, PlanName, PlanStatus

SaidTime = Annotated[str, Field(min_length=1, max_length=200)]


class NewGoal(Request):
    """A goal for an agent."""

    text: GoalText
    priority: Annotated[GoalPriority, Field(description="1 comes first.")] = 2
    long_term: bool = False


class GoalChange(Request):
    """What of a goal is to change; left out or null, a field stays."""

    text: GoalText | None = None
    priority: GoalPriority | None = None
    long_term: bool | None = None
    status: GoalStatus | None = None


class GoalResource(Resource):
    """What an agent is after."""

    id: str
    text: str
    priority: int
    long_term: bool
    status: GoalStatus
    source_chat_id: Annotated[str | None, Field(description="The chat it comes from.")]
    source_run_id: Annotated[str | None, Field(description="The run that set it.")]
    created_at: Instant
    ended_at: Instant | None

    @classmethod
    def of(cls, goal: Goal) -> Self:
        """The resource of a goal."""
        return cls.model_validate(goal, from_attributes=True)


class GoalPage(Resource):
    """A page of goals, active ones first."""

    items: tuple[GoalResource, ...]
    next_cursor: str | None


class NewPlan(Request):
    """A plan for an agent, with exactly one of `run_after`, `scheduled_at` and `cron`."""

    name: Annotated[PlanName, Field(description="The plan of this name is replaced.")]
    instruction: Annotated[PlanInstruction, Field(description="What the agent is to do then.")]
    run_after: Annotated[SaidTime | None, Field(description="For example `2 hours`.")] = None
    scheduled_at: Annotated[
        SaidTime | None, Field(description="RFC 3339, or a local time of the time zone.")
    ] = None
    cron: Annotated[SaidTime | None, Field(description="Five fields, in the time zone.")] = None
    time_zone: Annotated[TimeZone | None, Field(description="Null: the agent's.")] = None
    chat_id: Annotated[
        EntityId | None,
        Field(description="A chat of the agent that its run may write to, a private one included."),
    ] = None


class PlanResource(Resource):
    """What will wake an agent; one of `run_after`, `scheduled_at` and `cron` is not null."""

    id: str
    name: str
    instruction: str
    run_after: str | None
    scheduled_at: Instant | None
    cron: str | None
    time_zone: str
    next_at: Annotated[Instant | None, Field(description="Null once the plan is over.")]
    status: PlanStatus
    source_chat_id: Annotated[str | None, Field(description="The chat it comes from.")]
    source_run_id: Annotated[str | None, Field(description="The run that set it.")]
    created_at: Instant
    ended_at: Instant | None

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The resource of a plan."""
        return cls.model_validate(plan, from_attributes=True)


class PlanPage(Resource):
    """A page of plans, active ones first."""

    items: tuple[PlanResource, ...]
    next_cursor: str | None
