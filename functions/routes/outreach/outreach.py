"""Routes of outreach, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import Limit, PageCursor
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.outreach.api import (
    NewOutreach,
    OutreachChange,
    OutreachDetail,
    OutreachPage,
    OutreachResource,
)
from skein.outreach.models.outreach import Outreach
from skein.outreach.outreaches import Outreaches
from skein.outreach.reports import OutreachReports
from skein.services.common.pagination import DEFAULT_PAGE

OutreachId = Annotated[EntityId, Path(description="The id of an outreach.")]

router = ApiRouter("outreach", "outreach", role="support")


@router.post("/v1/outreach", "Create an outreach", 409, keyed=True)
def create_outreach(new: NewOutreach) -> OutreachResource:
    """Each person gets one text in their direct chat with the agent, at the pace of the line.

    With `instruction`, the agent writes to each person in its own words. With `text`, all people
    get that text. If some people have not consented to texts, the status is 409, and `details` name
    these people. Quiet hours and limits apply.
    """
    caller = router.caller
    outreaches = service(Outreaches)
    created = router.once(
        Outreach,
        lambda: outreaches.create(caller.tenant, caller.user_id, new),
        lambda outreach_id: outreaches.get(caller.tenant, outreach_id),
        unless=new.client_id,
    )
    return OutreachResource.of(created)


@router.get("/v1/outreach", "List outreach, newest first")
def list_outreach(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> OutreachPage:
    """An outreach is kept for 90 days after the time for which it was planned."""
    page = service(Outreaches).list(router.caller.tenant, limit=limit, cursor=cursor)
    return OutreachPage.of(page)


@router.get("/v1/outreach/<outreach_id>", "Get an outreach with its report")
def get_outreach(outreach_id: OutreachId) -> OutreachDetail:
    """The report has the state of each person, and the reason if a person got no text."""
    found = service(Outreaches).get(router.caller.tenant, outreach_id)
    return service(OutreachReports).of(found)


@router.patch("/v1/outreach/<outreach_id>", "Pause, resume or cancel an outreach", 409)
def change_outreach(outreach_id: OutreachId, change: OutreachChange) -> OutreachResource:
    """Texts that were sent are not withdrawn. A resumed outreach continues within five minutes."""
    changed = service(Outreaches).change(router.caller.tenant, outreach_id, change)
    return OutreachResource.of(changed)
