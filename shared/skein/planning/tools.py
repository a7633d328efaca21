"""The tools for goals and plans."""

from typing import Annotated

from pydantic import Field, StringConstraints

from skein.interface.arguments import NOT_SHOWN, TEXT, Id, Moment, Priority
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, owner_at, reach_at
from skein.models.common.base import rfc3339
from skein.models.common.effects import effect_id
from skein.models.common.json_types import JsonBool
from skein.planning.goals import Goals
from skein.planning.models.goal import GoalOutcome
from skein.planning.plans import Plans
from skein.planning.quiet_times import QuietTimes
from skein.services.common.schedule import local_time

PlanName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), TEXT
]
RunAfter = Annotated[str, StringConstraints(min_length=1, max_length=40), TEXT]
Cron = Annotated[str, StringConstraints(min_length=1, max_length=200), TEXT]
TimeZone = Annotated[str, StringConstraints(min_length=1, max_length=64), TEXT]
GoalText = Annotated[str, Field(min_length=1, max_length=1_000), TEXT]
Instruction = Annotated[str, Field(min_length=1, max_length=4_000), TEXT]


@tool(effect="save")
def set_goal(
    call: ToolContext,
    text: GoalText,
    priority: Annotated[Priority, Field(description="1 is highest.")] = 2,
    long_term: JsonBool | None = None,
) -> str:
    """Set a goal, shown until you end it."""
    with refusals_as_tool_errors():
        goal = call.service(Goals).set(
            owner_at(call),
            text,
            reach=reach_at(call),
            goal_id=f"goal_{effect_id(call.effect)}",
            priority=priority,
            long_term=bool(long_term),
            guard=call.activation.claim.guard,
        )
    return f"goal set, id: {goal.id}"


@tool(effect="save")
def end_goal(call: ToolContext, goal_id: Id, outcome: GoalOutcome) -> str:
    """End a goal that is reached or given up."""
    goals, guard = call.service(Goals), call.activation.claim.guard
    with refusals_as_tool_errors():
        goals.end(reach_at(call), goal_id, outcome, guard=guard)
    return f"goal {outcome}"


@tool(effect="save")
def set_plan(
    call: ToolContext,
    name: PlanName,
    instruction: Annotated[Instruction, Field(description="What to do then.")],
    run_after: Annotated[RunAfter | None, Field(description="2 hours.")] = None,
    scheduled_at: Annotated[Moment | None, Field(description="2026-02-18T17:07.")] = None,
    cron: Cron | None = None,
    time_zone: Annotated[TimeZone | None, Field(json_schema_extra={NOT_SHOWN: True})] = None,
) -> str:
    """Start a run later: once by run_after or scheduled_at, or by cron."""
    trigger = call.activation.run.trigger
    asked = trigger.type == "chat_message" and trigger.by_person
    with refusals_as_tool_errors():
        plan = call.service(Plans).set(
            owner_at(call),
            name,
            instruction,
            reach=reach_at(call),
            run_after=run_after,
            scheduled_at=scheduled_at,
            cron=cron,
            time_zone=time_zone or call.reading.zone,
            set_by=trigger.user_id,
            asked=asked,
            effect=effect_id(call.effect),
            guard=call.activation.claim.guard,
        )
    if plan.next_at is None:
        return "the plan is over"
    answer = f"plan set, next: {rfc3339(plan.next_at)} ({local_time(plan.next_at, plan.time_zone)})"
    reading = call.reading
    ends = call.service(QuietTimes).end_of(
        plan,
        plan.next_at,
        reading.snapshot,
        reading.person,
        reading.agent,
        reading.config.effective,
    )
    if ends is None:
        return answer
    until = local_time(ends, plan.time_zone)
    answer = f"{answer}. The person has quiet hours then, so it waits until {until}."
    advice = " If the person asked for this very time, set the plan again with scheduled_at."
    return answer + advice if asked else answer


@tool(effect="save")
def cancel_plan(call: ToolContext, name: PlanName) -> str:
    """Cancel one of your plans."""
    with refusals_as_tool_errors():
        call.service(Plans).cancel(
            reach_at(call), name, effect=effect_id(call.effect), guard=call.activation.claim.guard
        )
    return "plan canceled"
