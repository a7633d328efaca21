"""Handler of Twilio's status callbacks for SMS."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, load_adapters, service
from skein.errors import SkeinError
from skein.http import webhook_error_response
from skein.logs import logged
from skein.services.delivery.sender import SmsSender
from webhooks.event import Webhook
from webhooks.twilio import Form, named_in, signed_form, status_report

load_adapters("verifier", "secrets")

HEARD = {"statusCode": 204}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Record the status of an SMS; ignore an unknown status."""
    webhook = Webhook.of(event)
    form: Form = {}
    try:
        form = signed_form(webhook, app().ports.verifier, app().ports.settings.public_base_url)
        report = status_report(webhook, form)
        if report is not None:
            service(SmsSender).report(report)
    except SkeinError as error:
        named = named_in(form, line="From")
        return webhook_error_response(error, app().ports.metrics, named)
    return HEARD
