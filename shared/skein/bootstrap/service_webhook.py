"""Composition of the webhook for services."""

from skein.bootstrap.ports import Ports
from skein.services.inbound.service_webhooks import WebhookServices
from skein.services.outbox.dispatch import Dispatch


def build_webhook_services(ports: Ports) -> WebhookServices:
    """Build the service that receives webhooks and starts runs."""
    return WebhookServices(
        table=ports.table,
        clock=ports.clock,
        ids=ports.ids,
        dispatch=Dispatch(queues=ports.queues, metrics=ports.metrics),
    )
