"""Handler of the live channel's closed connections."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import load_adapters, service
from skein.live.connections import LiveConnections
from skein.logs import logged

load_adapters()

FORGOTTEN = {"statusCode": 200}


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Delete a connection's record. The gateway may send this event more than once, or never."""
    service(LiveConnections).disconnect(str(event["requestContext"]["connectionId"]))
    return FORGOTTEN
