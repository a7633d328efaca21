"""The adapters under contract: every fake beside the engine that it stands for."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from moto import mock_aws

from bench.scale.metered import MeteredTable
from local.aws.dynamodb_local import DynamoDbLocal, missing
from local.aws.emulator import Emulator
from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from local.template import Template
from skein.adapters.aws import Aws
from skein.adapters.dynamodb import DynamoTable, dynamo_client
from skein.adapters.dynamodb_vectors import DynamoVectorIndex
from skein.ports import Table, VectorIndex
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NOW = datetime(2026, 2, 18, 15, 7, 2, tzinfo=UTC)
TABLE_NAME = Settings().table_name
VECTOR_INDEX = "recall"
METERED = pytest.param("metered", marks=pytest.mark.slow)
ENGINE = pytest.param("engine", marks=pytest.mark.engine)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def pk() -> str:
    """A partition that no other test writes to, since engines are shared between tests."""
    return f"test#CHAT#{uuid4().hex}"


@pytest.fixture(scope="session")
def engine_client() -> Iterator["DynamoDBClient"]:
    """A client of DynamoDB Local, with the table in place."""
    reason = missing()
    if reason is not None:
        if os.environ.get("SKEIN_REQUIRE_ENGINE") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with DynamoDbLocal() as engine:
        client = _client(engine.endpoint_url)
        client.create_table(TableName=TABLE_NAME, **Template.load().table[1])
        yield client
        client.close()


@pytest.fixture(scope="module")
def moto_client() -> Iterator["DynamoDBClient"]:
    """A client of moto, in this process, with the table in place."""
    with mock_aws():
        client = _client(None)
        client.create_table(TableName=TABLE_NAME, **Template.load().table[1])
        yield client
        client.close()


@pytest.fixture(params=["memory", "sqlite", METERED, "moto", ENGINE])
def table(request: pytest.FixtureRequest, clock: FixedClock) -> Table:
    """Every table there is."""
    return _table(request, clock)


@pytest.fixture(params=["memory", "sqlite", METERED, ENGINE])
def exact_table(request: pytest.FixtureRequest, clock: FixedClock) -> Table:
    """The tables that follow DynamoDB where moto does not."""
    return _table(request, clock)


@pytest.fixture(scope="session")
def emulator_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator["DynamoDBClient"]:
    """A client of the emulator, which knows vector indexes, with the table in place."""
    folder = tmp_path_factory.mktemp("emulator")
    emulator = Emulator(folder, services=["dynamodb"])
    emulator.start()
    client = _client(emulator.endpoint_url)
    template = Template.load()
    client.create_table(TableName=TABLE_NAME, **{**template.table[1], **template.vectors})
    yield client
    client.close()
    emulator.stop()


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
    if request.param == "metered":
        metered: Table = MeteredTable(clock)
        return metered
    client: DynamoDBClient = request.getfixturevalue(f"{request.param}_client")
    return DynamoTable(client, TABLE_NAME, clock)


def _client(endpoint_url: str | None) -> "DynamoDBClient":
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        return dynamo_client(Aws(Settings(aws_endpoint_url=endpoint_url)))
