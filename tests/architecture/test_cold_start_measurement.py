"""The measurement of cold starts reads Lambda's reports, and invokes the alias."""

import json
from collections.abc import Sequence
from typing import Any

from tools.deployment import cold_starts
from tools.deployment.cold_starts import ColdStart


def report(function: str, **metrics: float) -> dict[str, Any]:
    """An event of the log, as Lambda writes it in JSON."""
    return {
        "logStreamName": f"2026/11/22/{function}[7]0123",
        "message": json.dumps({"type": "platform.report", "record": {"metrics": metrics}}),
    }


class FakeAws:
    """The `aws` command over a stack with some reports in its log."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.invoked: list[Sequence[str]] = []
        self._events = events

    def __call__(self, command: Sequence[str]) -> str:
        if command[0] == "lambda":
            self.invoked.append(command)
            return "{}"
        answer: dict[str, Any] = {"events": self._events}
        if command[1] == "describe-stack-resource":
            answer = {"StackResourceDetail": {"PhysicalResourceId": "skein-api"}}
        elif command[1] == "describe-stacks":
            output = {"OutputKey": "LogGroupName", "OutputValue": "logs"}
            answer = {"Stacks": [{"Outputs": [output]}]}
        return json.dumps(answer)


def test_measure_returns_the_cold_starts_of_the_function_alone() -> None:
    events = [
        report("skein-api", durationMs=20, initDurationMs=900),
        report("skein-api", durationMs=3),
        report("skein-api", durationMs=30, restoreDurationMs=200),
        report("skein-tick", durationMs=20, initDurationMs=100),
    ]
    fake = FakeAws(events)
    found = cold_starts.measure("skein", 5, fake, lambda _seconds: None)
    assert found == [ColdStart("init", 900, 920), ColdStart("restore", 200, 230)]
    assert len(fake.invoked) == 5
    assert all(command[5] == "current" for command in fake.invoked)
