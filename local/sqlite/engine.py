"""Engine: stores the table, the queues and the secrets of the local stack in SQLite files."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from local.environment import (
    SERVICES_SECRET,
    TWILIO_SECRET,
    KeptSecrets,
    new_services_key,
    new_twilio_account,
)
from local.files import read_whole, write_whole
from local.intrinsics import (
    BUCKET_NAME,
    NUMBERS_NAME,
    REGISTER_NAME,
    TABLE_NAME,
    queue_arn,
    table_arn,
)
from local.permissions import BUCKET
from local.polling.feed import FeedSource
from local.polling.inbox import PolledQueue
from local.sqlite.changes import SqliteChanges
from local.sqlite.database import Database
from local.sqlite.queues import SqliteInbox, SqliteQueues, messages_in
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from local.template import NUMBERS, REGISTER, SERVICES_KEY, Template
from skein.models.common.storage import Item
from skein.ports import Clock, Queues, Secrets, Table, VectorIndex
from skein.settings import Settings

FILE = "skein.db"
REGISTER_FILE = "erasures.db"  # apart from the table, so that a restored file does not change it
NUMBERS_FILE = "numbers.db"  # apart from the table, which functions may write
ACCOUNT_FILE = "twilio.json"
SERVICES_FILE = "services.json"
TOOL_SECRETS_FILE = "tool-secrets.json"  # which people write, for their tools


class Adapters(NamedTuple):
    """The ports that the engine implements."""

    table: Table
    erasure_register: Table
    assigned_numbers: Table
    vectors: VectorIndex
    queues: Queues
    secrets: Secrets


class SqliteEngine:
    """Stores everything in three SQLite files: table, erasure register and assigned numbers.

    Args:
        folder: The data folder.

    Attributes:
        wake: Called after each batch of sent messages.
        changed: Called after each change of the table that may be for a feed.
    """

    def __init__(self, folder: Path) -> None:
        self.wake: Callable[[], None] = lambda: None
        self.changed: Callable[[], None] = lambda: None
        self._file = folder / FILE
        self.database = Database(self._file)
        self.register = Database(folder / REGISTER_FILE)
        self.numbers = Database(folder / NUMBERS_FILE)
        self._account = folder / ACCOUNT_FILE
        self._services = folder / SERVICES_FILE
        self._tool_secrets = folder / TOOL_SECRETS_FILE

    def start(self, template: Template) -> dict[str, str]:
        """Create the table, the queues and the secrets, unless they exist.

        Returns:
            The local names of the table, the queues and the secret, for references in the template.

        Raises:
            LocalError: The data is damaged, or has another storage format.
        """
        self.database.create()
        self.register.create()
        self.numbers.create()
        for path, new in (self._account, new_twilio_account), (self._services, new_services_key):
            if not path.exists():
                write_whole(path, json.dumps(new()).encode())
        table = template.table[0]
        names = {
            table: TABLE_NAME,
            f"{table}.Arn": table_arn(TABLE_NAME),
            REGISTER: REGISTER_NAME,
            NUMBERS: NUMBERS_NAME,
            SERVICES_KEY: SERVICES_SECRET,
            BUCKET: BUCKET_NAME,
        }
        for queue in template.queues:
            names[queue.logical_id] = names[f"{queue.logical_id}.QueueName"] = queue.logical_id
            names[f"{queue.logical_id}.Arn"] = queue_arn(queue.logical_id)
        return names

    def stop(self) -> None:
        """Close the files (idempotent)."""
        self.database.close()
        self.register.close()
        self.numbers.close()

    def adapters(self, settings: Settings, clock: Clock) -> Adapters:
        """Create the adapters of the ports that the engine implements.

        Processes other than the stack's can call this without `start`.
        """
        return Adapters(
            table=SqliteTable(self.database, clock, changed=self._has_changed),
            erasure_register=SqliteTable(self.register, clock),
            assigned_numbers=SqliteTable(self.numbers, clock),
            vectors=SqliteVectors(self.database, clock),
            queues=SqliteQueues(self.database, clock, settings.queue_urls, sent=self._sent),
            secrets=KeptSecrets(
                {TWILIO_SECRET: self.twilio_account(), SERVICES_SECRET: self.services_key()},
                self._tool_secrets,
            ),
        )

    def inbox(self, sources: Sequence[PolledQueue], clock: Clock) -> SqliteInbox:
        """Create the inbox of the poller.

        Messages that a killed stack left unfinished are due at once.
        """
        inbox = SqliteInbox(self.database, sources=sources, clock=clock)
        inbox.release()
        return inbox

    def changes(self, sources: Sequence[FeedSource], clock: Clock) -> SqliteChanges:
        """Create the source of changes for the feeds, and delete expired items."""
        changes = SqliteChanges(self.database, clock)
        changes.attach(sources)
        SqliteTable(self.database, clock).delete_expired()
        return changes

    def twilio_account(self) -> Mapping[str, str]:
        """Return `account_sid` and `auth_token` of the sandbox, and fields that users have added.

        As on AWS, Twilio's secret also has the credentials of other providers, as further fields.
        """
        return read_whole(self._account, _account)

    def services_key(self) -> Mapping[str, str]:
        """Return the `key` that encrypts the secrets of webhook services."""
        return read_whole(self._services, _services_key)

    def all_items(self) -> list[Item]:
        """Return all items of the table, for checks."""
        return list(SqliteTable(self.database).all_items().values())

    def dead_letters(self, queue: str) -> int:
        """Return the number of messages in a dead-letter queue, by its logical id."""
        return messages_in(self.database, queue)

    def _sent(self) -> None:
        self.wake()

    def _has_changed(self) -> None:
        self.changed()


def _services_key(data: bytes) -> dict[str, str]:
    return {"key": str(json.loads(data)["key"])}


def _account(data: bytes) -> dict[str, str]:
    account: dict[str, str] = json.loads(data)
    return {**account, **{name: account[name] for name in ("account_sid", "auth_token")}}
