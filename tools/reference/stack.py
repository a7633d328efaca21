"""Content of docs/stack.md: the resources of the templates that operators deal with."""

import ast
import json
from collections.abc import Iterator

from local.template import Function, Queue, Template
from tools.deployment import policy
from tools.reference import alarms, permissions
from tools.reference.markdown import table

HEAD = """# The stack

What a deployment consists of. [Deployment](deploy.md) and [operations](operations.md) explain how
to use it.

`make reference` writes this page from `template.yaml`, `deployment/ops.yaml` and the functions'
docstrings.
"""
QUEUES = """A job that failed too often is moved to `DeadLetters` and kept for 14 days.
`FeedDeadLetters` gets positions in the table's stream whose changes `Feed` gave up.

"""
QUEUE_HEAD = ("queue", "worker", "at most at once", "tries", "next try after")
PARAMETERS = """Set parameters with `make deploy PARAMETERS="Name=value Name=value"`. Later
deployments keep their values.

"""
OUTPUTS = """Those of dead letters are for the commands of the [runbook](alarms.md#dead-letters).

"""
PERMISSIONS = """Each function has a role of its own, which allows only these calls. All may also
write to the log group. A transaction needs the permission of each of its writes, and a batch of
jobs needs `sqs:SendMessage`.

"""
ALARMS = """A page goes to the SNS topic `PageTopic`, and a ticket to `TicketTopic`. Alarms on a
rate also need a number of events, so one failure alone raises none.

"""
ROLE = """What the role that deploys a stack may do. `{stack}` is the stack's name,
in small letters for buckets. IAM knows no resources for some actions, so these are allowed on all.
`python3 -m tools.deployment.policy --stack NAME` prints this as a policy.

"""


def page(template: Template, ops: Template) -> str:
    """Return docs/stack.md in Markdown."""
    return HEAD + "".join(
        f"\n## {heading}\n\n{text}"
        for heading, text in (
            ("Functions", table("function", "called by", "handles", rows=_functions(template))),
            ("Queues", QUEUES + table(*QUEUE_HEAD, rows=_queues(template))),
            (
                "Parameters",
                PARAMETERS + table("parameter", "default", "meaning", rows=_parameters(template)),
            ),
            ("Outputs", OUTPUTS + table("output", "meaning", rows=_outputs(template))),
            ("Permissions", PERMISSIONS + permissions.table(template)),
            ("Alarms", ALARMS + alarms.table(template, ops)),
            ("The role that deploys", ROLE + table("actions", "resources", rows=_grants())),
        )
    )


def _functions(template: Template) -> Iterator[tuple[str, ...]]:
    sockets = {
        function.logical_id: f"`{route}` of the live channel"
        for route, function in template.socket_routes.items()
    }
    for function in template.functions:
        called_by = sockets.get(function.logical_id) or _callers(function)
        yield f"`{function.logical_id}`", called_by, _purpose(function)


def _callers(function: Function) -> str:
    """Return the event sources of a function.

    Functions of the live channel are described elsewhere.
    """
    rates = [each.expression.removeprefix("rate(1 ")[:-1] for each in function.schedules]
    return ", ".join(
        [
            *(f"`{source.queue}`" for source in function.queues),
            *(f"every {rate}" for rate in dict.fromkeys(rates)),
            *(["the table's stream"] if function.streams else []),
            *(["the HTTP API"] if function.routes else []),
        ]
    )


def _purpose(function: Function) -> str:
    """Return the first line of the docstring of the handler's module."""
    path = function.code / f"{function.handler.rpartition('.')[0].replace('.', '/')}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = text.partition("\n")[0].removeprefix("Handler of ").removeprefix("Handler that ")
    return f"{first[0].upper()}{first[1:]}"


def _queues(template: Template) -> Iterator[tuple[str, ...]]:
    readers = {
        source.queue: (function.logical_id, source.concurrency)
        for function in template.functions
        for source in function.queues
    }
    for queue in template.queues:
        if queue.logical_id in readers:
            yield _queue(queue, *readers[queue.logical_id])


def _queue(queue: Queue, worker: str, concurrency: int | None) -> tuple[str, ...]:
    names = (f"`{queue.logical_id}`", f"`{worker}`")
    bounds = (str(concurrency or "-"), str(queue.max_receives), f"{queue.visibility:,} s")
    return *names, *bounds


def _parameters(template: Template) -> Iterator[tuple[str, ...]]:
    for name, parameter in template.document["Parameters"].items():
        default = f"`{parameter['Default']}`" if parameter.get("Default", "") != "" else "empty"
        yield f"`{name}`", default if "Default" in parameter else "required", _described(parameter)


def _outputs(template: Template) -> Iterator[tuple[str, ...]]:
    for name, output in template.document["Outputs"].items():
        if "Description" in output:
            yield f"`{name}`", _described(output)
    others = [
        name for name, each in template.document["Outputs"].items() if "Description" not in each
    ]
    yield ", ".join(f"`{name}`" for name in others), "Queues of dead letters."


def _grants() -> Iterator[tuple[str, ...]]:
    for each in policy.policy("{stack}")["Statement"]:
        named = each["Resource"] if isinstance(each["Resource"], list) else []
        resources = [f"`{one.removeprefix('arn:aws:')}`" for one in named]
        condition = f"if `{json.dumps(each['Condition'])}`" if "Condition" in each else "all"
        yield ", ".join(f"`{one}`" for one in each["Action"]), ", ".join(resources) or condition


def _described(declared: dict[str, str]) -> str:
    return declared["Description"].replace("|", "\\|")
