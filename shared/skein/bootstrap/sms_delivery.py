"""Composition of SMS deliveries, for their worker and Twilio's status callbacks."""

from skein.bootstrap.ports import Ports
from skein.services.delivery.sender import SmsSender
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import UsageCounters


def build_sms_sender(ports: Ports) -> SmsSender:
    """Build the service that sends SMS and records their statuses."""
    return SmsSender(
        table=ports.table,
        clock=ports.clock,
        sms=ports.sms,
        dispatch=Dispatch(queues=ports.queues, metrics=ports.metrics),
        metrics=ports.metrics,
        usage=UsageCounters(table=ports.table, clock=ports.clock, metrics=ports.metrics),
        settings=ports.settings,
    )
