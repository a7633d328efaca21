"""DynamoDB, SQS and Secrets Manager on this machine, with what the template declares in them."""

import json
import logging
import os
import secrets
import socket
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import ClientError

from local.children import Child
from local.files import read_whole
from local.intrinsics import ACCOUNT, REGION, queue_arn
from local.template import Template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

HOST = "127.0.0.1"
CONNECTIONS = 25
TABLE_NAME = "skein"
ENDPOINT_FILE = "endpoint"  # for tools that reach a running stack
SERVICES = ("dynamodb", "sqs", "secretsmanager")
TWILIO_SECRET = "skein/twilio"  # noqa: S105 - the name of it
OPENAI_SECRET = "skein/openai"  # noqa: S105

logger = logging.getLogger(__name__)

# What every AWS client of this process finds, so that none can reach the real AWS by mistake.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_SESSION_TOKEN": "local",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


class LocalAws:
    """The emulator in a child process; its state is kept between clean stops.

    Args:
        folder: Where its state and log are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._states = folder / "state"
        self._child: Child | None = None
        self._ready = False
        self.endpoint_url = ""
        self._session = Session(
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            region_name=REGION,
        )

    def start(self) -> None:
        """Start the emulator and return when it answers.

        Raises:
            ChildFailedError: It did not start.
            DamagedDataError: Its state cannot be read; left to itself, it would begin afresh, and
                write that over what there is.
        """
        for service in SERVICES:
            if (path := self._state(service)).exists():
                read_whole(path, _an_object)
        port = _free_port()
        self.endpoint_url = f"http://{HOST}:{port}"
        temporary = self._folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        self._child = Child(
            "the AWS emulator",
            "ministack",
            environment={
                **CREDENTIALS,
                "BIND_HOST": HOST,
                "GATEWAY_PORT": str(port),
                "PERSIST_STATE": "1",
                "STATE_DIR": str(self._states),
                "TMPDIR": str(temporary),
                "SERVICES": ",".join(SERVICES),
                # These would listen on every interface.
                "IOT_MTLS_ENABLED": "0",
                "SFTP_ENABLED": "0",
                "LOG_LEVEL": "WARNING",
            },
            log=self._folder / "aws.log",
        )
        self._child.wait_until(self._answers)
        (self._folder / ENDPOINT_FILE).write_text(self.endpoint_url, encoding="utf-8")
        self._ready = True

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(  # noqa: S310 - loopback
                f"{self.endpoint_url}/_ministack/health", timeout=1
            ):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        """Stop it; it saves its state on the way, and if it did not the user is told."""
        if self._child is None:
            return
        before = {service: _changed(self._state(service)) for service in SERVICES}
        self._child.stop()
        self._child = None
        unsaved = [name for name in SERVICES if _changed(self._state(name)) == before[name]]
        if unsaved and self._ready:
            logger.error(
                "%s could not be saved in %s (is the disk full?): what was written there since the"
                " last clean stop is lost",
                " and ".join(unsaved),
                self._folder,
            )

    def _state(self, service: str) -> Path:
        return self._states / f"{service}.json"

    def provision(self, template: Template) -> dict[str, str]:
        """Make the table, the queues and the secrets that are not there yet.

        Returns:
            What the template's references to them stand for.
        """
        logical_id, schema = template.table
        with _unless("ResourceInUseException"):
            self._client("dynamodb").create_table(TableName=TABLE_NAME, **schema)
        names = {
            logical_id: TABLE_NAME,
            f"{logical_id}.Arn": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{TABLE_NAME}",
        }
        sqs = self.sqs()
        for queue in template.queues:
            try:
                # The emulator would make a second queue of the same name, since it takes its own
                # port, which changes from start to start, for a part of the first one's identity.
                sqs.get_queue_url(QueueName=queue.logical_id)
            except sqs.exceptions.QueueDoesNotExist:
                # Delays and redrives are the poller's, which keeps to the local clock.
                sqs.create_queue(QueueName=queue.logical_id)
            names[queue.logical_id] = self.queue_url(queue.logical_id)
            names[f"{queue.logical_id}.Arn"] = queue_arn(queue.logical_id)
            names[f"{queue.logical_id}.QueueName"] = queue.logical_id
        self._make_twilio_account()
        return names

    def queue_url(self, logical_id: str) -> str:
        """The URL of a queue."""
        return f"{self.endpoint_url}/{ACCOUNT}/{logical_id}"

    def sqs(self) -> "SQSClient":
        """A new client for the queues."""
        client: SQSClient = self._client("sqs")
        return client

    def dynamodb(self) -> "DynamoDBClient":
        """A new client for the table."""
        client: DynamoDBClient = self._client("dynamodb")
        return client

    def _make_twilio_account(self) -> None:
        account = {"account_sid": f"AC{secrets.token_hex(16)}", "auth_token": secrets.token_hex(16)}
        with _unless("ResourceExistsException"):
            self._client("secretsmanager").create_secret(
                Name=TWILIO_SECRET, SecretString=json.dumps(account)
            )

    def twilio_account(self) -> Mapping[str, str]:
        """The sandbox's `account_sid` and `auth_token`, made at the first start."""
        answer = self._client("secretsmanager").get_secret_value(SecretId=TWILIO_SECRET)
        account: dict[str, str] = json.loads(answer["SecretString"])
        return account

    def _client(self, service: Any) -> Any:
        return self._session.client(
            service,
            endpoint_url=self.endpoint_url,
            config=Config(retries={"mode": "standard"}, max_pool_connections=CONNECTIONS),
        )


@contextmanager
def _unless(code: str) -> Iterator[None]:
    """Take one error code of AWS as success."""
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != code:
            raise


def _an_object(data: bytes) -> None:
    if not isinstance(json.loads(data), dict):
        raise TypeError("an object is needed")


def _changed(path: Path) -> int:
    """When a file was last written; 0 for one that is not there."""
    return path.stat().st_mtime_ns if path.exists() else 0


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
