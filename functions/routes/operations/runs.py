"""Routes of runs and prompt previews, for operators."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.app import AgentId, Day, Limit, PageCursor, RunId
from routes.audited import Audited
from routes.router import ApiRouter
from skein.bootstrap.api import services
from skein.models.api.inspection import PromptResource, ReplayEdit, ReplayResource
from skein.models.api.runs import (
    ContextResource,
    RunInspection,
    RunPage,
    RunResource,
    StepResource,
)
from skein.models.common.base import EntityId
from skein.models.runs.completion import TokenUsage
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.quotas.money import money_of
from skein.services.runs.queries import RunView

router = ApiRouter("runs", "run")

InChat = Annotated[
    EntityId | None, Query(description="A chat of the agent; omitted: a prompt without a chat.")
]


@router.get("/v1/agents/<agent_id>/runs", "List an agent's runs of one day, newest first")
def list_runs(
    agent_id: AgentId, day: Day = None, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> RunPage:
    """The list omits prompts and steps; get a single run to read them."""
    page = services().run_views.of_agent(
        router.caller.tenant, agent_id, day=day, limit=limit, cursor=cursor
    )
    return RunPage.of(page)


@router.get("/v1/agents/<agent_id>/context", "Preview an agent's prompt", audit="context")
def preview_prompt(agent_id: AgentId, chat_id: InChat = None) -> ContextResource:
    """The preview equals the prompt of a run that is started now. Nothing is sent or changed."""
    if chat_id is not None:
        services().tenant_settings.check_reading(router.caller.tenant)
    return ContextResource.of(services().preview.show(router.caller.tenant, agent_id, chat_id))


@router.get("/v1/runs/<run_id>", "Get a run")
def get_run(run_id: RunId) -> RunResource:
    """The run includes its newest prompt, section by section, and all steps."""
    return inspected(services().run_views.inspect(router.caller.tenant, run_id))


@router.post(
    "/v1/runs/<run_id>/replay",
    "Replay a run's prompt with edits",
    409,
    status=200,
    audit=Audited("create", "replay"),
)
def replay_run(run_id: RunId, edit: ReplayEdit) -> ReplayResource:
    """Skein asks the model once. No tool is called. Only the audit entry and the usage are stored.

    The tokens count against the tenant's budget. Erased and expired runs cannot be replayed.
    """
    caller = router.caller
    replay = services().replays.replay(
        caller.tenant,
        run_id,
        operator=caller.user_id,
        system_prompt=edit.system_prompt,
        sections=edit.sections,
    )
    answer = replay.answer
    return ReplayResource(
        run_id=run_id,
        model=answer.model,
        text=answer.text,
        tool_calls=answer.tool_calls,
        fault=answer.fault,
        prompt=PromptResource.from_parts(replay.prompt, answer.usage),
        usage=answer.usage,
        money=replay.money,
        started_at=replay.started_at,
        ended_at=replay.ended_at,
    )


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
