"""Handler of Twilio's webhook for inbound SMS."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, load_adapters, service
from skein.errors import SkeinError
from skein.http import webhook_error_response
from skein.inbound.sms import SmsReceiver
from skein.logs import logged
from webhooks.event import Webhook
from webhooks.twilio import Form, inbound_sms, named_in, signed_form

load_adapters("verifier", "secrets")

NOTHING_TO_SAY = {
    "statusCode": 200,
    "headers": {"content-type": "text/xml"},
    "body": "<Response/>",
}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Accept an inbound SMS; an agent's answer is sent later as a separate SMS."""
    webhook = Webhook.of(event)
    form: Form = {}
    try:
        form = signed_form(webhook, app().ports.verifier, app().ports.settings.public_base_url)
        service(SmsReceiver).receive(inbound_sms(form))
    except SkeinError as error:
        named = named_in(form, line="To")
        return webhook_error_response(error, app().ports.metrics, named)
    return NOTHING_TO_SAY
