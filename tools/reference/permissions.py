"""Table of the functions' permissions, from the template, for docs/stack.md."""

import re
from collections import defaultdict
from collections.abc import Iterable

from local.permissions import (
    RECEIVE,
    SEND,
    Permission,
    denials_of,
    permissions_of,
)
from local.template import Template
from tools.reference import markdown

COLUMNS = ("function", "receives from", "table", "indexes", "sends to", "secrets", "other")
LOGICAL_ID_IN_ARN = re.compile(r":(\w+)}/")
DYNAMODB, SECRET = "dynamodb:", "secretsmanager:GetSecretValue"
LOGS = ("logs:CreateLogStream", "logs:PutLogEvents")  # the same for every function


def table(template: Template) -> str:
    """Return the Markdown table of all functions' permissions."""
    rows = (_row(template, function.logical_id) for function in template.functions)
    return markdown.table(*COLUMNS, rows=rows)


def _row(template: Template, function: str) -> list[str]:
    """Return the cells of a function. The last cell has the permissions that no other shows."""
    left = {each for each in permissions_of(template, function) if each.action not in LOGS}
    table_id = template.table[0]

    def take(action: str, under: str = "") -> list[str]:
        found = {p for p in left if p.action == action and p.resource.startswith(under)}
        left.difference_update(found)
        return sorted(permission.resource for permission in found)

    received: defaultdict[str, set[str]] = defaultdict(set)
    for action, resource in left:
        if action in RECEIVE:
            received[resource].add(action)
    sources = sorted(queue for queue, actions in received.items() if actions == {*RECEIVE})
    left.difference_update(Permission(action, queue) for queue in sources for action in RECEIVE)
    on_table = sorted(p.action for p in left if p.resource == table_id and _is_dynamodb(p))
    left.difference_update(Permission(action, table_id) for action in on_table)
    indexes = take(f"{DYNAMODB}Query", f"{table_id}/")
    cells = [
        [f"`{function}`"],
        _code(sources),
        _code(action.removeprefix(DYNAMODB) for action in on_table),
        _code(index.removeprefix(f"{table_id}/") for index in indexes),
        _code(take(SEND)),
        _code(take(SECRET)),
        [
            *(f"`{action}` on `{_named(resource)}`" for action, resource in sorted(left)),
            *(["no change of the audit log"] if denials_of(template, function) else []),
        ],
    ]
    return [", ".join(cell) for cell in cells]


def _named(resource: str) -> str:
    """Return the logical id in an ARN; any other resource is returned as it is."""
    found = LOGICAL_ID_IN_ARN.search(resource)
    return found[1] if found else resource


def _is_dynamodb(permission: Permission) -> bool:
    return permission.action.startswith(DYNAMODB)


def _code(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]
