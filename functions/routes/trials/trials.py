"""Routes of the trials of agents, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import AgentId, Limit, PageCursor
from routes.router import ApiRouter, no_content
from routes.scope import WhyPrivate, note_run
from routes.trials.cases import owner_of
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.services.common.pagination import DEFAULT_PAGE
from skein.trials.api import NewTrial, PlayList, PlayResource, TrialDetail, TrialPage
from skein.trials.models.trial import Trial
from skein.trials.trials import Trials

# The audit log calls a trial a replay: release 0.3.0 reads entries of the kinds that it knows.
router = ApiRouter("trials", "replay", role="support")

TrialId = Annotated[EntityId, Path(description="The id of a trial.")]
OfCase = Annotated[EntityId, Query(description="The id of a case of the trial.")]


@router.post("/v1/agents/<agent_id>/trials", "Start a trial", 404, 409, status=202, keyed=True)
def start_trial(agent_id: AgentId, new: NewTrial, reason: WhyPrivate = None) -> TrialDetail:
    """Plays the agent's cases for two of its versions, in the background. Nothing is sent.

    The response estimates the trial's calls, tokens and cost. A trial over `max_tokens` or over the
    tenant's limit is refused before a model is asked. A tenant can have at most three running
    trials.
    """
    owner, trials = owner_of(agent_id, reason), service(Trials)
    view = router.once(
        Trial,
        lambda: trials.start(owner, new),
        lambda trial_id: trials.get(owner, trial_id),
    )
    return TrialDetail.from_view(view)


@router.get("/v1/agents/<agent_id>/trials", "List an agent's trials, newest first")
def list_trials(
    agent_id: AgentId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> TrialPage:
    """Trials are kept for 90 days."""
    page = service(Trials).list(owner_of(agent_id, None), limit=limit, cursor=cursor)
    return TrialPage.of(page)


@router.get("/v1/agents/<agent_id>/trials/<trial_id>", "Get a trial")
def get_trial(agent_id: AgentId, trial_id: TrialId) -> TrialDetail:
    """Both versions of the agent, and the verdict on each case, but no texts of the plays."""
    return TrialDetail.from_view(service(Trials).get(owner_of(agent_id, None), trial_id))


@router.get("/v1/agents/<agent_id>/trials/<trial_id>/results", "List the plays of a case")
def list_plays(
    agent_id: AgentId, trial_id: TrialId, case_id: OfCase, reason: WhyPrivate = None
) -> PlayList:
    """What the agent said and did in each play. Erasing a run's prompt also erases its plays."""
    found, run = service(Trials).results(owner_of(agent_id, reason), trial_id, case_id)
    if run is not None:
        note_run(run)
    return PlayList(items=tuple(map(PlayResource.of, found)), next_cursor=None)


@router.delete("/v1/agents/<agent_id>/trials/<trial_id>", "Stop a trial")
def stop_trial(agent_id: AgentId, trial_id: TrialId) -> Response[None]:
    """Plays that have begun are finished. All results so far stay."""
    service(Trials).stop(owner_of(agent_id, None), trial_id)
    return no_content()
