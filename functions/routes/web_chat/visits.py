"""Routes of the web chat, which visitors call without signing in (function `mobile_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import origin_of
from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.errors import Forbidden
from skein.identity.models.visit import VisitClaims
from skein.identity.visit_tokens import VisitTokens
from skein.models.common.base import EntityId
from skein.web_chat.api import NewVisit, PublicWidget, VisitResource, VisitState
from skein.web_chat.limits import VisitLimits
from skein.web_chat.visits import Visits
from skein.web_chat.widgets import Widgets

router = ApiRouter("widgets", Unaudited("anybody may read it"))
own = ApiRouter("widgets", Unaudited(CONVERSATION))

WidgetId = Annotated[EntityId, Path(description="The id of a widget.")]


@router.get(
    "/v1/widgets/<widget_id>/public", "Get what anybody may read of a widget", 403, public=True
)
def get_public_widget(widget_id: WidgetId) -> PublicWidget:
    """The call needs no token, but an `Origin` that the widget allows.

    Nothing is stored.
    """
    return PublicWidget.shown(service(Widgets).on_page(widget_id, _origin()))


@router.post(
    "/v1/widgets/<widget_id>/visits",
    "Open or renew a visit",
    401,
    403,
    429,
    public=True,
    keyed=False,
)
def open_visit(widget_id: WidgetId, new: NewVisit) -> VisitResource:
    """The call needs no token, but an `Origin` that the widget allows.

    Nothing is stored before the visitor's first message. A `renewal` can be used once. If it is
    sent again within 60 seconds, the response is the same; later, the visit ends with 401. 403 with
    `details.consent_version`: the visitor must first agree to this version of the consent text.
    """
    event = router.routes.current_event.raw_event
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    source_ip = event["requestContext"]["http"]["sourceIp"]
    address = service(VisitLimits).address_of(source_ip, headers)
    claims = service(Visits).open(widget_id, new, origin=_origin(), address=address)
    return VisitResource.shown(claims, service(VisitTokens))


@own.get("/v1/visit", "Get the state of the caller's visit")
def get_visit() -> VisitState:
    """Requires the token of a visit, which works even while the visitor is being erased."""
    return VisitState(status=service(Visits).status(_claims()))


@own.delete("/v1/visit", "Erase the visitor and the chat of a visit", status=202)
def erase_visit() -> VisitState:
    """The visit ends at once. After some minutes, `GET /v1/visit` says that everything is erased.

    If the visitor has not written yet, there is nothing to erase.
    """
    return VisitState(status=service(Visits).erase(_claims()))


@own.post("/v1/visit/end", "End the caller's visit", status=204, keyed=False)
def end_visit() -> Response[None]:
    """All tokens and renewals of the visit stop working. The business keeps the chat."""
    service(Visits).end(_claims())
    return no_content()


def _origin() -> str | None:
    return origin_of(router.routes.current_event.raw_event)


def _claims() -> VisitClaims:
    """Return the claims of the caller's visit.

    Raises:
        Forbidden: The caller's token is not that of a visit.
    """
    visit = own.caller.visit
    if visit is None:
        raise Forbidden("this call needs the token of a visit")
    return visit
