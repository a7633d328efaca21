"""Secrets: the ones in memory, and Secrets Manager's."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from moto import mock_aws

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.secrets import SecretsManager, secrets_client
from skein.errors import MissingSecret, Unavailable
from skein.ports import Secrets
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets
from tests.fakes.system import FixedClock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

FIELDS = {"account_sid": "AC1", "auth_token": "t"}


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(datetime(2026, 2, 18, 12, 0, tzinfo=UTC))


@pytest.fixture
def client() -> Iterator["SecretsManagerClient"]:
    with mock_aws():
        made = secrets_client(Aws(Settings()))
        made.create_secret(Name="twilio", SecretString=json.dumps(FIELDS))
        yield made
        made.close()


@pytest.fixture(params=["memory", "aws"])
def secrets(request: pytest.FixtureRequest, clock: FixedClock) -> Secrets:
    if request.param == "memory":
        return MemorySecrets({"twilio": FIELDS})
    return SecretsManager(request.getfixturevalue("client"), clock)


def test_secret_is_returned_with_its_fields(secrets: Secrets) -> None:
    assert secrets.get("twilio") == FIELDS


@pytest.mark.parametrize("name", ["other", ""])
def test_a_secret_that_is_not_there_is_missing(secrets: Secrets, name: str) -> None:
    with pytest.raises(MissingSecret):
        secrets.get(name)


def test_a_secret_is_read_once_in_five_minutes(
    client: "SecretsManagerClient", clock: FixedClock
) -> None:
    secrets = SecretsManager(client, clock)
    secrets.get("twilio")
    client.put_secret_value(SecretId="twilio", SecretString='{"auth_token": "new"}')
    clock.advance(299)
    assert secrets.get("twilio") == FIELDS
    clock.advance(1)
    assert secrets.get("twilio") == {"auth_token": "new"}


def test_a_secret_that_appears_is_seen_at_once(
    client: "SecretsManagerClient", clock: FixedClock
) -> None:
    secrets = SecretsManager(client, clock)
    with pytest.raises(MissingSecret):
        secrets.get("late")
    client.create_secret(Name="late", SecretString="{}")
    assert secrets.get("late") == {}


@pytest.mark.parametrize("text", ["hunter2", "[]", '"x"', '{"a": 1}', "null"])
def test_malformed_secret_is_refused_without_its_content(
    client: "SecretsManagerClient", clock: FixedClock, text: str
) -> None:
    client.create_secret(Name="odd", SecretString=text)
    with pytest.raises(MissingSecret) as error:
        SecretsManager(client, clock).get("odd")
    assert text not in str(error.value)


def test_a_secret_of_bytes_is_no_secret(client: "SecretsManagerClient", clock: FixedClock) -> None:
    client.create_secret(Name="bytes", SecretBinary=b"{}")
    with pytest.raises(MissingSecret):
        SecretsManager(client, clock).get("bytes")


@pytest.mark.parametrize(
    "kind", [EndpointConnectionError, ConnectTimeoutError, ReadTimeoutError, ConnectionClosedError]
)
def test_a_store_that_is_not_reached_is_unavailable(
    client: "SecretsManagerClient",
    clock: FixedClock,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[BotoCoreError],
) -> None:
    def unreachable(**_: str) -> None:
        raise kind(endpoint_url="https://secretsmanager.example.com")

    monkeypatch.setattr(client, "get_secret_value", unreachable)
    with pytest.raises(Unavailable):
        SecretsManager(client, clock).get("twilio")
