"""Routes of runs and prompt previews, for operators."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.app import AgentId, ApiRouter, Day, Limit, PageCursor, RunId, documented
from routes.audited import reads
from skein.bootstrap.api import services
from skein.models.api.base import EntityId
from skein.models.api.runs import ContextResource, RunPage, RunResource
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()

InChat = Annotated[
    EntityId | None, Query(description="A chat of the agent; omitted: a prompt without a chat.")
]


@router.get(
    "/v1/agents/<agent_id>/runs",
    summary="List an agent's runs of one day, newest first",
    tags=["runs"],
    responses=documented(200, RunPage, 400, 404),
    middlewares=reads("run"),
)
def list_runs(
    agent_id: AgentId, day: Day = None, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> RunPage:
    """The list omits prompts and steps; get a single run to read them."""
    page = services().run_views.of_agent(
        router.caller.tenant, agent_id, day=day, limit=limit, cursor=cursor
    )
    return RunPage(items=tuple(map(RunResource.of, page.items)), next_cursor=page.next_cursor)


@router.get(
    "/v1/agents/<agent_id>/context",
    summary="Preview an agent's prompt",
    tags=["runs"],
    responses=documented(200, ContextResource, 404),
    middlewares=reads("context"),
)
def show_context(agent_id: AgentId, chat_id: InChat = None) -> ContextResource:
    """The preview equals the prompt of a run that is started now. Nothing is sent or changed."""
    return ContextResource.of(services().preview.show(router.caller.tenant, agent_id, chat_id))


@router.get(
    "/v1/runs/<run_id>",
    summary="Get a run",
    tags=["runs"],
    responses=documented(200, RunResource, 404),
    middlewares=reads("run"),
)
def get_run(run_id: RunId) -> RunResource:
    """The run includes its newest prompt, section by section, and all steps."""
    view = services().run_views.get(router.caller.tenant, run_id)
    run = view.run.model_copy(update={"reason": view.reason})
    return RunResource.of(run, steps=view.steps, prompt=view.prompt)
