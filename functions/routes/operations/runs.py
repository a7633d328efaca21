"""Routes of runs, for operators."""

from contextlib import suppress

from routes.app import AgentId, Day, Limit, PageCursor, RunId
from routes.router import ApiRouter
from routes.scope import WhyPrivate, note_run, sees_private
from skein.bootstrap import service
from skein.errors import Conflict
from skein.models.api.inspection import PromptResource
from skein.models.api.runs import (
    RunInspection,
    RunPage,
    RunPreviewResource,
    RunResource,
    StepResource,
)
from skein.models.common.reason import Reason
from skein.models.runs.completion import TokenUsage
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.quotas.money import money_of
from skein.services.runs.completion import RunCompletion
from skein.services.runs.queries import RunPreview, RunView, RunViews

router = ApiRouter("runs", "run", role="support")


@router.get("/v1/agents/<agent_id>/runs", "List an agent's runs of one day, newest first")
def list_runs(
    agent_id: AgentId,
    *,
    day: Day = None,
    reason: WhyPrivate = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> RunPage:
    """The list has the first words of each run, but no prompts or steps.

    The runs of a deleted agent can still be listed. Without the role `privacy` and a reason,
    private runs have only status, times and reason.
    """
    page = service(RunViews).of_agent(
        router.caller.tenant, agent_id, day=day, limit=limit, cursor=cursor
    )
    private = sees_private(router.caller, reason)
    for run in page.items if private else ():
        note_run(run)
    shown = [run for run in page.items if private or not run.private]
    previews = service(RunViews).previews(router.caller.tenant, shown)
    items = (
        RunResource.for_operators(
            run,
            private=private,
            preview=_words(each := previews.get(run.id)),
            money=each.money if each else None,
        )
        for run in page.items
    )
    return RunPage(items=tuple(items), next_cursor=page.next_cursor)


@router.get("/v1/runs/<run_id>", "Get a run")
def get_run(run_id: RunId, reason: WhyPrivate = None) -> RunResource:
    """The run includes its newest prompt, section by section, and all steps.

    Without the role `privacy` and a reason, a private run has only status, times and reason.
    """
    private = sees_private(router.caller, reason)
    return _shown(service(RunViews).inspect(router.caller.tenant, run_id, private=private))


def _shown(view: RunView) -> RunResource:
    if view.withheld:
        return inspected(view)
    note_run(view.run)
    previews = service(RunViews).previews(router.caller.tenant, [view.run])
    return inspected(view).model_copy(update={"preview": _words(previews.get(view.run.id))})


def _words(preview: RunPreview | None) -> RunPreviewResource | None:
    return None if preview is None else RunPreviewResource.of(preview)


@router.delete("/v1/runs/<run_id>", "Stop a run")
def stop_run(run_id: RunId, reason: WhyPrivate = None) -> RunResource:
    """Ends a run that waits, is queued or works (idempotent). Messages it has sent stay."""
    caller = router.caller
    private = sees_private(caller, reason)
    run = service(RunViews).get(caller.tenant, run_id).run
    with suppress(Conflict):  # it has already ended
        service(RunCompletion).cancel(
            run, reason=Reason.STOPPED_BY_OPERATOR, error="stopped by an operator"
        )
    return _shown(service(RunViews).inspect(caller.tenant, run_id, private=private))


def inspected(view: RunView) -> RunResource:
    """Return a run as operators may see it. If its content is withheld, the content is left out."""
    run = view.run.model_copy(update={"reason": view.reason})
    if view.withheld:
        return RunResource.without_content(run)
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
                StepResource.of(
                    step, money_of([(step.model, step.usage)], view.prices, step.tool_cost)
                )
                for step in view.steps
            ),
            money=money_of(
                ((step.model, step.usage) for step in view.steps),
                view.prices,
                sum(step.tool_cost for step in view.steps),
            ),
            previous_run_id=view.previous_run_id,
        ),
    )
