"""The engine of `make run`: SQLite files, and no other process."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local.engine import Adapters
from local.environment import TWILIO_SECRET, KeptSecrets, new_twilio_account
from local.files import read_whole, write_whole
from local.intrinsics import REGISTER_NAME, TABLE_NAME, queue_arn, table_arn
from local.polling.feed import FeedSource
from local.polling.inbox import PolledQueue
from local.sqlite.changes import SqliteChanges
from local.sqlite.database import Database
from local.sqlite.queues import SqliteInbox, SqliteQueues, messages_in
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from local.template import REGISTER, Template
from skein.models.common.storage import Item
from skein.ports import Clock
from skein.settings import Settings

FILE = "skein.db"
REGISTER_FILE = "erasures.db"  # apart from the table, so that a restored file does not change it
ACCOUNT_FILE = "twilio.json"
# No AWS client is used; one that is used by mistake reaches nobody.
NOWHERE = "http://127.0.0.1:9"

logger = logging.getLogger(__name__)


class SqliteEngine:
    """Engine on one SQLite file, and one for the erasure register. See `local.engine.Engine`.

    Args:
        folder: The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self.aws_url = NOWHERE
        self.wake: Callable[[], None] = lambda: None
        self.changed: Callable[[], None] = lambda: None
        self._file = folder / FILE
        self._old_data = folder / "aws" / "state" / "dynamodb.json"
        self.database = Database(self._file)
        self.register = Database(folder / REGISTER_FILE)
        self._account = folder / ACCOUNT_FILE

    def start(self, template: Template) -> dict[str, str]:
        """See `local.engine.Engine`."""
        if self._old_data.exists() and not self._file.exists():
            logger.warning(
                "the data of an earlier version in %s is not read: the table starts empty",
                self._old_data.parent,
            )
        self.database.create()
        self.register.create()
        if not self._account.exists():
            write_whole(self._account, json.dumps(new_twilio_account()).encode())
        table = template.table[0]
        names = {
            table: TABLE_NAME,
            f"{table}.Arn": table_arn(TABLE_NAME),
            REGISTER: REGISTER_NAME,
        }
        for queue in template.queues:
            names[queue.logical_id] = names[f"{queue.logical_id}.QueueName"] = queue.logical_id
            names[f"{queue.logical_id}.Arn"] = queue_arn(queue.logical_id)
        return names

    def stop(self) -> None:
        """See `local.engine.Engine`."""
        self.database.close()
        self.register.close()

    def adapters(self, settings: Settings, clock: Clock) -> Adapters:
        """See `local.engine.Engine`; works in other processes, too, without a start."""
        return Adapters(
            table=SqliteTable(self.database, clock, changed=self._has_changed),
            erasure_register=SqliteTable(self.register, clock),
            vectors=SqliteVectors(self.database, clock),
            queues=SqliteQueues(self.database, clock, settings.queue_urls(), sent=self._sent),
            secrets=KeptSecrets({TWILIO_SECRET: self.twilio_account()}),
        )

    def inbox(self, sources: Sequence[PolledQueue], clock: Clock) -> SqliteInbox:
        """See `local.engine.Engine`; what a killed stack was working on is due at once."""
        inbox = SqliteInbox(self.database, sources=sources, clock=clock)
        inbox.release()
        return inbox

    def changes(self, sources: Sequence[FeedSource], clock: Clock) -> SqliteChanges:
        """See `local.engine.Engine`; expired items are deleted, which changes the table."""
        changes = SqliteChanges(self.database, clock)
        changes.attach(sources)
        SqliteTable(self.database, clock).delete_expired()
        return changes

    def twilio_account(self) -> Mapping[str, str]:
        """See `local.engine.Engine`."""
        return read_whole(self._account, _account)

    def all_items(self) -> list[Item]:
        """See `local.engine.Engine`."""
        return list(SqliteTable(self.database).all_items().values())

    def dead_letters(self, queue: str) -> int:
        """See `local.engine.Engine`."""
        return messages_in(self.database, queue)

    def _sent(self) -> None:
        self.wake()

    def _has_changed(self) -> None:
        self.changed()


def _account(data: bytes) -> dict[str, str]:
    account: dict[str, str] = json.loads(data)
    return {name: account[name] for name in ("account_sid", "auth_token")}
