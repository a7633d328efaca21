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
from skein.trials.api import CaseChange, CasePage, CaseResource, NewCase
from skein.trials.models.case import Case, CaseView
from skein.trials.records import CaseOwner, Cases

# The audit log calls a case a replay: release 0.3.0 reads entries of the kinds that it knows.
router = ApiRouter("trials", "replay", role="support")

CaseId = Annotated[EntityId, Path(description="The id of a case.")]


def owner_of(agent_id: str, reason: str | None) -> CaseOwner:
    """Return the agent whose cases the request reaches, and the rights of the operator."""
    caller = router.caller
    return CaseOwner(caller.tenant, agent_id, caller.user_id, sees_private(caller, reason))


def noted(view: CaseView) -> CaseView:
    """Record the people of the run of a private case that is shown."""
    if view.run is not None and not view.withheld:
        note_run(view.run)
    return view


@router.post("/v1/agents/<agent_id>/cases", "Create a case", 409)
def create_case(agent_id: AgentId, new: NewCase, reason: WhyPrivate = None) -> CaseResource:
    """Keep a run or a script, with what must hold. An agent has at most 200 cases.

    Of a run, the case keeps a reference to the prompt. A private run takes the role `privacy` and a
    reason.
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
    """A case is `gone` once the prompt of its run was erased or forgotten, or has expired.

    Without the role `privacy` and a reason, a private case has no name, and nothing is expected.
    """
    page = service(Cases).list(owner_of(agent_id, reason), limit=limit, cursor=cursor)
    return CasePage.of(Listing(tuple(map(noted, page.items)), page.next_cursor))


@router.get("/v1/agents/<agent_id>/cases/<case_id>", "Get a case")
def get_case(agent_id: AgentId, case_id: CaseId, reason: WhyPrivate = None) -> CaseResource:
    """A private case without the role `privacy` and a reason is shown as in the list."""
    return CaseResource.of(noted(service(Cases).get(owner_of(agent_id, reason), case_id)))


@router.patch("/v1/agents/<agent_id>/cases/<case_id>", "Update a case")
def change_case(
    agent_id: AgentId, case_id: CaseId, change: CaseChange, reason: WhyPrivate = None
) -> CaseResource:
    """A case of a run keeps its run. `script` replaces the script of the others."""
    owner = owner_of(agent_id, reason)
    return CaseResource.of(noted(service(Cases).change(owner, case_id, change)))


@router.delete("/v1/agents/<agent_id>/cases/<case_id>", "Delete a case")
def delete_case(agent_id: AgentId, case_id: CaseId, reason: WhyPrivate = None) -> Response[None]:
    """Results of earlier trials stay."""
    service(Cases).delete(owner_of(agent_id, reason), case_id)
    return no_content()
