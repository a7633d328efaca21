"""Measurement of cold starts in a deployed stack, for comparing starts with and without SnapStart.

`python -m tools.deployment.cold_starts [--stack NAME] [--env NAME] [--times 20]` invokes the
function of `/healthz` many times at once, so that Lambda starts new instances, and reads the
instances' reports in the log. To compare, deploy with `SnapStart=off`, measure, deploy with
`SnapStart=on`, and measure again. The module needs only the standard library and the `aws` command.
It has not been run in a real account yet.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tools.deployment.checks import FailedCheckError, aws
from tools.deployment.deploy import BadNameError, Target

FUNCTION, ALIAS = "MobileApi", "current"
LOG_SECONDS = 60.0  # until the reports are in the log
REPORTS = '{ $.type = "platform.report" }'
HEALTH = {
    "version": "2.0",
    "routeKey": "GET /healthz",
    "rawPath": "/healthz",
    "rawQueryString": "",
    "headers": {},
    "requestContext": {"http": {"method": "GET", "path": "/healthz"}, "requestId": "cold-starts"},
    "isBase64Encoded": False,
}

Aws = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class ColdStart:
    """The first invocation of a new instance.

    Attributes:
        kind: `init` if the instance was initialized, `restore` if it was restored from a snapshot.
        start_ms: How long the initialization or the restoration took, in milliseconds.
        total_ms: How long the start and the invocation took together, in milliseconds.
    """

    kind: str
    start_ms: float
    total_ms: float


def cold_starts(events: Iterable[Mapping[str, Any]], function: str) -> list[ColdStart]:
    """Return the cold starts of a function that log events report; other events are ignored."""
    found = []
    for event in events:
        if f"/{function}[" not in event["logStreamName"]:
            continue
        metrics = json.loads(event["message"])["record"]["metrics"]
        for kind in ("init", "restore"):
            start = metrics.get(f"{kind}DurationMs")
            if start is not None:
                found.append(ColdStart(kind, start, start + metrics["durationMs"]))
    return found


def summary(found: Sequence[ColdStart]) -> list[str]:
    """Return a line for each kind of cold start: the number, the median and the slowest."""
    lines = []
    for kind in ("init", "restore"):
        starts = [each for each in found if each.kind == kind]
        if starts:
            start = statistics.median(each.start_ms for each in starts)
            total = statistics.median(each.total_ms for each in starts)
            slowest = max(each.total_ms for each in starts)
            lines.append(
                f"{kind:<8} {len(starts):>3} cold starts; median {start:.0f} ms, "
                f"with the first invocation {total:.0f} ms; slowest {slowest:.0f} ms"
            )
    return lines or ["no cold starts: all invocations met warm instances; raise --times"]


def measure(
    stack: str, times: int, run: Aws = aws, sleep: Callable[[float], None] = time.sleep
) -> list[ColdStart]:
    """Invoke the function many times at once, and return the cold starts that this caused.

    Raises:
        FailedCheckError: The `aws` command failed.
    """
    resource = run(
        [
            *("cloudformation", "describe-stack-resource", "--stack-name", stack),
            *("--logical-resource-id", FUNCTION),
        ]
    )
    name = str(json.loads(resource)["StackResourceDetail"]["PhysicalResourceId"])
    described = json.loads(run(["cloudformation", "describe-stacks", "--stack-name", stack]))
    outputs = {one["OutputKey"]: one["OutputValue"] for one in described["Stacks"][0]["Outputs"]}
    began = int(time.time() * 1000)
    invocation = [
        *("lambda", "invoke", "--function-name", name, "--qualifier", ALIAS),
        *("--cli-binary-format", "raw-in-base64-out", "--payload", json.dumps(HEALTH), "/dev/null"),
    ]
    with ThreadPoolExecutor(times) as pool:
        list(pool.map(run, [invocation] * times))
    sleep(LOG_SECONDS)
    logged = run(
        [
            *("logs", "filter-log-events", "--log-group-name", outputs["LogGroupName"]),
            *("--start-time", str(began), "--filter-pattern", REPORTS),
        ]
    )
    return cold_starts(json.loads(logged)["events"], name)


def main(argv: Sequence[str]) -> int:
    """Measure as the command line says, print the result, and return the exit status."""
    parser = argparse.ArgumentParser(prog="tools.deployment.cold_starts")
    parser.add_argument("--stack", default="")
    parser.add_argument("--env", default="")
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args(argv)
    try:
        target = Target.of(stack=given.stack, environment=given.env, confirm=False)
        print("\n".join(summary(measure(target.stack, given.times))))
    except (BadNameError, FailedCheckError) as error:
        print(f"cold-starts: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
