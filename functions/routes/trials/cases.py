"""Routes of the cases of agents, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import AgentId, Limit, PageCursor
from routes.router import ApiRouter, no_content
from routes.scope import WhyPrivate, note_run, sees_private
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.services.common.pagination import DEFAULT_PAGE, Listing
from skein.services.directory.agents import Agents
from skein.trials.api import CaseChange, CasePage, CaseResource, NewCase
from skein.trials.models.case import Case, CaseView
from skein.trials.records import CaseOwner, Cases

# The audit log calls a case a replay: release 0.3.0 reads entries of the kinds that it knows.
router = ApiRouter("trials", "replay", role="support")

CaseId = Annotated[EntityId, Path(description="The id of a case.")]


def owner_of(agent_id: str, reason: str | None) -> CaseOwner:
    """Return the agent whose cases the request may reach, with the operator's rights.

    Raises:
        NotFound: The agent does not exist.
    """
    caller = router.caller
    service(Agents).get(caller.tenant, agent_id)
    return CaseOwner(caller.tenant, agent_id, caller.user_id, sees_private(caller, reason))


def noted(view: CaseView) -> CaseView:
    """Record the people of the run if its private case is shown, and return the case."""
    if view.run is not None and not view.withheld:
        note_run(view.run)
    return view


@router.post("/v1/agents/<agent_id>/cases", "Create a case", 409)
def create_case(agent_id: AgentId, new: NewCase, reason: WhyPrivate = None) -> CaseResource:
    """Keeps a run or a script as a case, with what must hold in it.

    A case of a run has a reference to the run's prompt. For a private run, this call requires the
    role `privacy` and a reason. An agent has at most 200 cases.
    """
    owner, cases = owner_of(agent_id, reason), service(Cases)
    made = router.once(
        Case,
        lambda: cases.create(owner, new),
        lambda case_id: cases.get(owner, case_id),
    )
    return CaseResource.of(noted(made))


@router.get("/v1/agents/<agent_id>/cases", "List an agent's cases, oldest first")
def list_cases(
    agent_id: AgentId,
    *,
    reason: WhyPrivate = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> CasePage:
    """A case is `gone` if the prompt of its run was erased, was forgotten or has expired.

    Without the role `privacy` and a reason, a private case is shown without its name and its
    expectations.
    """
    page = service(Cases).list(owner_of(agent_id, reason), limit=limit, cursor=cursor)
    return CasePage.of(Listing(tuple(map(noted, page.items)), page.next_cursor))


@router.get("/v1/agents/<agent_id>/cases/<case_id>", "Get a case")
def get_case(agent_id: AgentId, case_id: CaseId, reason: WhyPrivate = None) -> CaseResource:
    """Returns the case with its expectations.

    Without the role `privacy` and a reason, a private case is shown without its name and its
    expectations.
    """
    return CaseResource.of(noted(service(Cases).get(owner_of(agent_id, reason), case_id)))


@router.patch("/v1/agents/<agent_id>/cases/<case_id>", "Update a case")
def change_case(
    agent_id: AgentId, case_id: CaseId, change: CaseChange, reason: WhyPrivate = None
) -> CaseResource:
    """`script` replaces the script of a case. The run of a case of a run cannot be changed."""
    owner = owner_of(agent_id, reason)
    return CaseResource.of(noted(service(Cases).change(owner, case_id, change)))


@router.delete("/v1/agents/<agent_id>/cases/<case_id>", "Delete a case")
def delete_case(agent_id: AgentId, case_id: CaseId, reason: WhyPrivate = None) -> Response[None]:
    """Results of the case in earlier trials stay."""
    service(Cases).delete(owner_of(agent_id, reason), case_id)
    return no_content()
