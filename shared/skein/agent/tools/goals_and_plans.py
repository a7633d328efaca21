"""The tools for goals and plans."""

from typing import Annotated

from pydantic import Field

from skein.agent.tools.arguments import (
    Cron,
    GoalText,
    Id,
    Instruction,
    Moment,
    PlanName,
    Priority,
    RunAfter,
    TimeZone,
)
from skein.agent.tools.base import refusals_as_tool_errors, tool
from skein.agent.tools.context import ToolContext, owner_at, reach_at
from skein.models.common.base import rfc3339
from skein.models.common.json_types import JsonBool
from skein.models.common.ownership import effect_id
from skein.services.common.schedule import local_time

GoalId = Annotated[Id, Field(description="The goal's id.")]
NewPlanName = Annotated[PlanName, Field(description="Its name; the same name again replaces it.")]


@tool(shows_items=False)
def set_goal(
    call: ToolContext,
    text: Annotated[GoalText, Field(description="What you are after.")],
    priority: Annotated[Priority, Field(description="1 is the most important.")] = 2,
    long_term: Annotated[JsonBool | None, Field(description="It goes on for long.")] = None,
) -> str:
    """Set yourself a goal, shown to you until you complete or abandon it."""
    with refusals_as_tool_errors():
        goal = call.tool_services.goals.set(
            owner_at(call),
            text,
            reach=reach_at(call),
            goal_id=f"goal_{effect_id(call.effect)}",
            priority=priority,
            long_term=bool(long_term),
            guard=call.activation.claim.guard,
        )
    return f"goal set, id: {goal.id}"


@tool(shows_items=False)
def complete_goal(call: ToolContext, goal_id: GoalId) -> str:
    """Mark a goal of yours as reached."""
    with refusals_as_tool_errors():
        call.tool_services.goals.complete(
            reach_at(call), goal_id, guard=call.activation.claim.guard
        )
    return "goal completed"


@tool(shows_items=False)
def abandon_goal(call: ToolContext, goal_id: GoalId) -> str:
    """Let a goal of yours go."""
    with refusals_as_tool_errors():
        call.tool_services.goals.abandon(reach_at(call), goal_id, guard=call.activation.claim.guard)
    return "goal abandoned"


@tool(shows_items=False)
def set_plan(
    call: ToolContext,
    name: NewPlanName,
    instruction: Annotated[
        Instruction, Field(description="What you are to do then, said to yourself.")
    ],
    run_after: Annotated[
        RunAfter | None, Field(description="A while from now, e.g. 2 hours; once.")
    ] = None,
    scheduled_at: Annotated[
        Moment | None,
        Field(description="A time in time_zone, e.g. 2026-02-18T17:07, or with an offset; once."),
    ] = None,
    cron: Annotated[
        Cron | None, Field(description="Five cron fields, e.g. 0 9 * * 1-5; again and again.")
    ] = None,
    time_zone: Annotated[
        TimeZone | None, Field(description="IANA name, e.g. Europe/Berlin; default: that of NOW.")
    ] = None,
) -> str:
    """Have yourself woken later, by exactly one of run_after, scheduled_at and cron."""
    with refusals_as_tool_errors():
        plan = call.tool_services.plans.set(
            owner_at(call),
            name,
            instruction,
            reach=reach_at(call),
            run_after=run_after,
            scheduled_at=scheduled_at,
            cron=cron,
            time_zone=time_zone or call.reading.zone,
            set_by=call.activation.run.trigger.user_id,
            effect=effect_id(call.effect),
            guard=call.activation.claim.guard,
        )
    if plan.next_at is None:
        return "the plan is over"
    return f"plan set, next: {rfc3339(plan.next_at)} ({local_time(plan.next_at, plan.time_zone)})"


@tool(shows_items=False)
def cancel_plan(
    call: ToolContext, name: Annotated[PlanName, Field(description="The plan's name.")]
) -> str:
    """Let a plan of yours go."""
    with refusals_as_tool_errors():
        call.tool_services.plans.cancel(
            reach_at(call), name, effect=effect_id(call.effect), guard=call.activation.claim.guard
        )
    return "plan canceled"
