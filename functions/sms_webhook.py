"""Handler of Twilio's webhook for inbound SMS."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, preload
from skein.errors import SkeinError
from skein.http import error_response
from skein.logs import logged
from webhooks.event import Webhook
from webhooks.twilio import inbound_sms, signed_form

preload("ingest", "verifier", "secrets")

NOTHING_TO_SAY = {
    "statusCode": 200,
    "headers": {"content-type": "text/xml"},
    "body": "<Response/>",
}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Accept an inbound SMS; an agent's answer is sent later as a separate SMS."""
    webhook = Webhook.of(event)
    try:
        form = signed_form(webhook, app().verifier, app().settings.public_base_url)
        app().ingest.receive(inbound_sms(form))
    except SkeinError as error:
        return error_response(error)
    return NOTHING_TO_SAY
