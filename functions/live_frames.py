"""Handler of the frames that clients send over the live channel."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import load_adapters, service
from skein.errors import SkeinError
from skein.http import error_response
from skein.live.client_frames import ClientFrames
from skein.logs import logged

load_adapters("sockets")

RECEIVED = {"statusCode": 200}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Handle one frame. The response is empty: answers are sent as separate frames."""
    connection_id = str(event["requestContext"]["connectionId"])
    try:
        service(ClientFrames).receive(connection_id, event.get("body") or "")
    except SkeinError as error:
        return error_response(error)
    return RECEIVED
