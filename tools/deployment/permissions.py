"""Table of the functions' permissions in docs/security.md, made from the template.

`python -m tools.deployment.permissions` writes the table between its two markers.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from local.permissions import (
    RECEIVE,
    SEND,
    Permission,
    denials_of,
    managed_policies_of,
    permissions_of,
)
from local.template import ROOT, Template

PAGE = ROOT / "docs" / "security.md"
BEGIN = "<!-- permissions: written by `make permissions` -->\n"
END = "<!-- end of permissions -->\n"
HEAD = """| function | receives from | table | indexes | sends to | secrets | other |
|---|---|---|---|---|---|---|
"""
LOGICAL_ID_IN_ARN = re.compile(r":(\w+)}/")
DYNAMODB, SECRET = "dynamodb:", "secretsmanager:GetSecretValue"
LOGS = ("logs:CreateLogStream", "logs:PutLogEvents")  # the same for every function


class MissingMarkersError(Exception):
    """The page does not have both markers of the table."""


def table(template: Template) -> str:
    """Return the Markdown table of all functions' permissions."""
    rows = (_row(template, function.logical_id) for function in template.functions)
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def written(page: str, table: str) -> str:
    """Return the page with `table` between the markers.

    Raises:
        MissingMarkersError: The page does not have both markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise MissingMarkersError(f"the page needs the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}{table}{END}{after}"


def _row(template: Template, function: str) -> list[str]:
    """Return the cells of a function; what no other cell shows is in the last one."""
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
            *(f"AWS's policy `{name}`" for name in managed_policies_of(template, function)),
            *(["no change of the audit log"] if denials_of(template, function) else []),
        ],
    ]
    return [", ".join(cell) for cell in cells]


def _named(resource: str) -> str:
    """Return the logical id that an ARN contains; other resources as they are."""
    found = LOGICAL_ID_IN_ARN.search(resource)
    return found[1] if found else resource


def _is_dynamodb(permission: Permission) -> bool:
    return permission.action.startswith(DYNAMODB)


def _code(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def main(page: Path = PAGE) -> int:
    """Write the table to the page; return the exit status."""
    text = page.read_text(encoding="utf-8")
    page.write_text(written(text, table(Template.load())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
