"""Migration of closed memberships from older versions to keys that no post reads.

`PYTHONPATH=shared python -m tools.stack.left_members <table> [<after>]`, with the credentials of an
operator who may scan and write the table. The system can stay online: each membership moves in one
conditional transaction. The migration is idempotent; a second run moves only the remaining
memberships. To resume an interrupted run, pass the `after` that the run printed last.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import DynamoTable, dynamo_client
from skein.adapters.system import SystemClock
from skein.models.chats.chat import Membership
from skein.models.common.storage import Key
from skein.ports import Table
from skein.services.chat_state.closed_memberships import move_closed
from skein.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PAGE_ITEMS = 1_000  # items that a page of the scan reads
KEYS_PER_READ = 100


def move_all(
    client: "DynamoDBClient",
    table_name: str,
    table: Table,
    *,
    after: str | None = None,
    report: Callable[[str], None] = print,
) -> int:
    """Move all closed memberships that are stored among the open ones.

    Args:
        client: Scans the table.
        table_name: The name of the table.
        table: Moves the memberships.
        after: The position that an earlier run reported last.
        report: Called with the progress and the position after each page.

    Returns:
        The number of moved memberships.
    """
    moved = 0
    for keys, position in _pages(client, table_name, after):
        for start in range(0, len(keys), KEYS_PER_READ):
            found = table.get_many(keys[start : start + KEYS_PER_READ]).values()
            moved += move_closed(table, [Membership.from_item(item) for item in found])
        report(f"{moved} moved" + (f"; after: {position}" if position else "; done"))
    return moved


def _pages(
    client: "DynamoDBClient", table_name: str, after: str | None
) -> Iterator[tuple[list[Key], str | None]]:
    """Scan for closed memberships among the open ones; yield each page's keys and end position."""
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
    """Run the migration with the arguments of the command line."""
    table_name, *after = sys.argv[1:]
    client = dynamo_client(Aws(Settings()))
    table = DynamoTable(client, table_name, SystemClock())
    move_all(client, table_name, table, after=after[0] if after else None)


if __name__ == "__main__":
    main()
