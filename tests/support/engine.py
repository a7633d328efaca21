"""pytest plugin with the DynamoDB engine: one process of DynamoDB Local for all tests of a run.

The engine needs two seconds to start. If all tests run in one process, the engine starts before the
first test, and the tests that need the engine run last. A worker starts the engine at the first
test that needs it.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import dynamo_client
from skein.settings import Settings
from tests.support.template import deployed_template
from tools.install.dynamodb_local import DynamoDbLocal, missing

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FIXTURE = "engine_client"
TABLE_NAME = Settings().table_name
LAUNCHED = pytest.StashKey[DynamoDbLocal]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Launch the engine early if a selected test needs it, and run such tests last."""
    in_worker = hasattr(session.config, "workerinput")
    if in_worker or session.config.option.collectonly or missing() is not None:
        return
    if any(map(_needs_engine, session.items)):
        _launched(session.config)
        session.items.sort(key=_needs_engine)


def _needs_engine(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and FIXTURE in item.fixturenames


@pytest.fixture(scope="session")
def engine_client(request: pytest.FixtureRequest) -> Iterator["DynamoDBClient"]:
    """A client of DynamoDB Local, with the table in place."""
    reason = missing()
    if reason is not None:
        if os.environ.get("SKEIN_REQUIRE_ENGINE") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    engine = _launched(request.config)
    engine.wait_until_ready()
    client = client_of(engine.endpoint_url)
    client.create_table(TableName=TABLE_NAME, **deployed_template().table[1])
    yield client
    client.close()


def client_of(endpoint_url: str | None) -> "DynamoDBClient":
    """Create a client of DynamoDB at an address; None for the address of AWS."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        return dynamo_client(Aws(Settings(aws_endpoint_url=endpoint_url)))


def _launched(config: pytest.Config) -> DynamoDbLocal:
    """Return the engine of this run, which stops at the run's end; launch the engine once."""
    if LAUNCHED not in config.stash:
        engine = config.stash[LAUNCHED] = DynamoDbLocal()
        config.add_cleanup(engine.stop)
        engine.launch()
    return config.stash[LAUNCHED]
