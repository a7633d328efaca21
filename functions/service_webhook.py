"""Handler of the webhooks of services, which start runs of agents."""

import base64
import json
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app, load_adapters, service
from skein.errors import Invalid, SkeinError, TooLarge
from skein.http import JSON_HEADERS, webhook_error_response
from skein.inbound.service_webhooks import WebhookServices
from skein.logs import logged
from skein.models.directory.webhook_service import MAX_PAYLOAD_BYTES
from webhooks.event import Webhook

load_adapters("secrets")

MAX_BODY_CHARACTERS = MAX_PAYLOAD_BYTES * 4 // 3 + 4  # in base64


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Accept a service's webhook, queue its runs, and return their ids."""
    webhook = Webhook.of(event)
    try:
        run_ids = service(WebhookServices).receive(
            webhook.parameters["service_id"],
            body_of(webhook),
            webhook.headers.get("x-skein-signature", ""),
        )
    except SkeinError as error:
        return webhook_error_response(error, app().ports.metrics)
    return {"statusCode": 202, "headers": JSON_HEADERS, "body": json.dumps({"runs": run_ids})}


def body_of(webhook: Webhook) -> bytes:
    """Return the signed bytes of a webhook's body.

    Raises:
        Invalid: The body is marked as base64 but is not valid base64.
        TooLarge: The body is longer than `MAX_BODY_CHARACTERS`.
    """
    body = webhook.body
    if len(body) > MAX_BODY_CHARACTERS:
        raise TooLarge(f"the body is larger than {MAX_PAYLOAD_BYTES:,} bytes")
    try:
        return base64.b64decode(body, validate=True) if webhook.encoded else body.encode()
    except ValueError:
        raise Invalid("the body is not valid base64") from None
