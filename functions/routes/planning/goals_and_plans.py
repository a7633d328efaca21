"""Routes of agents' goals and plans, for operators (function `admin_api`).

Goals that operators create are open, and so are plans without a private chat. To reach goals and
plans of private chats, a request names the person or the chat.
"""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import AgentId
from routes.audited import note_seen
from routes.crud import Crud
from routes.scope import WhyPrivate, check_private, in_open_scope, in_scope
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.planning.api import (
    GoalChange,
    GoalPage,
    GoalResource,
    NewGoal,
    NewPlan,
    PlanChange,
    PlanPage,
    PlanResource,
)
from skein.planning.goals import Goals
from skein.planning.models.goal import Goal, GoalStatus
from skein.planning.models.plan import Plan, PlanStatus
from skein.planning.plan_chats import PlanChats
from skein.planning.plans import Plans
from skein.services.directory.agents import Agents

GoalId = Annotated[EntityId, Path(description="The id of a goal.")]
PlanId = Annotated[EntityId, Path(description="The id of a plan.")]
GoalsOf = Annotated[GoalStatus | None, Query(description="Only goals with this status.")]
PlansOf = Annotated[PlanStatus | None, Query(description="Only plans with this status.")]

goals = Crud(
    "goals",
    "goal",
    "/v1/agents/<agent_id>/goals/<goal_id>",
    GoalId,
    parent=in_scope,
    service=Goals,
    shown=GoalResource,
)
plans = Crud(
    "plans",
    "plan",
    "/v1/agents/<agent_id>/plans/<plan_id>",
    PlanId,
    parent=in_scope,
    service=Plans,
    shown=PlanResource,
)

goals.creates(
    NewGoal,
    "Create a goal",
    409,
    item=Goal,
    again=lambda goals, owner, goal_id, _: goals.get(owner.reach, goal_id),
    about="An agent has at most 100 active goals.",
    parent=in_open_scope,
)
goals.lists(
    GoalPage,
    "List an agent's goals, active first",
    about="Lists items of the open scope unless a user or a chat is given.",
    status=GoalsOf,
)
goals.gets("Get a goal", about="Active and ended goals are found.")
goals.changes(
    GoalChange, "Update or end a goal", 409, about="An ended goal can become active again."
)
goals.deletes("Delete a goal", about="Deletes the goal permanently.")

plans.lists(
    PlanPage,
    "List an agent's plans, active first",
    about="Lists items of the open scope unless a user or a chat is given.",
    status=PlansOf,
)
plans.gets("Get a plan", about="Active and ended plans are found.")
plans.changes(
    PlanChange,
    "Cancel or restore a plan",
    409,
    about="For a restored plan, the delay of `run_after` counts from now on.",
)
plans.deletes(
    "Cancel a plan",
    about="The plan is kept as canceled. An ended plan stays unchanged.",
    verb="cancel",
)


@plans.post("/v1/agents/<agent_id>/plans", "Create a plan", 409)
def create_plan(agent_id: AgentId, new: NewPlan, reason: WhyPrivate = None) -> PlanResource:
    """The runs of a plan belong to the chat that `chat_id` or `user_id` names.

    A plan for a private chat is private to the people who are in the chat now; to list it, name
    `user_id` or `chat_id`. A plan without a chat is open, and so are its runs. The new plan
    replaces a plan with the same name in the same scope. An agent has at most 100 active plans.
    """
    agent = service(Agents).get(plans.caller.tenant, agent_id)
    owner = service(PlanChats).owner(agent, chat_id=new.chat_id, user_id=new.user_id)
    if owner.scope is not None:
        check_private(plans.caller, reason)
        note_seen(owner.audience.people)
    values = new.model_dump(exclude={"chat_id", "user_id"})
    values["time_zone"] = new.time_zone or service(PlanChats).time_zone(owner, agent)
    made = plans.once(
        Plan,
        lambda: service(Plans).set(owner, **values),
        lambda plan_id: service(Plans).get(owner.reach, plan_id),
    )
    return PlanResource.of(made)
