"""The recorded events and those of the local stack have the fields that AWS publishes.

Each table has the fields of one kind of event, from the page of AWS that is named. A field with a
question mark may be missing. `{}` stands for names that a request, a message or an item chooses.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from bench.starts.first_events import scene
from local.events import CONNECT, QueueMessage, schedule_event, socket_event, sqs_event
from tests.support.api_client import EVENTS, recorded

ANY: Mapping[str, Any] = {"{}": object}
NOW = datetime(2026, 2, 18, 12, 0, tzinfo=UTC)
# apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
HTTP: Mapping[str, Any] = {
    "version": str,
    "routeKey": str,
    "rawPath": str,
    "rawQueryString": str,
    "cookies?": list,
    "headers": {"{}": str},
    "queryStringParameters?": {"{}": str},
    "requestContext": {
        "accountId": str,
        "apiId": str,
        "authentication?": object,
        "authorizer?": ANY,
        "domainName": str,
        "domainPrefix": str,
        "http": {"method": str, "path": str, "protocol": str, "sourceIp": str, "userAgent": str},
        "requestId": str,
        "routeKey": str,
        "stage": str,
        "time": str,
        "timeEpoch": int,
    },
    "body?": str,
    "pathParameters?": {"{}": str},
    "isBase64Encoded": bool,
    "stageVariables?": {"{}": str},
}
# apigateway/latest/developerguide/http-api-lambda-authorizer.html, payload format 2.0
AUTHORIZER: Mapping[str, Any] = {
    **{name: kind for name, kind in HTTP.items() if name not in {"body?", "isBase64Encoded"}},
    "type": str,
    "routeArn": str,
    "identitySource": list,
}
# apigateway/latest/developerguide/apigateway-websocket-api-mapping-template-reference.html; only
# $disconnect has a reason, and only $connect and $disconnect have headers.
SOCKET: Mapping[str, Any] = {
    "headers?": {"{}": str},
    "multiValueHeaders?": {"{}": list},
    "queryStringParameters?": {"{}": str},
    "multiValueQueryStringParameters?": {"{}": list},
    "requestContext": {
        "accountId?": str,
        "apiId": str,
        "authorizer?": object,
        "connectedAt?": int,
        "connectionId": str,
        "disconnectReason?": str,
        "disconnectStatusCode?": int,
        "domainName": str,
        "eventType": str,
        "extendedRequestId?": str,
        "identity?": ANY,
        "messageDirection?": str,
        "messageId?": str,
        "requestId": str,
        "requestTime?": str,
        "requestTimeEpoch?": int,
        "routeKey": str,
        "stage": str,
    },
    "body?": str,
    "isBase64Encoded": bool,
}
# lambda/latest/dg/with-sqs.html
SQS: Mapping[str, Any] = {
    "messageId": str,
    "receiptHandle": str,
    "body": str,
    "attributes": {"{}": str},
    "messageAttributes": ANY,
    "md5OfBody": str,
    "eventSource": str,
    "eventSourceARN": str,
    "awsRegion": str,
}
# lambda/latest/dg/with-ddb.html
STREAM: Mapping[str, Any] = {
    "eventID": str,
    "eventName": str,
    "eventVersion": str,
    "eventSource": str,
    "awsRegion": str,
    "dynamodb": {
        "ApproximateCreationDateTime": int,
        "Keys": ANY,
        "NewImage?": ANY,
        "OldImage?": ANY,
        "SequenceNumber": str,
        "SizeBytes": int,
        "StreamViewType": str,
    },
    "eventSourceARN": str,
    "userIdentity?": {"type": str, "principalId": str},
}
# eventbridge/latest/userguide/eb-run-lambda-schedule.html
SCHEDULE: Mapping[str, Any] = {
    "version": str,
    "id": str,
    "detail-type": str,
    "source": str,
    "account": str,
    "time": str,
    "region": str,
    "resources": list,
    "detail": ANY,
}


def differences(event: Any, fields: Any, where: str = "event") -> Iterator[str]:
    """Yield how an event differs from the published fields."""
    if not isinstance(fields, Mapping):
        if not isinstance(event, fields):
            yield f"{where} is {event!r}"
        return
    if not isinstance(event, Mapping):
        yield f"{where} is {event!r}"
        return
    if "{}" in fields:
        for name, value in event.items():
            yield from differences(value, fields["{}"], f"{where}.{name}")
        return
    known = {name.rstrip("?"): kind for name, kind in fields.items()}
    yield from (f"{where} has {name}" for name in event.keys() - known.keys())
    needed = {name for name in fields if not name.endswith("?")}
    yield from (f"{where} lacks {name}" for name in needed - event.keys())
    for name in known.keys() & event.keys():
        yield from differences(event[name], known[name], f"{where}.{name}")


def parts(event: Mapping[str, Any]) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return an event, or each of its records, with the published fields of its kind."""
    if "Records" in event:
        kinds = {"aws:sqs": SQS, "aws:dynamodb": STREAM}
        return [(record, kinds[record["eventSource"]]) for record in event["Records"]]
    if "detail-type" in event:
        return [(event, SCHEDULE)]
    if "eventType" in event["requestContext"]:
        return [(event, SOCKET)]
    return [(event, AUTHORIZER if "routeArn" in event else HTTP)]


@pytest.mark.parametrize("name", sorted(path.stem for path in EVENTS.glob("*.json")))
def test_recorded_event_has_the_published_fields(name: str) -> None:
    for event, fields in parts(recorded(name)):
        assert not list(differences(event, fields))


def test_local_event_has_the_published_fields() -> None:
    story = scene().events
    message = QueueMessage("1", "1", "{}", "0", 1, NOW, NOW)
    events = (
        *(event for name, event in story.items() if name != "authorizer"),
        sqs_event("arn:aws:sqs:us-east-1:1:a", [message]),
        schedule_event("tick", NOW),
        socket_event(CONNECT, "a"),
    )
    for each in events:
        for event, fields in parts(each):
            assert not list(differences(event, fields))


def test_event_with_another_field_or_without_one_is_noticed() -> None:
    event = schedule_event("tick", NOW)
    assert not list(differences(event, SCHEDULE))
    assert list(differences({**event, "detail": None}, SCHEDULE)) == ["event.detail is None"]
    del event["region"]
    assert list(differences({**event, "more": 1}, SCHEDULE)) == [
        "event has more",
        "event lacks region",
    ]
