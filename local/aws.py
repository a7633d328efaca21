"""Local DynamoDB, SQS and Secrets Manager, with the template's table, queues and secrets."""

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
ENDPOINT_FILE = "endpoint"  # for tools that connect to a running stack
SERVICES = ("dynamodb", "sqs", "secretsmanager")
TWILIO_SECRET = "skein/twilio"  # noqa: S105 - the secret's name
OPENAI_SECRET = "skein/openai"  # noqa: S105

logger = logging.getLogger(__name__)

# Credentials for all AWS clients of this process, so that none can reach the real AWS by mistake.
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
    """AWS emulator in a child process, whose state is kept between clean stops.

    Args:
        folder: The folder of the emulator's state and log.
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
            ChildFailedError: The emulator did not start.
            DamagedDataError: The emulator's state is damaged. Without this check, the emulator
                would start empty and overwrite the old state.
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
                # Disabled because these services would listen on every network interface.
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
        """Stop the emulator, which saves its state.

        An error is logged for services whose state was not saved.
        """
        if self._child is None:
            return
        before = {service: _changed(self._state(service)) for service in SERVICES}
        self._child.stop()
        self._child = None
        unsaved = [name for name in SERVICES if _changed(self._state(name)) == before[name]]
        if unsaved and self._ready:
            logger.error(
                "failed to save %s in %s (is the disk full?): all changes since the"
                " last clean stop are lost",
                " and ".join(unsaved),
                self._folder,
            )

    def _state(self, service: str) -> Path:
        return self._states / f"{service}.json"

    def provision(self, template: Template) -> dict[str, str]:
        """Create the missing table, queues and secrets.

        Returns:
            The values of the template's references to the table and the queues.
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
                # Look the queue up first: the emulator's port is part of a queue's identity and
                # changes at each start, so `create_queue` would create a second queue.
                sqs.get_queue_url(QueueName=queue.logical_id)
            except sqs.exceptions.QueueDoesNotExist:
                # No delay or redrive policy: the poller applies both by the local clock.
                sqs.create_queue(QueueName=queue.logical_id)
            names[queue.logical_id] = self.queue_url(queue.logical_id)
            names[f"{queue.logical_id}.Arn"] = queue_arn(queue.logical_id)
            names[f"{queue.logical_id}.QueueName"] = queue.logical_id
        self._make_twilio_account()
        return names

    def queue_url(self, logical_id: str) -> str:
        """Return the URL of a queue."""
        return f"{self.endpoint_url}/{ACCOUNT}/{logical_id}"

    def sqs(self) -> "SQSClient":
        """Create a client for the queues."""
        client: SQSClient = self._client("sqs")
        return client

    def dynamodb(self) -> "DynamoDBClient":
        """Create a client for the table."""
        client: DynamoDBClient = self._client("dynamodb")
        return client

    def _make_twilio_account(self) -> None:
        account = {"account_sid": f"AC{secrets.token_hex(16)}", "auth_token": secrets.token_hex(16)}
        with _unless("ResourceExistsException"):
            self._client("secretsmanager").create_secret(
                Name=TWILIO_SECRET, SecretString=json.dumps(account)
            )

    def twilio_account(self) -> Mapping[str, str]:
        """Return the sandbox's `account_sid` and `auth_token`, created at the first start."""
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
    """Treat one AWS error code as success."""
    try:
        yield
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != code:
            raise


def _an_object(data: bytes) -> None:
    if not isinstance(json.loads(data), dict):
        raise TypeError("the data must be a JSON object")


def _changed(path: Path) -> int:
    """Return a file's modification time in nanoseconds; 0 if the file does not exist."""
    return path.stat().st_mtime_ns if path.exists() else 0


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
