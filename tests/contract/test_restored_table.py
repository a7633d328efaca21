"""A restore of the table from a backup, rehearsed on moto, which keeps backups as DynamoDB does."""

from typing import TYPE_CHECKING

import pytest

from skein.adapters.dynamodb.attributes import marshal_item, unmarshal_item
from skein.adapters.dynamodb.table import DynamoTable
from skein.models.outbox.jobs import ErasureJob
from skein.privacy.models.erasure import Erasure
from tests.contract.conftest import NOW
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.support.builders import LONG_INVOCATION, TENANT, World
from tests.support.erasure import (
    BEN,
    MARK,
    OPEN,
    TRACES,
    ZOE,
    group,
    restoration,
    settle,
    text,
    world_of,
)
from tests.support.template import deployed_template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BEFORE, RESTORED, REGISTER = "rehearsed", "rehearsed-restored", "rehearsed-register"


def put(client: "DynamoDBClient", table_name: str, table: MemoryTable) -> None:
    """Put the items of a table in memory into a table of moto."""
    for item in table.all_items().values():
        client.put_item(TableName=table_name, Item=marshal_item(item))


def stack_on(client: "DynamoDBClient", table_name: str) -> World:
    """The stack on a table, with the register."""
    table, register = (
        DynamoTable(client, name, FixedClock(NOW)) for name in (table_name, REGISTER)
    )
    return World(overrides={"table": table, "erasure_register": register})


def traces(client: "DynamoDBClient", table_name: str) -> list[str]:
    """The traces of the person in a table, without the report of the erasure."""
    items = map(unmarshal_item, client.scan(TableName=table_name)["Items"])
    told = [str(item) for item in items if not str(item["sk"]).startswith("ERASURE#")]
    return [trace for trace in TRACES if any(trace in each for each in told)]


def erase(world: World) -> Erasure:
    """Erase the person as the worker does."""
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    while erasure.stage != "done":
        job = ErasureJob(tenant=TENANT, erasure_id=erasure.id)
        world.app.eraser.continue_erasure(job, deadline=world.clock.now() + LONG_INVOCATION)
        world.clock.advance(1_000)
        erasure = world.app.erasures.get(TENANT, erasure.id)
    return erasure


@pytest.mark.check
def test_restored_backup_is_erased_again_by_the_register(moto_client: "DynamoDBClient") -> None:
    template = deployed_template()
    moto_client.create_table(TableName=BEFORE, **template.table[1])
    moto_client.create_table(TableName=REGISTER, **template.register)
    planted = world_of()
    text(planted, f"I love {MARK}")
    group(planted, OPEN, ZOE, BEN)
    planted.post(f"I love {MARK}", ZOE, chat_id=OPEN)
    settle(planted)
    put(moto_client, BEFORE, planted.table)
    backup = moto_client.create_backup(TableName=BEFORE, BackupName="before")
    erasure = erase(planted)
    put(moto_client, REGISTER, planted.register)

    moto_client.restore_table_from_backup(
        TargetTableName=RESTORED, BackupArn=backup["BackupDetails"]["BackupArn"]
    )
    assert traces(moto_client, RESTORED) == list(TRACES)
    world, said = stack_on(moto_client, RESTORED), list[str]()
    assert restoration(world, said).run() == {"done": 1}
    assert traces(moto_client, RESTORED) == []
    assert said[-1] == f"{erasure.id} done: nothing is left"
