"""Handler of the webhooks for inbound SMS and messages of other channels."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, load_adapters, service
from skein.errors import SkeinError
from skein.http import webhook_error_response
from skein.inbound.sms import SmsReceiver
from skein.logs import logged
from webhooks.event import Webhook
from webhooks.providers import OTHERWISE, PROVIDERS, Fields

load_adapters("verifier", "secrets")


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> Mapping[str, Any]:
    """Accept an inbound message. An agent's answer is sent later, as a separate message."""
    webhook = Webhook.of(event)
    provider = PROVIDERS.get(webhook.provider, OTHERWISE)
    fields: Fields = {}
    try:
        fields = provider.signed_fields(webhook, app().ports)
        service(SmsReceiver).receive(provider.inbound_sms(fields))
    except SkeinError as error:
        named = provider.named_in(fields, line="To")
        return webhook_error_response(error, app().ports.metrics, named)
    return provider.NOTHING_TO_SAY
