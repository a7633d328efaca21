"""Lambda events and responses, in the shapes that AWS documents.

HTTP API payload format 2.0:
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
SQS and EventBridge: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html and
https://docs.aws.amazon.com/lambda/latest/dg/with-eventbridge-scheduler.html
DynamoDB Streams: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

from local.intrinsics import ACCOUNT, REGION
from skein.adapters.aws.rules import TABLE
from skein.adapters.dynamodb.attributes import StoredItem

Event = dict[str, Any]

# The routes of a WebSocket API: a new connection, a closed one, and each frame.
CONNECT, DISCONNECT, DEFAULT = "$connect", "$disconnect", "$default"

API_ID = "local"
STAGE = "$default"
STREAM_LABEL = "2026-01-01T00:00:00.000"
SHARD = "shardId-00000000000000000000-00000000"
KEYS = (TABLE.pk, TABLE.sk)
TEXT_TYPES = ("application/json", "application/xml", "application/javascript")


class BadResponseError(Exception):
    """A handler returned a response that API Gateway would reject."""


@dataclass(frozen=True)
class Request:
    """HTTP request.

    Attributes:
        method: The HTTP method in upper case.
        path: The path as sent, with percent-escapes.
        query: The query string as sent, without the question mark.
        headers: Headers by lower-case name; the values of repeated headers are joined by commas.
        body: The body's bytes.
        source_ip: The client's IP address.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    source_ip: str = "127.0.0.1"


@dataclass(frozen=True)
class Response:
    """HTTP response."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


def json_response(status: int, body: object, *headers: tuple[str, str]) -> Response:
    return Response(
        status, (("content-type", "application/json"), *headers), json.dumps(body).encode()
    )


def http_event(
    request: Request,
    *,
    route_key: str,
    path_parameters: Mapping[str, str],
    authorizer: Mapping[str, Any] | None,
    now: datetime,
) -> Event:
    """Create the event of an HTTP request (payload format 2.0)."""
    headers = {name: value for name, value in request.headers.items() if name != "cookie"}
    path = unquote(request.path)
    context: Event = {
        "accountId": ACCOUNT,
        "apiId": API_ID,
        "domainName": request.headers.get("host", "localhost"),
        "domainPrefix": API_ID,
        "http": {
            "method": request.method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": request.source_ip,
            "userAgent": request.headers.get("user-agent", ""),
        },
        "requestId": str(uuid.uuid4()),
        "routeKey": route_key,
        "stage": STAGE,
        "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(now.timestamp() * 1000),
    }
    if authorizer is not None:
        context["authorizer"] = authorizer
    event: Event = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": context,
        "isBase64Encoded": False,
    }
    if "cookie" in request.headers:
        event["cookies"] = [part.strip() for part in request.headers["cookie"].split(";")]
    if request.query:
        event["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if path_parameters:
        event["pathParameters"] = dict(path_parameters)
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(request)
    return event


def _joined(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(request: Request) -> tuple[str, bool]:
    """Return the body of a request as text, and whether this text is in base64.

    As on API Gateway, a body is in base64 unless its media type is a text type. The media type of
    form fields is not a text type.
    """
    kind = request.headers.get("content-type", "text/plain").split(";")[0].strip().lower()
    if kind.startswith("text/") or kind in TEXT_TYPES or kind.endswith(("+json", "+xml")):
        try:
            return request.body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(request.body).decode(), True


def http_response(result: Any) -> Response:
    """Convert a handler's result to an HTTP response, as API Gateway does.

    Raises:
        BadResponseError: The result is malformed; API Gateway would answer with status 500.
    """
    if not isinstance(result, Mapping) or "statusCode" not in result:
        # In payload format 2.0, a result without a status is the body.
        return json_response(200, result)
    body = result.get("body") or ""
    headers = {
        str(name).lower(): str(value) for name, value in (result.get("headers") or {}).items()
    }
    headers.setdefault("content-type", "text/plain;charset=UTF-8")
    try:
        data = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()
        status = int(result["statusCode"])
    except (AttributeError, TypeError, ValueError) as error:
        raise BadResponseError(f"malformed response: {error}") from error
    cookies = [("set-cookie", str(cookie)) for cookie in result.get("cookies") or ()]
    return Response(status, (*headers.items(), *cookies), data)


@dataclass(frozen=True)
class QueueMessage:
    """An SQS message as a function receives it. Times are of the local clock."""

    message_id: str
    receipt_handle: str
    body: str
    md5: str
    receive_count: int
    sent_at: datetime
    first_received_at: datetime


def sqs_event(queue_arn: str, messages: Sequence[QueueMessage]) -> Event:
    """Create the event of a batch of SQS messages."""
    return {
        "Records": [
            {
                "messageId": message.message_id,
                "receiptHandle": message.receipt_handle,
                "body": message.body,
                "attributes": {
                    "ApproximateReceiveCount": str(message.receive_count),
                    "SentTimestamp": str(int(message.sent_at.timestamp() * 1000)),
                    "SenderId": ACCOUNT,
                    "ApproximateFirstReceiveTimestamp": str(
                        int(message.first_received_at.timestamp() * 1000)
                    ),
                },
                "messageAttributes": {},
                "md5OfBody": message.md5,
                "eventSource": "aws:sqs",
                "eventSourceARN": queue_arn,
                "awsRegion": REGION,
            }
            for message in messages
        ]
    }


def failed_messages(result: Any, message_ids: Sequence[str]) -> set[str]:
    """Return the message ids that a handler reports as failed (`ReportBatchItemFailures`).

    As on AWS, an empty result means that no message failed. A malformed result, or a result with an
    unknown message id, fails the whole batch.
    """
    if not result:
        return set()
    try:
        failures = result.get("batchItemFailures") or []
        failed = {str(failure["itemIdentifier"]) for failure in failures}
    except (AttributeError, KeyError, TypeError):
        return set(message_ids)
    return failed if failed <= set(message_ids) else set(message_ids)


def stream_change(
    table_arn: str,
    before: StoredItem | None,
    after: StoredItem | None,
    *,
    at: float,
    expired: bool = False,
) -> Event:
    """Create the stream record of a changed item, still without id, sequence number and size.

    Args:
        before: The item before the change; None for a new item.
        after: The item after the change; None for a deleted item.
        at: The time of the change, in seconds since 1970.
        expired: Whether the table deleted the item because it had expired.

    Raises:
        ValueError: Neither item is given.
    """
    item = after or before
    if item is None:
        raise ValueError("a change needs an item")
    change: Event = {
        "ApproximateCreationDateTime": int(at),
        "Keys": {name: item[name] for name in KEYS},
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    if before is not None:
        change["OldImage"] = before
    if after is not None:
        change["NewImage"] = after
    event: Event = {
        "eventName": "REMOVE" if after is None else "INSERT" if before is None else "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "dynamodb": change,
        "eventSourceARN": f"{table_arn}/stream/{STREAM_LABEL}",
    }
    if expired:
        event["userIdentity"] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    return event


def sequence_number(record: Event) -> str:
    """Return the sequence number of a stream's record."""
    return str(record["dynamodb"]["SequenceNumber"])


def given_up(
    function_arn: str, records: Sequence[Event], *, condition: str, calls: int, now: datetime
) -> Event:
    """Create the message about stream records that are no longer retried.

    As on AWS, the message has the position of the records in the stream, but not their content.

    Args:
        records: The records, oldest first.
        condition: Why the records were given up: `RetryAttemptsExhausted` or `RecordAgeExceeded`.
        calls: How often the function was called for the batch.
    """
    first, last = records[0], records[-1]
    return {
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "functionArn": function_arn,
            "condition": condition,
            "approximateInvokeCount": calls,
        },
        "responseContext": {
            "statusCode": 200,
            "executedVersion": "$LATEST",
            "functionError": "Unhandled",
        },
        "version": "1.0",
        "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "DDBStreamBatchInfo": {
            "shardId": SHARD,
            "startSequenceNumber": sequence_number(first),
            "endSequenceNumber": sequence_number(last),
            "approximateArrivalOfFirstRecord": _arrival(first),
            "approximateArrivalOfLastRecord": _arrival(last),
            "batchSize": len(records),
            "streamArn": first["eventSourceARN"],
        },
    }


def _arrival(record: Event) -> str:
    at = datetime.fromtimestamp(record["dynamodb"]["ApproximateCreationDateTime"], UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def socket_event(
    route_key: str, connection_id: str, *, now: datetime, headers: Mapping[str, str] | None = None
) -> Event:
    """Create the event of a connection to a WebSocket API.

    For a frame, the caller adds the frame's text as `body`.

    Args:
        now: The time of the event, which is also used as the time of the connection.
        headers: The headers of the request that opens the connection.
    """
    kinds = {CONNECT: "CONNECT", DISCONNECT: "DISCONNECT", DEFAULT: "MESSAGE"}
    request_id, milliseconds = str(uuid.uuid4()), int(now.timestamp() * 1000)
    context: Event = {
        "routeKey": route_key,
        "eventType": kinds[route_key],
        "extendedRequestId": request_id,
        "requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "messageDirection": "IN",
        "stage": "live",
        "connectedAt": milliseconds,
        "requestTimeEpoch": milliseconds,
        "identity": {"sourceIp": "127.0.0.1", "userAgent": (headers or {}).get("User-Agent")},
        "requestId": request_id,
        "domainName": f"local.execute-api.{REGION}.localhost",
        "connectionId": connection_id,
        "apiId": "local",
    }
    if route_key == DEFAULT:
        return {"requestContext": context | {"messageId": request_id}, "isBase64Encoded": False}
    if route_key == DISCONNECT:
        context |= {"disconnectStatusCode": 1001, "disconnectReason": "Going away"}
    sent = dict(headers or {})
    return {
        "headers": sent,
        "multiValueHeaders": {name: [value] for name, value in sent.items()},
        "requestContext": context,
        "isBase64Encoded": False,
    }


def schedule_event(rule: str, now: datetime) -> Event:
    """Create the event of an EventBridge rule with a schedule."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{rule}"],
        "detail": {},
    }
