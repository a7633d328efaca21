"""The engines of the benchmark: DynamoDB Local with one table, and an S3 on this machine."""

import os
import shutil
import socket
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from local.aws.dynamodb_local import DynamoDbLocal
from local.children import Child
from local.config import LOOPBACK
from local.environment import CREDENTIALS
from local.template import Template
from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import dynamo_client
from skein.settings import Settings


@contextmanager
def engines() -> Iterator[tuple[str, str]]:
    """Run DynamoDB Local and S3; yield their URLs."""
    os.environ |= CREDENTIALS
    with ExitStack() as stack:
        dynamodb = stack.enter_context(DynamoDbLocal())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield dynamodb.endpoint_url, stack.enter_context(_s3(folder))


@contextmanager
def _s3(folder: Path) -> Iterator[str]:
    with socket.create_server((LOOPBACK, 0)) as probe:
        port: int = probe.getsockname()[1]
    url = f"http://{LOOPBACK}:{port}"
    child = Child(
        "the S3 emulator",
        "ministack",
        environment={
            "BIND_HOST": LOOPBACK,
            "GATEWAY_PORT": str(port),
            "STATE_DIR": str(folder / "state"),
            "TMPDIR": str(folder),
            "SERVICES": "s3",
            # These services would listen on every network interface.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
        },
        log=folder / "s3.log",
    )

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"{url}/_ministack/health", timeout=1):  # noqa: S310
                return True
        except OSError:
            return False

    try:
        child.wait_until(answers)
        yield url
    finally:
        child.stop()
        shutil.rmtree(folder / "state", ignore_errors=True)


def client_of(url: str | None) -> Any:
    """Return a client with the options of Skein's own; None as the URL means AWS."""
    return dynamo_client(Aws(Settings(aws_endpoint_url=url)))


def make_table(client: Any, name: str) -> None:
    """Create a table as it is deployed."""
    client.create_table(TableName=name, **Template.load().table[1])
