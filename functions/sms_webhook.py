"""API Gateway: somebody texts one of our lines."""

from typing import Any

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import app
from skein.errors import SkeinError
from skein.http import error_response
from skein.logs import logged
from twilio_http import inbound_sms, signed_form

NOTHING_TO_SAY = {
    "statusCode": 200,
    "headers": {"content-type": "text/xml"},
    "body": "<Response/>",
}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Take the text in; what there is to answer follows by a text of its own."""
    request = APIGatewayProxyEventV2(event)
    try:
        form = signed_form(request, app().verifier, app().settings.public_base_url)
        app().ingest.receive(inbound_sms(form))
    except SkeinError as error:
        return error_response(error)
    return NOTHING_TO_SAY
