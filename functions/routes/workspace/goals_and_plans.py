"""Routes of agents' goals and plans, for operators (function `admin_api`).

Goals that operators create are open, and so are plans without a private chat. To reach goals and
plans of private chats, a request names the person or the chat.
"""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import AgentId, Limit, PageCursor
from routes.router import ApiRouter, no_content
from routes.scope import OfChat, OfUser, reach_of
from skein.bootstrap.api import services
from skein.models.api.goals_and_plans import (
    GoalChange,
    GoalPage,
    GoalResource,
    NewGoal,
    NewPlan,
    PlanPage,
    PlanResource,
)
from skein.models.common.base import EntityId
from skein.models.common.ownership import Owner, Reach
from skein.models.planning.goal import GoalStatus
from skein.models.planning.plan import PlanStatus
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("goals", "goal")
plans = ApiRouter("plans", "plan")

GoalId = Annotated[EntityId, Path(description="The id of a goal.")]
PlanId = Annotated[EntityId, Path(description="The id of a plan.")]
GoalsOf = Annotated[GoalStatus | None, Query(description="Only goals with this status.")]
PlansOf = Annotated[PlanStatus | None, Query(description="Only plans with this status.")]


def _reach(agent_id: str, user_id: str | None, chat_id: str | None) -> Reach:
    return reach_of(router.caller.tenant, agent_id, user_id, chat_id)


@router.post("/v1/agents/<agent_id>/goals", "Create a goal", 409)
def create_goal(agent_id: AgentId, new: NewGoal) -> GoalResource:
    """An agent has at most 100 active goals."""
    agent = services().agents.get(router.caller.tenant, agent_id)
    owner = Owner(tenant=agent.tenant, agent_id=agent.id)
    return GoalResource.of(services().goals.set(owner, **new.model_dump()))


@router.get("/v1/agents/<agent_id>/goals", "List an agent's goals, active first")
def list_goals(
    agent_id: AgentId,
    *,
    status: GoalsOf = None,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> GoalPage:
    """Lists items of the open scope unless a user or a chat is given."""
    reach = _reach(agent_id, user_id, chat_id)
    page = services().goals.list(reach, status=status, limit=limit, cursor=cursor)
    return GoalPage.of(page)


@router.get("/v1/agents/<agent_id>/goals/<goal_id>", "Get a goal")
def get_goal(
    agent_id: AgentId, goal_id: GoalId, user_id: OfUser = None, chat_id: OfChat = None
) -> GoalResource:
    """Active and ended goals are found."""
    return GoalResource.of(services().goals.get(_reach(agent_id, user_id, chat_id), goal_id))


@router.patch("/v1/agents/<agent_id>/goals/<goal_id>", "Update or end a goal", 409)
def change_goal(
    agent_id: AgentId,
    goal_id: GoalId,
    change: GoalChange,
    user_id: OfUser = None,
    chat_id: OfChat = None,
) -> GoalResource:
    """An ended goal can become active again."""
    reach = _reach(agent_id, user_id, chat_id)
    return GoalResource.of(services().goals.change(reach, goal_id, change.given))


@router.delete("/v1/agents/<agent_id>/goals/<goal_id>", "Delete a goal")
def delete_goal(
    agent_id: AgentId, goal_id: GoalId, user_id: OfUser = None, chat_id: OfChat = None
) -> Response[None]:
    """Deletes the goal permanently."""
    services().goals.delete(_reach(agent_id, user_id, chat_id), goal_id)
    return no_content()


@plans.post("/v1/agents/<agent_id>/plans", "Create a plan", 409)
def create_plan(agent_id: AgentId, new: NewPlan) -> PlanResource:
    """The runs of a plan belong to the chat that `chat_id` or `user_id` names.

    A plan for a private chat is private to the people who are there now: lists show it with
    `user_id` or `chat_id`. A plan without a chat is open, and so are its runs. A plan of the same
    name in the same scope is replaced. An agent has at most 100 active plans.
    """
    agent = services().agents.get(router.caller.tenant, agent_id)
    owner = services().plans.owner(agent, chat_id=new.chat_id, user_id=new.user_id)
    values = new.model_dump(exclude={"chat_id", "user_id"})
    values["time_zone"] = new.time_zone or services().plans.time_zone(owner, agent)
    return PlanResource.of(services().plans.set(owner, **values))


@plans.get("/v1/agents/<agent_id>/plans", "List an agent's plans, active first")
def list_plans(
    agent_id: AgentId,
    *,
    status: PlansOf = None,
    user_id: OfUser = None,
    chat_id: OfChat = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> PlanPage:
    """Lists items of the open scope unless a user or a chat is given."""
    reach = _reach(agent_id, user_id, chat_id)
    page = services().plans.list(reach, status=status, limit=limit, cursor=cursor)
    return PlanPage.of(page)


@plans.get("/v1/agents/<agent_id>/plans/<plan_id>", "Get a plan")
def get_plan(
    agent_id: AgentId, plan_id: PlanId, user_id: OfUser = None, chat_id: OfChat = None
) -> PlanResource:
    """Active and ended plans are found."""
    return PlanResource.of(services().plans.get(_reach(agent_id, user_id, chat_id), plan_id))


@plans.delete("/v1/agents/<agent_id>/plans/<plan_id>", "Cancel a plan")
def cancel_plan(
    agent_id: AgentId, plan_id: PlanId, user_id: OfUser = None, chat_id: OfChat = None
) -> Response[None]:
    """The plan is kept as canceled. An ended plan stays unchanged."""
    services().plans.delete(_reach(agent_id, user_id, chat_id), plan_id)
    return no_content()
