"""Routes of webhook services, which start runs, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import ApiRouter, Limit, PageCursor, documented, no_content
from routes.audited import changes, creates, deletes, reads
from skein.bootstrap.api import services
from skein.models.api.base import EntityId
from skein.models.api.services import (
    NewService,
    ServiceChange,
    ServicePage,
    ServiceResource,
    ServiceWithSecret,
)
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()

ServiceId = Annotated[EntityId, Path(description="The id of a service.")]


@router.post(
    "/v1/services",
    summary="Register a service",
    tags=["services"],
    status_code=201,
    responses=documented(201, ServiceWithSecret, 400, 413),
    middlewares=creates("service"),
)
def create_service(new: NewService) -> ServiceWithSecret:
    """The secret is shown only once. Webhooks go to `/webhooks/services/<id>`."""
    service = services().webhook_services.create(router.caller.tenant, new)
    return ServiceWithSecret.of(service)


@router.get(
    "/v1/services",
    summary="List services, oldest first",
    tags=["services"],
    responses=documented(200, ServicePage, 400),
    middlewares=reads("service"),
)
def list_services(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ServicePage:
    """Each service names the agents whose runs it starts."""
    page = services().webhook_services.list(router.caller.tenant, limit=limit, cursor=cursor)
    return ServicePage(
        items=tuple(map(ServiceResource.of, page.items)), next_cursor=page.next_cursor
    )


@router.get(
    "/v1/services/<service_id>",
    summary="Get a service",
    tags=["services"],
    responses=documented(200, ServiceResource, 404),
    middlewares=reads("service"),
)
def get_service(service_id: ServiceId) -> ServiceResource:
    """The response contains no secret."""
    return ServiceResource.of(services().webhook_services.get(router.caller.tenant, service_id))


@router.patch(
    "/v1/services/<service_id>",
    summary="Update a service",
    tags=["services"],
    responses=documented(200, ServiceResource, 400, 404, 413),
    middlewares=changes("service"),
)
def change_service(service_id: ServiceId, change: ServiceChange) -> ServiceResource:
    """The secret stays unchanged."""
    return ServiceResource.of(
        services().webhook_services.change(router.caller.tenant, service_id, change)
    )


@router.post(
    "/v1/services/<service_id>/secret",
    summary="Rotate a service's secret",
    tags=["services"],
    responses=documented(200, ServiceWithSecret, 400, 404, 413),
    middlewares=changes("service"),
)
def rotate_secret(service_id: ServiceId) -> ServiceWithSecret:
    """The new secret is shown only once. The old one becomes invalid."""
    return ServiceWithSecret.of(
        services().webhook_services.rotate(router.caller.tenant, service_id)
    )


@router.delete(
    "/v1/services/<service_id>",
    summary="Delete a service",
    tags=["services"],
    status_code=204,
    responses=documented(204, None, 404),
    middlewares=deletes("service"),
)
def delete_service(service_id: ServiceId) -> Response[None]:
    """Later webhooks of the service are refused."""
    services().webhook_services.delete(router.caller.tenant, service_id)
    return no_content()
