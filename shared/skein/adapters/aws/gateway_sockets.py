"""The connections of an API Gateway WebSocket API."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.errors import AWS_ERRORS, AwsError, meaning_of
from skein.errors import ConnectionGone

if TYPE_CHECKING:
    from mypy_boto3_apigatewaymanagementapi import ApiGatewayManagementApiClient

READ_SECONDS = 3
TRIES = 2
GONE = frozenset({"GoneException", "BadRequestException", "ForbiddenException"})


def gateway_client(aws: Aws, live_url: str) -> "ApiGatewayManagementApiClient":
    """Create a client for the connections of a WebSocket API.

    Args:
        aws: The factory of clients.
        live_url: The URL to which clients connect: `wss://host/stage`.
    """
    parts = urlsplit(live_url)
    client: ApiGatewayManagementApiClient = aws.client(
        "apigatewaymanagementapi",
        read_seconds=READ_SECONDS,
        tries=TRIES,
        endpoint_url=f"https://{parts.netloc}{parts.path}",
    )
    return client


@dataclass(frozen=True, slots=True)
class GatewaySockets:
    """`Sockets` on API Gateway.

    Args:
        client: A client, for example from `gateway_client`; None without a live channel.
    """

    client: "ApiGatewayManagementApiClient | None"

    def push(self, connection_id: str, text: str) -> None:
        if self.client is None:
            raise ConnectionGone("there is no live channel")
        try:
            self.client.post_to_connection(ConnectionId=connection_id, Data=text.encode())
        except AWS_ERRORS as error:
            raise _meaning(error) from error

    def close(self, connection_id: str) -> None:
        if self.client is None:
            return
        try:
            self.client.delete_connection(ConnectionId=connection_id)
        except AWS_ERRORS as error:
            meaning = _meaning(error)
            if not isinstance(meaning, ConnectionGone):
                raise meaning from error


def _meaning(error: AwsError) -> Exception:
    """Map an error of API Gateway: an unknown connection id becomes `ConnectionGone`."""
    response = getattr(error, "response", {})
    if response.get("Error", {}).get("Code") in GONE:
        return ConnectionGone("the connection is closed")
    return meaning_of(error, writing=True)
