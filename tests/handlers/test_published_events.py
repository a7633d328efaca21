"""The recorded events and those of the local stack are as AWS publishes them.

Each table has the fields of one kind of event, from the page of AWS that is named. A field with a
question mark may be missing. `{}` stands for names that a request, a message or an item chooses.
AWS's own models of events (Powertools) and examples (SAM CLI) are compared with the same tables.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest
from aws_lambda_powertools.utilities.parser import models
from pydantic import BaseModel

from bench.starts.first_events import scene
from local.events import CONNECT, QueueMessage, schedule_event, socket_event, sqs_event
from local.template import ROOT
from tests.support.api_client import EVENTS, recorded
from tests.support.builders import World, bot, person
from tests.support.webhooks import invoke

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
    "version?": str,
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


def model_of(event: Mapping[str, Any]) -> type[BaseModel]:
    """Return AWS's model of an event's kind."""
    if "Records" in event:
        queued = event["Records"][0]["eventSource"] == "aws:sqs"
        return models.SqsModel if queued else models.DynamoDBStreamModel
    if "detail-type" in event:
        return models.EventBridgeModel
    if "routeArn" in event:
        return models.ApiGatewayAuthorizerRequestV2
    sockets: Mapping[str, type[BaseModel]] = {
        "CONNECT": models.APIGatewayWebSocketConnectEventModel,
        "MESSAGE": models.APIGatewayWebSocketMessageEventModel,
        "DISCONNECT": models.APIGatewayWebSocketDisconnectEventModel,
    }
    kind = event["requestContext"].get("eventType", "")
    return sockets.get(kind, models.APIGatewayProxyEventV2Model)


def check(event: Mapping[str, Any]) -> None:
    """Compare an event with the published fields, and with AWS's model."""
    assert not [each for part, fields in parts(event) for each in differences(part, fields)]
    model_of(event).model_validate(event)


@pytest.mark.parametrize("name", sorted(path.stem for path in EVENTS.glob("*.json")))
def test_recorded_event_has_the_published_fields(name: str) -> None:
    check(recorded(name))


def test_local_event_has_the_published_fields() -> None:
    story = scene().events
    message = QueueMessage("1", "1", "{}", "0", 1, NOW, NOW)
    events = (
        *(event for name, event in story.items() if name != "authorizer"),
        sqs_event("arn:aws:sqs:us-east-1:1:a", [message]),
        schedule_event("tick", NOW),
        socket_event(CONNECT, "a", now=NOW, headers={"Host": "a.example"}),
    )
    for event in events:
        check(event)


# A function, AWS's example of its event, and what our own event gives: the rest stays AWS's.
EXAMPLES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "mobile_api": (
        "apigateway",
        "http-api-proxy",
        (
            "rawPath",
            "rawQueryString",
            "queryStringParameters",
            "body",
            "isBase64Encoded",
            "requestContext.authorizer",
            "requestContext.http.method",
            "requestContext.http.path",
        ),
    ),
    "run_worker": ("sqs", "receive-message", ("Records.0.body", "Records.0.eventSourceARN")),
    "feed": (
        "dynamodb",
        "update",
        ("Records.0.dynamodb.Keys", "Records.0.dynamodb.NewImage", "Records.0.eventSourceARN"),
    ),
    "tick": ("cloudwatch", "scheduled-event", ()),
}


def example(service: str, name: str) -> dict[str, Any]:
    """Return one of the events that the SAM CLI generates, with its defaults."""
    [folder] = ROOT.glob(".cache/sam/lib/python3*/site-packages/samcli/lib/generated_sample_events")
    described = json.loads((folder / "event-mapping.json").read_text("utf-8"))[service][name]
    values = {tag.replace("-", "_"): each for tag, each in described["tags"].items()}
    text = (folder / "events" / service / f"{described['filename']}.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(
        re.sub(
            r"\{\{\{(\w+)\}\}\}",
            lambda tag: json.dumps(values.get(tag[1], {}).get("default", "0"))[1:-1],
            text,
        )
    )
    return found


def with_ours(event: dict[str, Any], ours: Any, paths: tuple[str, ...]) -> dict[str, Any]:
    """Return an event with what is at some paths of ours, or without it if ours has none."""
    filled = copy.deepcopy(event)
    for path in paths:
        *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        into: Any = filled
        source = ours
        for step in way:
            into, source = into[step], source[step]
        into.pop(last, None)
        if last in source:
            into[last] = source[last]
    return filled


@pytest.mark.slow  # needs the SAM CLI, which `make proofs` installs
@pytest.mark.parametrize("name", EXAMPLES)
def test_published_example_is_handled(name: str) -> None:
    service, generated, ours = EXAMPLES[name]
    published = example(service, generated)
    assert not [each for part, of in parts(published) for each in differences(part, of)]
    world = World()
    world.chat(person(), person("usr_ahmad", "Ahmad"), bot())
    world.ids.skip_to(0)
    world.post("Hello", person())
    event = with_ours(published, recorded(name), ours)
    if "Records" in event:
        del event["Records"][1:]
    answer = invoke(import_module(name), world, event)
    assert not answer.get("batchItemFailures")
    assert answer.get("statusCode", 200) in {200, 201}


def test_event_with_another_field_or_without_one_is_noticed() -> None:
    event = schedule_event("tick", NOW)
    assert not list(differences(event, SCHEDULE))
    assert list(differences({**event, "detail": None}, SCHEDULE)) == ["event.detail is None"]
    del event["region"]
    assert list(differences({**event, "more": 1}, SCHEDULE)) == [
        "event has more",
        "event lacks region",
    ]
