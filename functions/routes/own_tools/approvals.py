"""Routes of calls that wait for an operator (function `admin_api`)."""

from dataclasses import replace
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.audited import note_seen
from routes.router import ApiRouter
from routes.scope import WhyPrivate, check_private, sees_private
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.own_tools.api import ApprovalList, ApprovalResource, ToolDecision, WaitingCallResource
from skein.own_tools.operator_approvals import OperatorApprovals, WaitingCall

router = ApiRouter("approvals", "approval", role="support")

ApprovalId = Annotated[EntityId, Path(description="The id of an approval.")]


@router.get("/v1/approvals", "List tool calls awaiting approval, oldest first", polled=True)
def list_approvals() -> ApprovalList:
    """Calls of tools with `approval: operator`. A call waits for seven days."""
    found = service(OperatorApprovals).list(router.caller.tenant)
    return ApprovalList(items=tuple(map(ApprovalResource.of, found)), next_cursor=None)


@router.get("/v1/approvals/<approval_id>", "Get a tool call awaiting approval")
def get_approval(approval_id: ApprovalId, reason: WhyPrivate = None) -> WaitingCallResource:
    """Returns the waiting call with its arguments, and the times of equal calls before it.

    The arguments of a call from a private chat are null without the role `privacy` and a reason.
    """
    return _shown(_read(approval_id, reason))


@router.post("/v1/approvals/<approval_id>", "Approve or reject a tool call", 409, status=200)
def decide(
    approval_id: ApprovalId, body: ToolDecision, reason: WhyPrivate = None
) -> WaitingCallResource:
    """The decision starts a run, which makes exactly this call, or says that it was refused.

    To decide on a call from a private chat, you need the role `privacy` and must give a reason.
    """
    waiting = _read(approval_id, reason)
    if waiting.approval.private:
        check_private(router.caller, reason)
    caller, approvals = router.caller, service(OperatorApprovals)
    made = approvals.decide(caller.tenant, approval_id, body.decision, by=caller.user_id)
    return _shown(replace(waiting, approval=made))


def _read(approval_id: str, reason: str | None) -> WaitingCall:
    """Read an approval, and record the people whose private content is shown."""
    caller = router.caller
    private = sees_private(caller, reason)
    waiting = service(OperatorApprovals).get(caller.tenant, approval_id, private=private)
    if waiting.approval.private and private:
        note_seen(waiting.approval.call.readers.reader_ids or ())
    return waiting


def _shown(waiting: WaitingCall) -> WaitingCallResource:
    shared = ApprovalResource.of(waiting.approval).model_dump()
    return WaitingCallResource(**shared, arguments=waiting.arguments, made_at=waiting.made_at)
