"""Requests and resources of the HTTP API: goals and plans."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field

from skein.models.api.base import ChangeRequest, CreatedAt, EndedAt, Id, Page, Request, Resource
from skein.models.common.base import EntityId, Instant, TimeZone
from skein.models.common.reason import Reason, meaning_of
from skein.planning.models.goal import GoalFields, GoalStatus, GoalText
from skein.planning.models.plan import Plan, PlanFields, PlanOutcome, PlanStatus

SaidTime = Annotated[str, Field(min_length=1, max_length=200)]


class NewGoal(GoalFields, Request):
    """A new goal of an agent."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"text": "Ann runs ten kilometers in May."}}
    )

    text: GoalText


class GoalChange(GoalFields, ChangeRequest):
    """Changes to a goal. Omitted and null fields stay unchanged."""

    text: GoalText | None = None
    status: Annotated[GoalStatus | None, Field(description="The current state.")] = None


class GoalResource(GoalFields, Resource):
    """A goal: an aim of an agent."""

    id: Id
    text: GoalText
    status: Annotated[GoalStatus, Field(description="The current state.")]
    source_chat_id: Annotated[str | None, Field(description="The chat in which the goal was set.")]
    source_run_id: Annotated[str | None, Field(description="The run that set the goal.")]
    created_at: CreatedAt
    ended_at: EndedAt


class GoalPage(Page[GoalResource]):
    """A page of goals, active ones first."""


class NewPlan(PlanFields, Request):
    """A new plan of an agent, with exactly one of `run_after`, `scheduled_at` and `cron`."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "long run",
                "instruction": "Ask how the long run went.",
                "cron": "0 18 * * SUN",
                "time_zone": "Europe/Berlin",
            }
        }
    )

    run_after: Annotated[SaidTime | None, Field(description="A delay, for example `2 hours`.")] = (
        None
    )
    scheduled_at: Annotated[
        SaidTime | None, Field(description="An RFC 3339 time, or a local time in the time zone.")
    ] = None
    cron: Annotated[SaidTime | None, Field(description="Five cron fields, in the time zone.")] = (
        None
    )
    time_zone: Annotated[
        TimeZone | None,
        Field(description="Null: the person's zone for a direct chat, else the agent's."),
    ] = None
    chat_id: Annotated[
        EntityId | None,
        Field(description="A chat of the agent, to which the plan's runs belong."),
    ] = None
    user_id: Annotated[
        EntityId | None,
        Field(
            description="A person; the runs belong to the direct chat of the person and the agent "
            "with the newest message."
        ),
    ] = None


class PlanChange(Request):
    """The change to a plan."""

    status: Annotated[PlanOutcome, Field(description="Cancel the plan, or make it active again.")]


class PlanResource(PlanFields, Resource):
    """A plan of an agent. Exactly one of `run_after`, `scheduled_at` and `cron` is not null."""

    id: Id
    run_after: Annotated[
        str | None, Field(description="The delay after which the plan is due, such as `2 hours`.")
    ]
    scheduled_at: Annotated[
        Instant | None, Field(description="When the plan is due; null for another kind of plan.")
    ]
    cron: Annotated[
        str | None,
        Field(
            description="Five cron fields, in the plan's time zone; null for a plan that runs once."
        ),
    ]
    time_zone: Annotated[
        str, Field(description="The IANA name of a time zone, such as `Europe/Paris`.")
    ]
    next_at: Annotated[
        Instant | None, Field(description="When the plan is due next; null after it has ended.")
    ]
    deferred_from: Annotated[
        Instant | None,
        Field(description="When the plan was due, if quiet hours deferred it to `next_at`."),
    ]
    status: Annotated[PlanStatus, Field(description="The current state.")]
    source_chat_id: Annotated[
        str | None,
        Field(
            description="The plan's chat, to which its runs belong: where the plan was set, or "
            "which the request named."
        ),
    ]
    source_run_id: Annotated[str | None, Field(description="The run that made the plan.")]
    reason: Annotated[
        Reason | None,
        Field(description="Why Skein deferred or canceled the plan; null if it did not."),
    ]
    meaning: Annotated[str | None, Field(description="The reason in one sentence.")]
    created_at: CreatedAt
    ended_at: EndedAt

    @classmethod
    def of(cls, plan: Plan) -> Self:
        made = {"meaning": meaning_of(plan.reason)}
        shared = {name: getattr(plan, name) for name in cls.model_fields if name not in made}
        return cls(**made, **shared)


class PlanPage(Page[PlanResource]):
    """A page of plans, active ones first."""
