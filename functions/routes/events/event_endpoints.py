"""Routes of event endpoints, which receive events (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import Limit, PageCursor
from routes.crud import Crud, in_tenant
from skein.bootstrap import service
from skein.events.api import (
    EndpointChange,
    EndpointPage,
    EndpointResource,
    EndpointWithSecret,
    NewEndpoint,
    ParkedEventPage,
    ParkedEventResource,
    RedeliveredCount,
)
from skein.events.endpoints import EventEndpoints
from skein.events.models.endpoint import EventEndpoint
from skein.models.common.base import EntityId
from skein.services.common.pagination import DEFAULT_PAGE

EndpointId = Annotated[EntityId, Path(description="The id of an event endpoint.")]
EventId = Annotated[EntityId | None, Query(description="The id of a parked event.")]

router = Crud(
    "events",
    "endpoint",
    "/v1/event-endpoints/<endpoint_id>",
    EndpointId,
    parent=in_tenant,
    service=EventEndpoints,
    shown=EndpointResource,
    writes="owner",
)

router.creates(
    NewEndpoint,
    "Create an event endpoint",
    409,
    item=EventEndpoint,
    again=EventEndpoints.created,
    about="The secret, which signs each event, is shown only once. Events come after half a "
    "minute at the latest.",
    shown=EndpointWithSecret,
)
router.lists(
    EndpointPage,
    "List event endpoints, oldest first",
    about="Each endpoint names the types of events that it is sent.",
)
router.gets("Get an event endpoint", about="The response contains no secret.")
router.changes(EndpointChange, "Update an event endpoint", about="The secret stays unchanged.")
router.deletes("Delete an event endpoint", about="Events that wait for it are dropped.")


@router.post("/v1/event-endpoints/<endpoint_id>/secret", "Rotate an endpoint's secret", status=200)
def rotate_endpoint_secret(endpoint_id: EndpointId) -> EndpointWithSecret:
    """The new secret is shown only once. The old one becomes invalid."""
    return EndpointWithSecret.of(service(EventEndpoints).rotate(router.caller.tenant, endpoint_id))


@router.get("/v1/event-endpoints/<endpoint_id>/parked", "List failed events, oldest first")
def list_parked_events(
    endpoint_id: EndpointId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> ParkedEventPage:
    """An event is parked after failing for a day, and deleted 30 days later."""
    tenant, endpoints = router.caller.tenant, service(EventEndpoints)
    page = endpoints.parked(tenant, endpoint_id, limit=limit, cursor=cursor)
    return ParkedEventPage(
        items=tuple(map(ParkedEventResource.of, page.items)), next_cursor=page.next_cursor
    )


@router.post("/v1/event-endpoints/<endpoint_id>/redeliver", "Resend failed events", status=200)
def redeliver_events(endpoint_id: EndpointId, event_id: EventId = None) -> RedeliveredCount:
    """At most 50 events are sent again, oldest first. They keep their ids.

    With `event_id`, only this event is sent again.
    """
    number = service(EventEndpoints).redeliver(router.caller.tenant, endpoint_id, event_id)
    return RedeliveredCount(redelivered=number)
