"""The filters of the stream over real items, and those of metrics over real lines of the log."""

import base64
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from moto.events.models import EventPattern

from bench.starts.first_events import scene
from local.polling.event_filters import EventFilters
from skein.adapters.dynamodb.attributes import marshal_item
from tests.support.metric_filters import matches
from tests.support.template import deployed_template, ops_template

TEMPLATE = deployed_template()
PATTERNS = [
    pattern
    for function in TEMPLATE.functions
    for source in function.streams
    for pattern in source.patterns
]


@cache
def records() -> list[dict[str, Any]]:
    """Return each item of a story as a change of the table, made, changed and deleted."""
    found = []
    for item in scene().items:
        image = json.loads(json.dumps(marshal_item(item), default=_encoded))
        keys = {name: image[name] for name in ("pk", "sk")}
        both = {"NewImage": image, "OldImage": image}
        found += [
            {"eventName": "INSERT", "dynamodb": {"Keys": keys, "NewImage": image}},
            {"eventName": "MODIFY", "dynamodb": {**both, "Keys": keys}},
            {"eventName": "REMOVE", "dynamodb": {"Keys": keys, "OldImage": image}},
        ]
    return found


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def test_filters_of_the_stream_match_as_a_second_implementation_does() -> None:
    accepted = 0
    for pattern in PATTERNS:
        ours, other = EventFilters([pattern]), EventPattern.load(pattern)
        matches_event: Any = other.matches_event
        for record in records():
            assert ours.accept(record) is matches_event(record), (pattern, record)
            accepted += ours.accept(record)
    assert 0 < accepted < len(records()) * len(PATTERNS)


def test_stream_leaves_out_what_no_handler_reads() -> None:
    filters = EventFilters(PATTERNS)
    read = {
        record["dynamodb"]["Keys"]["sk"]["S"].split("#")[0]
        for record in records()
        if filters.accept(record)
    }
    assert {"MSG", "RUN", "DELIVERY", "META", "MEMBER"} <= read
    assert not read & {"STEP", "USAGE", "PROFILE"}


@cache
def metrics() -> Mapping[str, str]:
    """Return the patterns of all metrics from the log, by metric."""
    resources = [*TEMPLATE.resources("AWS::Logs::MetricFilter")]
    resources += ops_template().resources("AWS::Logs::MetricFilter")
    return {
        each["MetricTransformations"][0]["MetricName"]: each["FilterPattern"]
        for _, each in resources
    }


def access(status: int, **values: str) -> str:
    """Return a line of the gateway's access log."""
    form = TEMPLATE.document["Resources"]["HttpApi"]["Properties"]["AccessLogSettings"]["Format"]
    given = {
        "status": str(status),
        "routeKey": "GET /v1/chats",
        "integrationStatus": "200",
        **values,
    }
    return re.sub(r"\$context\.([\w.]+)", lambda found: given.get(found[1], "-"), form)


def report(status: str) -> str:
    """Return the end of an invocation, as Lambda's documentation shows it."""
    times = {
        "durationMs": 100.0,
        "billedDurationMs": 100,
        "memorySizeMB": 128,
        "maxMemoryUsedMB": 90,
    }
    record = {"requestId": "6f7f0961f83442118a7af6fe80b88d56", "status": status, "metrics": times}
    return json.dumps(
        {"time": "2026-11-01T12:00:00.000Z", "type": "platform.report", "record": record}
    )


OWN = json.dumps({"level": "ERROR", "message": "refused", "status": "503", "service": "skein"})
LINES: Mapping[str, tuple[str, set[str]]] = {
    "answer": (access(200), {"Requests"}),
    "health": (access(200, routeKey="GET /healthz"), set()),
    "refused by a function": (access(429, integrationStatus="429"), {"Requests"}),
    "refused by the gateway": (
        access(429, integrationStatus="-"),
        {"Requests", "GatewayThrottles"},
    ),
    "failed": (access(500, integrationStatus="200"), {"Requests", "ServerErrors"}),
    "timed out": (access(503, integrationStatus="-"), {"Requests", "ServerErrors"}),
    "invocation": (report("success"), {"Invocations"}),
    "time-out": (report("timeout"), {"Invocations", "Errors"}),
    "crash": (report("error"), {"Invocations", "Errors"}),
    "own line": (OWN, set()),
    "no JSON": ("START RequestId: 1", set()),
}


@pytest.mark.parametrize("name", LINES)
def test_line_of_the_log_counts_for_its_metrics(name: str) -> None:
    line, counted = LINES[name]
    assert {metric for metric, pattern in metrics().items() if matches(pattern, line)} == counted


def test_each_metric_is_counted_by_a_line() -> None:
    assert {metric for _, counted in LINES.values() for metric in counted} == metrics().keys()


@pytest.mark.parametrize("pattern", ["{ $.a > 1 }", "[a, b]", "{ $.a EXISTS }"])
def test_pattern_that_is_not_understood_is_an_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        matches(pattern, "{}")
