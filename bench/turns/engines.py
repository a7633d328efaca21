"""The databases of the benchmark: DynamoDB Local with one table, and an S3 on this machine."""

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
    """Return a boto3 client with the options that Skein uses. If the URL is None, it calls AWS."""
    return dynamo_client(Aws(Settings(aws_endpoint_url=url)))


def make_table(client: Any, name: str) -> None:
    """Create a table as a deployment has it, but without the stream.

    The benchmark doesn't read the stream. DynamoDB Local searches for the newest part of the stream
    at each write, which takes longer the more was written; filling a long chat would spend most of
    its time on this.
    """
    definition = dict(Template.load().table[1])
    del definition["StreamSpecification"]
    client.create_table(TableName=name, **definition)
