"""The engine of `make run ENGINE=dynamodb`: DynamoDB Local, and an emulator of the other services.

It runs the deployed adapters. The emulator loses what was written since the last clean stop if it
is killed; the SQLite engine is the durable one.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import ClientError

from local.aws.changes import StreamChanges
from local.aws.delays import keep_delays
from local.aws.dynamodb_local import DynamoDbLocal
from local.aws.emulator import Emulator
from local.aws.inbox import SqsInbox
from local.engine import Adapters
from local.environment import CREDENTIALS, TWILIO_SECRET, new_twilio_account
from local.intrinsics import ACCOUNT, REGION, REGISTER_NAME, TABLE_NAME, queue_arn, table_arn
from local.polling.feed import FeedSource
from local.polling.inbox import PolledQueue
from local.template import REGISTER, Template
from skein.adapters.aws.clients import Aws
from skein.adapters.aws.secrets import SecretsManager, secrets_client
from skein.adapters.aws.sqs import SqsQueues, sqs_client
from skein.adapters.dynamodb.attributes import unmarshal_item
from skein.adapters.dynamodb.table import DynamoTable, dynamo_client
from skein.adapters.dynamodb.vectors import DynamoVectorIndex
from skein.models.common.storage import Item
from skein.ports import Clock
from skein.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

CONNECTIONS = 25
PAGE_ITEMS = 500
CHANGES_FILE = "changes.json"  # how far the feeds have read
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
ENDPOINT_FILE = "endpoint"  # for tools that connect to a running stack


class AwsEngine:
    """Engine on DynamoDB Local and the emulator. See `local.engine.Engine`.

    Args:
        folder: The folder of all its data.
    """

    def __init__(self, folder: Path) -> None:
        self.wake: Callable[[], None] = lambda: None
        self.changed: Callable[[], None] = lambda: None
        self._folder = folder
        self._emulator = Emulator(folder)
        self._dynamodb = DynamoDbLocal(data_dir=folder / "dynamodb")
        self._delays: dict[str, int] = {}
        self._parts = ExitStack()
        self._session = Session(
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            region_name=REGION,
        )

    @property
    def aws_url(self) -> str:
        """See `local.engine.Engine`; the endpoint of all services but DynamoDB."""
        return self._emulator.endpoint_url

    @property
    def dynamodb_url(self) -> str:
        """The endpoint of DynamoDB Local."""
        return self._dynamodb.endpoint_url

    @property
    def delays(self) -> Mapping[str, int]:
        """The queues' own delays in seconds, by queue URL."""
        return self._delays

    def start(self, template: Template) -> dict[str, str]:
        """See `local.engine.Engine`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._parts.callback(self._dynamodb.stop)
        self._dynamodb.start()
        self._parts.callback(self._emulator.stop)
        self._emulator.start()
        (self._folder / ENDPOINT_FILE).write_text(self.dynamodb_url, encoding="utf-8")
        names = {**self._make_table(template), **self._make_queues(template)}
        self._make_twilio_account()
        return names

    def stop(self) -> None:
        """See `local.engine.Engine`."""
        self._parts.close()

    def adapters(self, settings: Settings, clock: Clock) -> Adapters:
        """See `local.engine.Engine`."""
        aws = Aws(settings)
        sqs = sqs_client(aws)
        keep_delays(sqs, clock, self._delays, sent=self._sent)
        dynamodb = dynamo_client(
            Aws(settings.model_copy(update={"aws_endpoint_url": self.dynamodb_url}))
        )
        for operation in WRITES:
            dynamodb.meta.events.register(f"after-call.dynamodb.{operation}", self._has_changed)
        return Adapters(
            table=DynamoTable(dynamodb, settings.table_name, clock),
            erasure_register=DynamoTable(dynamodb, settings.erasure_register_name, clock),
            vectors=DynamoVectorIndex(dynamodb, settings.table_name, settings.vector_index, clock),
            queues=SqsQueues(sqs, settings.queue_urls()),
            secrets=SecretsManager(secrets_client(aws), clock),
        )

    def inbox(self, sources: Sequence[PolledQueue], clock: Clock) -> SqsInbox:
        """See `local.engine.Engine`."""
        dead_letters = {
            name: self._queue_url(name)
            for source in sources
            if (name := source.queue.dead_letters) is not None
        }
        return SqsInbox(self._sqs(), sources=sources, dead_letters=dead_letters, clock=clock)

    def changes(self, sources: Sequence[FeedSource], clock: Clock) -> StreamChanges:
        """See `local.engine.Engine`; a stream keeps changes for 24 hours."""
        found = self._client("dynamodb", self.dynamodb_url).describe_table(TableName=TABLE_NAME)
        return StreamChanges(
            self._client("dynamodbstreams", self.dynamodb_url),
            found["Table"]["LatestStreamArn"],
            self._folder / CHANGES_FILE,
            send=self._send,
            clock=clock,
        )

    def twilio_account(self) -> Mapping[str, str]:
        """See `local.engine.Engine`."""
        answer = self._client("secretsmanager").get_secret_value(SecretId=TWILIO_SECRET)
        account: dict[str, str] = json.loads(answer["SecretString"])
        return account

    def all_items(self) -> list[Item]:
        """See `local.engine.Engine`."""
        client: DynamoDBClient = self._client("dynamodb", self.dynamodb_url)
        items: list[Item] = []
        more: dict[str, Any] = {}
        while True:
            page = client.scan(TableName=TABLE_NAME, ConsistentRead=True, Limit=PAGE_ITEMS, **more)
            items.extend(map(unmarshal_item, page["Items"]))
            if "LastEvaluatedKey" not in page:
                return items
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def dead_letters(self, queue: str) -> int:
        """See `local.engine.Engine`."""
        found = self._sqs().get_queue_attributes(
            QueueUrl=self._queue_url(queue), AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(found["Attributes"]["ApproximateNumberOfMessages"])

    def _sent(self) -> None:
        self.wake()

    def _has_changed(self, **_: object) -> None:
        self.changed()

    def _send(self, queue: str, body: str) -> None:
        self._sqs().send_message(QueueUrl=self._queue_url(queue), MessageBody=body)

    def _make_table(self, template: Template) -> dict[str, str]:
        logical_id, schema = template.table
        client: DynamoDBClient = self._client("dynamodb", self.dynamodb_url)
        for name, definition in ((TABLE_NAME, schema), (REGISTER_NAME, template.register)):
            with _unless("ResourceInUseException"):
                client.create_table(TableName=name, **definition)
        stream = schema.get("StreamSpecification")
        if stream and "LatestStreamArn" not in client.describe_table(TableName=TABLE_NAME)["Table"]:
            # The folder has the table of an earlier version.
            client.update_table(TableName=TABLE_NAME, StreamSpecification=stream)
        return {
            logical_id: TABLE_NAME,
            f"{logical_id}.Arn": table_arn(TABLE_NAME),
            REGISTER: REGISTER_NAME,
        }

    def _make_queues(self, template: Template) -> dict[str, str]:
        sqs, names = self._sqs(), {}
        for queue in template.queues:
            try:
                # Look the queue up first: the emulator's port is part of a queue's identity and
                # changes at each start, so `create_queue` would create a second queue.
                sqs.get_queue_url(QueueName=queue.logical_id)
            except sqs.exceptions.QueueDoesNotExist:
                # No delay or redrive policy: the poller applies both by the local clock.
                sqs.create_queue(QueueName=queue.logical_id)
            url = self._queue_url(queue.logical_id)
            self._delays[url] = queue.delay
            names[queue.logical_id] = url
            names[f"{queue.logical_id}.Arn"] = queue_arn(queue.logical_id)
            names[f"{queue.logical_id}.QueueName"] = queue.logical_id
        return names

    def _make_twilio_account(self) -> None:
        with _unless("ResourceExistsException"):
            self._client("secretsmanager").create_secret(
                Name=TWILIO_SECRET, SecretString=json.dumps(new_twilio_account())
            )

    def _queue_url(self, logical_id: str) -> str:
        return f"{self.aws_url}/{ACCOUNT}/{logical_id}"

    def _sqs(self) -> "SQSClient":
        client: SQSClient = self._client("sqs")
        return client

    def _client(self, service: Any, url: str | None = None) -> Any:
        return self._session.client(
            service,
            endpoint_url=url or self.aws_url,
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
