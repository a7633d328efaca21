"""Moves the closed memberships of older versions to where no post reads them.

`PYTHONPATH=shared python -m tools.left_members <table> [<after>]`, with the credentials of an
operator who may scan and write the table. The system may run meanwhile: each membership moves by
one conditional transaction. A second run moves what is left. A run that was interrupted continues
with the `after` that it printed last.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from skein.adapters.aws import Aws
from skein.adapters.dynamodb import DynamoTable, dynamo_client
from skein.adapters.system import SystemClock
from skein.models.chat import Membership
from skein.models.storage import Key
from skein.ports import Table
from skein.services.chat_state.closed_memberships import move_closed
from skein.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PAGE_ITEMS = 1_000  # that a page of the scan looks at
AT_ONCE = 100


def move_all(
    client: "DynamoDBClient",
    table_name: str,
    table: Table,
    *,
    after: str | None = None,
    report: Callable[[str], None] = print,
) -> int:
    """Move every closed membership that lies among the open ones.

    Args:
        client: Scans the table.
        table_name: The name of the table.
        table: Moves what the scan finds.
        after: Where an earlier run ended, as it was reported.
        report: Told after each page where the scan is.

    Returns:
        How many were moved.
    """
    moved = 0
    for keys, position in _pages(client, table_name, after):
        for start in range(0, len(keys), AT_ONCE):
            found = table.get_many(keys[start : start + AT_ONCE]).values()
            moved += move_closed(table, [Membership.from_item(item) for item in found])
        report(f"{moved} moved" + (f"; after: {position}" if position else "; done"))
    return moved


def _pages(
    client: "DynamoDBClient", table_name: str, after: str | None
) -> Iterator[tuple[list[Key], str | None]]:
    """The keys of closed memberships among the open ones, and where each page ends."""
    start: dict[str, Any] | None = json.loads(after) if after else None
    while True:
        more: dict[str, Any] = {"ExclusiveStartKey": start} if start else {}
        page = client.scan(
            TableName=table_name,
            ConsistentRead=True,
            Limit=PAGE_ITEMS,
            FilterExpression="begins_with(sk, :open) AND attribute_exists(left_seq)",
            ExpressionAttributeValues={":open": {"S": Membership.PREFIX}},
            ProjectionExpression="pk, sk",
            **more,
        )
        keys = [Key(str(item["pk"]["S"]), str(item["sk"]["S"])) for item in page["Items"]]
        start = page.get("LastEvaluatedKey")
        yield keys, json.dumps(start) if start else None
        if start is None:
            return


def main() -> None:
    """Run the migration that the command line asks for."""
    table_name, *after = sys.argv[1:]
    client = dynamo_client(Aws(Settings()))
    table = DynamoTable(client, table_name, SystemClock())
    move_all(client, table_name, table, after=after[0] if after else None)


if __name__ == "__main__":
    main()
