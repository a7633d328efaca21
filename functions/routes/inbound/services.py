"""Routes of webhook services, which start runs, for operators (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.crud import Crud, in_tenant
from skein.bootstrap import service
from skein.inbound.api import (
    NewService,
    ServiceChange,
    ServicePage,
    ServiceResource,
    ServiceWithSecret,
)
from skein.inbound.service_webhooks import WebhookServices
from skein.models.common.base import EntityId
from skein.models.directory.webhook_service import WebhookService

ServiceId = Annotated[EntityId, Path(description="The id of a service.")]

router = Crud(
    "services",
    "service",
    "/v1/services/<service_id>",
    ServiceId,
    parent=in_tenant,
    service=WebhookServices,
    shown=ServiceResource,
    writes="owner",
)

router.creates(
    NewService,
    "Register a service",
    item=WebhookService,
    again=lambda services, tenant, service_id, _: services.rotate(tenant, service_id),
    about="The secret is shown only once. Webhooks go to `/webhooks/services/<id>`.",
    shown=ServiceWithSecret,
)
router.lists(
    ServicePage,
    "List services, oldest first",
    about="Each service names the agents whose runs it starts.",
)
router.gets("Get a service", about="The response contains no secret.")
router.changes(ServiceChange, "Update a service", about="The secret stays unchanged.")
router.deletes("Delete a service", about="Later webhooks of the service are refused.")


@router.post("/v1/services/<service_id>/secret", "Rotate a service's secret", status=200)
def rotate_secret(service_id: ServiceId) -> ServiceWithSecret:
    """The new secret is shown only once. The old one becomes invalid."""
    return ServiceWithSecret.of(service(WebhookServices).rotate(router.caller.tenant, service_id))
