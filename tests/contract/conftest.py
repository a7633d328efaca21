"""The adapters under contract: every fake beside the engine that it stands for."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from moto import mock_aws

from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from skein.adapters.dynamodb.table import DynamoTable
from skein.adapters.dynamodb.vectors import DynamoVectorIndex
from skein.ports import Table, VectorIndex
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.support.engine import TABLE_NAME, client_of
from tests.support.template import deployed_template
from tools import emulator

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NOW = datetime(2026, 2, 18, 15, 7, 2, tzinfo=UTC)
VECTOR_INDEX = "recall"
ENGINE = pytest.param("engine", marks=pytest.mark.engine)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def pk() -> str:
    """A partition that no other test writes to, since engines are shared between tests."""
    return f"test#CHAT#{uuid4().hex}"


@pytest.fixture(scope="module")
def moto_client() -> Iterator["DynamoDBClient"]:
    """A client of moto, in this process, with the table in place."""
    with mock_aws():
        client = client_of(None)
        client.create_table(TableName=TABLE_NAME, **deployed_template().table[1])
        yield client
        client.close()


@pytest.fixture(params=["memory", "sqlite", "moto", ENGINE])
def table(request: pytest.FixtureRequest, clock: FixedClock) -> Table:
    """Every table there is."""
    return _table(request, clock)


@pytest.fixture(params=["memory", "sqlite", ENGINE])
def exact_table(request: pytest.FixtureRequest, clock: FixedClock) -> Table:
    """The tables that follow DynamoDB where moto does not."""
    return _table(request, clock)


@pytest.fixture(scope="session")
def emulator_client() -> Iterator["DynamoDBClient"]:
    """A client of the emulator, which knows vector indexes, with the table in place."""
    with emulator.running("dynamodb") as url:
        client = client_of(url)
        template = deployed_template()
        client.create_table(TableName=TABLE_NAME, **{**template.table[1], **template.vectors})
        yield client
        client.close()


@pytest.fixture(params=["memory", "sqlite", "emulator"])
def vector_engine(
    request: pytest.FixtureRequest, clock: FixedClock
) -> Iterator[tuple[Table, VectorIndex]]:
    """Every table that has a vector index, with the index."""
    if request.param == "memory":
        memory = MemoryTable(clock)
        yield memory, memory.vectors
        return
    if request.param == "emulator":
        client: DynamoDBClient = request.getfixturevalue("emulator_client")
        yield (
            DynamoTable(client, TABLE_NAME, clock),
            DynamoVectorIndex(client, TABLE_NAME, VECTOR_INDEX, clock),
        )
        return
    database = Database(request.getfixturevalue("tmp_path") / "table.db")
    database.create()
    yield SqliteTable(database, clock), SqliteVectors(database, clock)
    database.close()


def _table(request: pytest.FixtureRequest, clock: FixedClock) -> Table:
    if request.param == "memory":
        return MemoryTable(clock)
    if request.param == "sqlite":
        database = Database(request.getfixturevalue("tmp_path") / "table.db")
        database.create()
        request.addfinalizer(database.close)
        return SqliteTable(database, clock)
    client: DynamoDBClient = request.getfixturevalue(f"{request.param}_client")
    return DynamoTable(client, TABLE_NAME, clock)
