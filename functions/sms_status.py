"""Handler of the status callbacks for SMS and messages of other channels."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, load_adapters, service
from skein.errors import SkeinError
from skein.http import webhook_error_response
from skein.logs import logged
from skein.services.delivery.sender import SmsSender
from webhooks.event import Webhook
from webhooks.providers import OTHERWISE, PROVIDERS, Fields

load_adapters("verifier", "secrets")

HEARD = {"statusCode": 204}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Record the status of a sent message. An unknown status is ignored."""
    webhook = Webhook.of(event)
    provider = PROVIDERS.get(webhook.provider, OTHERWISE)
    fields: Fields = {}
    try:
        fields = provider.signed_fields(webhook, app().ports)
        report = provider.status_report(webhook, fields)
        if report is not None:
            service(SmsSender).report(report)
    except SkeinError as error:
        named = provider.named_in(fields, line="From")
        return webhook_error_response(error, app().ports.metrics, named)
    return HEARD
