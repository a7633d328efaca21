"""The engines of the benchmark: DynamoDB Local with one table, and an S3 on this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from local.environment import CREDENTIALS
from local.template import Template
from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import dynamo_client
from skein.settings import Settings
from tools import emulator
from tools.install.dynamodb_local import DynamoDbLocal


@contextmanager
def engines() -> Iterator[tuple[str, str]]:
    """Run DynamoDB Local and S3; yield their URLs."""
    os.environ |= CREDENTIALS
    with DynamoDbLocal() as dynamodb, emulator.running("s3") as s3:
        yield dynamodb.endpoint_url, s3


def client_of(url: str | None) -> Any:
    """Return a client with the options of Skein's own; None as the URL means AWS."""
    return dynamo_client(Aws(Settings(aws_endpoint_url=url)))


def make_table(client: Any, name: str) -> None:
    """Create a table as it is deployed, but without the stream.

    Nobody reads the stream here. The engine looks for the newest part of it at each write, which
    takes longer the more has been written: most of the time of filling a long chat.
    """
    definition = dict(Template.load().table[1])
    del definition["StreamSpecification"]
    client.create_table(TableName=name, **definition)
