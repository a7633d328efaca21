"""Handler of the live channel's new connections."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import load_adapters, service
from skein.errors import SkeinError
from skein.http import error_response
from skein.live.connections import LiveConnections
from skein.logs import logged

load_adapters()

CONNECTED = {"statusCode": 200}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Accept a connection with a valid ticket; refuse others with 401."""
    ticket = str((event.get("queryStringParameters") or {}).get("ticket") or "")
    connection_id = str(event["requestContext"]["connectionId"])
    try:
        service(LiveConnections).connect(ticket, connection_id)
    except SkeinError as error:
        return error_response(error)
    return CONNECTED
