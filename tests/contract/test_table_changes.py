"""The changes that the table's stream has, in each engine.

moto is left out: its stream has changes of writes that leave an item as it was.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from local.events import Event, sequence_number
from local.polling.feed import Changes, FeedSource
from local.sqlite.changes import SqliteChanges
from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from skein.adapters.dynamodb.table import DynamoTable
from skein.errors import ConditionFailed
from skein.models.common.storage import Check, Delete, Exists, Is, Key, Missing, Put, Update, Write
from skein.ports import Table
from tests.contract.conftest import ENGINE
from tests.contract.stream import StreamChanges
from tests.fakes.system import FixedClock
from tests.support.engine import TABLE_NAME
from tests.support.functions import a_feed

Send = Callable[[str, str], None]


def source_of(pk: str, *, batch_size: int = 100) -> FeedSource:
    """The feed of one partition, with sort keys that start with M."""
    pattern = {"dynamodb": {"Keys": {"pk": {"S": [pk]}, "sk": {"S": [{"prefix": "M"}]}}}}
    return a_feed(json.dumps(pattern), batch_size=batch_size)


class Stream:
    """A table with a stream, and the feed of one partition.

    Attributes:
        dead: The messages about changes that were given up.
    """

    def __init__(self, table: Table, changes: Changes, pk: str, dead: Callable[[], list[str]]):
        self.table = table
        self.changes = changes
        self.pk = pk
        self.dead = dead

    def key(self, sk: str = "MSG#1") -> Key:
        return Key(self.pk, sk)

    def read(self, batch_size: int = 100) -> list[Event]:
        return self.changes.read(source_of(self.pk, batch_size=batch_size))

    def take(self) -> list[Event]:
        """Read all changes and finish them."""
        found = self.read()
        if found:
            self.changes.done(source_of(self.pk), found[-1])
        return found


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "table.db")
    made.create()
    yield made
    made.close()


@pytest.fixture(params=["sqlite", ENGINE])
def stream(request: pytest.FixtureRequest, clock: FixedClock, pk: str) -> Stream:
    if request.param == "sqlite":
        database: Database = request.getfixturevalue("database")
        changes = SqliteChanges(database, clock)
        changes.attach([source_of(pk)])

        def messages() -> list[str]:
            with database.reading() as connection:
                rows = connection.execute("SELECT body FROM messages WHERE queue = 'Dead'")
                return [body for (body,) in rows]

        return Stream(SqliteTable(database, clock), changes, pk, messages)
    client: Any = request.getfixturevalue("engine_client")
    sent: list[str] = []
    streams = boto3.client(
        "dynamodbstreams",
        endpoint_url=client.meta.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    arn = client.describe_table(TableName=TABLE_NAME)["Table"]["LatestStreamArn"]
    read = StreamChanges(
        streams,
        arn,
        send=lambda queue, body: sent.append(body) if queue == "Dead" else None,
    )
    return Stream(DynamoTable(client, TABLE_NAME, clock), read, pk, lambda: sent)


def test_new_changed_and_deleted_item_has_its_images(stream: Stream) -> None:
    stream.table.write(Put(stream.key(), {"text": "Hi", "seq": 1, "data": b"\x00\xff"}))
    stream.table.write(Update(stream.key(), set={"text": "Ho", "data": None}))
    stream.table.write(Delete(stream.key()))
    keys = {"pk": {"S": stream.pk}, "sk": {"S": "MSG#1"}}
    first = keys | {"text": {"S": "Hi"}, "seq": {"N": "1"}, "data": {"B": "AP8="}}
    second = keys | {"text": {"S": "Ho"}, "seq": {"N": "1"}}
    found = stream.take()
    assert [record["eventName"] for record in found] == ["INSERT", "MODIFY", "REMOVE"]
    changes = [record["dynamodb"] for record in found]
    assert [change["Keys"] for change in changes] == [keys] * 3
    assert [change.get("OldImage") for change in changes] == [None, first, second]
    assert [change.get("NewImage") for change in changes] == [first, second, None]


def test_record_has_the_fields_that_lambda_passes_on(stream: Stream) -> None:
    stream.table.write(Put(stream.key(), {"text": "Hi"}))
    [record] = stream.take()
    assert {"eventID", "eventName", "eventVersion", "awsRegion"} <= record.keys()
    assert record["eventSource"] == "aws:dynamodb"
    assert "/stream/" in record["eventSourceARN"]
    assert isinstance(record["dynamodb"]["ApproximateCreationDateTime"], int)
    assert record["dynamodb"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert record["dynamodb"]["SizeBytes"] > 0
    assert "userIdentity" not in record
    json.dumps(record)


def test_write_that_changes_nothing_gives_no_change(stream: Stream) -> None:
    stream.table.write(Put(stream.key(), {"text": "Hi", "seq": 1}))
    stream.take()
    stream.table.write(Put(stream.key(), {"text": "Hi", "seq": 1}))
    stream.table.write(Update(stream.key(), set={"text": "Hi"}))
    stream.table.write(Delete(stream.key("MSG#2")))
    stream.table.transact([Check(stream.key(), Exists())])
    assert stream.read() == []


def test_refused_write_gives_no_change(stream: Stream) -> None:
    stream.table.write(Put(stream.key(), {"text": "Hi"}))
    stream.take()
    writes: list[Write] = [
        Put(stream.key("MSG#2"), {"text": "Ho"}, Missing()),
        Update(stream.key(), set={"text": "Hey"}, condition=Is("text", "other")),
    ]
    with pytest.raises(ConditionFailed):
        stream.table.transact(writes)
    assert stream.read() == []


def test_each_item_of_a_transaction_gives_a_change(stream: Stream) -> None:
    stream.table.transact([Put(stream.key(f"MSG#{number}"), {"seq": number}) for number in "123"])
    found = [record["dynamodb"]["Keys"]["sk"]["S"] for record in stream.take()]
    assert sorted(found) == ["MSG#1", "MSG#2", "MSG#3"]


def test_changes_of_one_item_come_in_order_with_rising_numbers(stream: Stream) -> None:
    for number in range(5):
        stream.table.write(Update(stream.key(), set={"n": number}))
    found = stream.take()
    assert [record["dynamodb"]["NewImage"]["n"]["N"] for record in found] == list("01234")
    numbers = [int(sequence_number(record)) for record in found]
    assert numbers == sorted(set(numbers))


def test_changes_that_the_filters_refuse_are_not_read(stream: Stream) -> None:
    stream.table.write(Put(stream.key("RUN#1"), {"n": 1}))
    stream.table.write(Put(stream.key("MSG#1"), {"n": 1}))
    stream.table.write(Put(stream.key("META"), {"n": 1}))
    assert [r["dynamodb"]["Keys"]["sk"]["S"] for r in stream.read()] == ["MSG#1", "META"]


def test_changes_stay_unread_until_they_are_finished(stream: Stream) -> None:
    for number in range(5):
        stream.table.write(Put(stream.key(f"MSG#{number}"), {"n": number}))
    first = stream.read(batch_size=2)
    assert len(first) == 2
    assert stream.read(batch_size=2) == first
    stream.changes.done(source_of(stream.pk), first[0])
    assert stream.read(batch_size=1) == first[1:]
    assert len(stream.take()) == 4
    assert stream.read() == []


def test_changes_that_are_given_up_leave_a_message_that_says_which(stream: Stream) -> None:
    for number in range(3):
        stream.table.write(Put(stream.key(f"MSG#{number}"), {"text": "secret"}))
    found = stream.read(batch_size=2)
    condition = "RetryAttemptsExhausted"
    stream.changes.give_up(source_of(stream.pk), found, condition=condition, calls=3)
    assert len(stream.read()) == 1
    [body] = stream.dead()
    message = json.loads(body)
    assert message["requestContext"]["condition"] == condition
    assert message["requestContext"]["approximateInvokeCount"] == 3
    batch = message["DDBStreamBatchInfo"]
    assert batch["batchSize"] == 2
    assert batch["startSequenceNumber"] == sequence_number(found[0])
    assert batch["endSequenceNumber"] == sequence_number(found[1])
    assert "secret" not in body
