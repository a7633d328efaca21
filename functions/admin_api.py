"""API Gateway: agents, people, lines and runs, for operators (scope `admin`).

Goals, plans, threads, services and the consolidation of chats have files of their own beside this
one.
"""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.utilities.typing import LambdaContext

from routes import audit as admin_audit
from routes import consolidations as admin_consolidations
from routes import documents as admin_documents
from routes import goals_and_plans as admin_intents
from routes import memories as admin_memories
from routes import phones as admin_people
from routes import privacy as admin_privacy
from routes import reflections as admin_reflections
from routes import services as admin_services
from routes import settings as admin_settings
from routes import skills as admin_skills
from routes import threads as admin_threads
from routes import usage as admin_usage
from routes.app import (
    AgentId,
    Api,
    Day,
    Limit,
    PageCursor,
    PhoneNumber,
    RunId,
    UserId,
    documented,
    no_content,
)
from routes.audited import changes, creates, deletes, reads
from skein.bootstrap import app
from skein.logs import logged
from skein.models.api.base import EntityId
from skein.models.api.directory import (
    AgentChange,
    AgentPage,
    AgentResource,
    LineChange,
    LinePage,
    LineResource,
    NewAgent,
    NewLine,
    NewUser,
    UserChange,
    UserPage,
    UserResource,
)
from skein.models.api.runs import ContextResource, RunPage, RunResource
from skein.services.common.pagination import DEFAULT_PAGE

api = Api(scope="admin").including(
    admin_audit.router,
    admin_consolidations.router,
    admin_documents.router,
    admin_intents.router,
    admin_memories.router,
    admin_people.router,
    admin_reflections.router,
    admin_privacy.router,
    admin_services.router,
    admin_settings.router,
    admin_threads.router,
    admin_skills.router,
    admin_usage.router,
)

InChat = Annotated[
    EntityId | None, Query(description="One of the agent's chats; without it, in no chat.")
]


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return api.resolve(event, context)


@api.post(
    "/v1/agents",
    summary="Make an agent",
    tags=["agents"],
    status_code=201,
    responses=documented(201, AgentResource, 400, 413, 422),
    middlewares=creates("agent"),
)
def create_agent(new: NewAgent) -> AgentResource:
    """Whatever is left out has its default."""
    return AgentResource.of(app().agents.create(api.caller.tenant, new))


@api.get(
    "/v1/agents",
    summary="List the agents, the oldest first",
    tags=["agents"],
    responses=documented(200, AgentPage, 400, 422),
    middlewares=reads("agent"),
)
def list_agents(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> AgentPage:
    """Deleted ones are left out."""
    page = app().agents.list(api.caller.tenant, limit=limit, cursor=cursor)
    return AgentPage(items=tuple(map(AgentResource.of, page.items)), next_cursor=page.next_cursor)


@api.get(
    "/v1/agents/<agent_id>",
    summary="Read an agent",
    tags=["agents"],
    responses=documented(200, AgentResource, 404, 422),
    middlewares=reads("agent"),
)
def get_agent(agent_id: AgentId) -> AgentResource:
    """Unless it was deleted."""
    return AgentResource.of(app().agents.get(api.caller.tenant, agent_id))


@api.patch(
    "/v1/agents/<agent_id>",
    summary="Change an agent",
    tags=["agents"],
    responses=documented(200, AgentResource, 400, 404, 413, 422),
    middlewares=changes("agent"),
)
def change_agent(agent_id: AgentId, change: AgentChange) -> AgentResource:
    """Its next activation goes by the new values."""
    return AgentResource.of(app().agents.change(api.caller.tenant, agent_id, change))


@api.delete(
    "/v1/agents/<agent_id>",
    summary="Delete an agent",
    tags=["agents"],
    status_code=204,
    responses=documented(204, None, 404, 422),
    middlewares=deletes("agent"),
)
def delete_agent(agent_id: AgentId) -> Response[None]:
    """Chats keep it in their rosters; it responds no more."""
    app().agents.delete(api.caller.tenant, agent_id)
    return no_content()


@api.get(
    "/v1/agents/<agent_id>/runs",
    summary="List an agent's runs of one day, the newest first",
    tags=["runs"],
    responses=documented(200, RunPage, 400, 404, 422),
    middlewares=reads("run"),
)
def list_runs(
    agent_id: AgentId, day: Day = None, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> RunPage:
    """Without prompts and steps; those are shown one run at a time."""
    page = app().run_views.of_agent(
        api.caller.tenant, agent_id, day=day, limit=limit, cursor=cursor
    )
    return RunPage(items=tuple(map(RunResource.of, page.items)), next_cursor=page.next_cursor)


@api.get(
    "/v1/agents/<agent_id>/context",
    summary="Look at what an agent would be shown now",
    tags=["runs"],
    responses=documented(200, ContextResource, 404, 422),
    middlewares=reads("context"),
)
def show_context(agent_id: AgentId, chat_id: InChat = None) -> ContextResource:
    """As if somebody asked it to respond at this moment; nothing is sent, and nothing changes."""
    return ContextResource.of(app().preview.show(api.caller.tenant, agent_id, chat_id))


@api.get(
    "/v1/runs/<run_id>",
    summary="Read a run",
    tags=["runs"],
    responses=documented(200, RunResource, 404, 422),
    middlewares=reads("run"),
)
def get_run(run_id: RunId) -> RunResource:
    """With its newest prompt, section by section, and every step."""
    view = app().run_views.get(api.caller.tenant, run_id)
    return RunResource.of(view.run, steps=view.steps, prompt=view.prompt)


@api.post(
    "/v1/users",
    summary="Make a person",
    tags=["users"],
    status_code=201,
    responses=documented(201, UserResource, 400, 409, 413, 422),
    middlewares=creates("user"),
)
def create_user(new: NewUser) -> UserResource:
    """With the `sub` of their sign-in as the id, if they have one."""
    return UserResource.of(app().users.create(api.caller.tenant, new))


@api.get(
    "/v1/users",
    summary="List the people, by id",
    tags=["users"],
    responses=documented(200, UserPage, 400, 422),
    middlewares=reads("user"),
)
def list_users(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> UserPage:
    """Those who were seen only by phone, too."""
    page = app().users.list(api.caller.tenant, limit=limit, cursor=cursor)
    return UserPage(items=tuple(map(UserResource.of, page.items)), next_cursor=page.next_cursor)


@api.get(
    "/v1/users/<user_id>",
    summary="Read a person",
    tags=["users"],
    responses=documented(200, UserResource, 404, 422),
    middlewares=reads("user"),
)
def get_user(user_id: UserId) -> UserResource:
    """As they are on record."""
    return UserResource.of(app().users.get(api.caller.tenant, user_id))


@api.patch(
    "/v1/users/<user_id>",
    summary="Change a person",
    tags=["users"],
    responses=documented(200, UserResource, 400, 404, 409, 413, 422),
    middlewares=changes("user"),
)
def change_user(user_id: UserId, change: UserChange) -> UserResource:
    """Numbers that are left out of `phones` are theirs no more."""
    return UserResource.of(app().users.change(api.caller.tenant, user_id, change))


@api.post(
    "/v1/lines",
    summary="Connect a phone number with an agent",
    tags=["lines"],
    status_code=201,
    responses=documented(201, LineResource, 400, 409, 413, 422),
    middlewares=creates("line", made="phone"),
)
def create_line(new: NewLine) -> LineResource:
    """A number belongs to one tenant only."""
    return LineResource.of(app().lines.create(api.caller.tenant, new))


@api.get(
    "/v1/lines",
    summary="List the lines, by number",
    tags=["lines"],
    responses=documented(200, LinePage, 400, 422),
    middlewares=reads("line"),
)
def list_lines(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> LinePage:
    """Each with the agent that answers."""
    page = app().lines.list(api.caller.tenant, limit=limit, cursor=cursor)
    return LinePage(items=tuple(map(LineResource.of, page.items)), next_cursor=page.next_cursor)


@api.get(
    "/v1/lines/<phone>",
    summary="Read a line",
    tags=["lines"],
    responses=documented(200, LineResource, 404, 422),
    middlewares=reads("line"),
)
def get_line(phone: PhoneNumber) -> LineResource:
    """The number as it was stored, with its country code."""
    return LineResource.of(app().lines.get(api.caller.tenant, phone))


@api.patch(
    "/v1/lines/<phone>",
    summary="Change a line",
    tags=["lines"],
    responses=documented(200, LineResource, 400, 404, 413, 422),
    middlewares=changes("line"),
)
def change_line(phone: PhoneNumber, change: LineChange) -> LineResource:
    """Chats that it has led to already stay with their agent."""
    return LineResource.of(app().lines.change(api.caller.tenant, phone, change))


@api.delete(
    "/v1/lines/<phone>",
    summary="Disconnect a line",
    tags=["lines"],
    status_code=204,
    responses=documented(204, None, 404, 422),
    middlewares=deletes("line"),
)
def delete_line(phone: PhoneNumber) -> Response[None]:
    """The chats that came over it stay."""
    app().lines.delete(api.caller.tenant, phone)
    return no_content()
