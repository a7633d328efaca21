"""Routes of runs, for operators."""

from routes.app import AgentId, Day, Limit, PageCursor, RunId
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.models.api.inspection import PromptResource
from skein.models.api.runs import (
    RunInspection,
    RunPage,
    RunResource,
    StepResource,
)
from skein.models.runs.completion import TokenUsage
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.quotas.money import money_of
from skein.services.runs.queries import RunView, RunViews

router = ApiRouter("runs", "run", role="support")


@router.get("/v1/agents/<agent_id>/runs", "List an agent's runs of one day, newest first")
def list_runs(
    agent_id: AgentId, day: Day = None, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> RunPage:
    """The list omits prompts and steps; get a single run to read them."""
    page = service(RunViews).of_agent(
        router.caller.tenant, agent_id, day=day, limit=limit, cursor=cursor
    )
    return RunPage.of(page)


@router.get("/v1/runs/<run_id>", "Get a run")
def get_run(run_id: RunId) -> RunResource:
    """The run includes its newest prompt, section by section, and all steps."""
    return inspected(service(RunViews).inspect(router.caller.tenant, run_id))


def inspected(view: RunView) -> RunResource:
    """Return a run with all that operators may inspect; without prompt and steps if withheld."""
    run = view.run.model_copy(update={"reason": view.reason})
    if view.withheld:
        return RunResource.of(run)
    first = next(
        (step.usage for step in view.steps if step.activation == run.activation), TokenUsage()
    )
    return RunResource.of(
        run,
        RunInspection(
            prompt=PromptResource.from_parts(view.prompt, first)
            if view.prompt is not None
            else None,
            steps=tuple(
                StepResource.of(step, money_of([(step.model, step.usage)], view.prices))
                for step in view.steps
            ),
            money=money_of(((step.model, step.usage) for step in view.steps), view.prices),
            previous_run_id=view.previous_run_id,
        ),
    )
