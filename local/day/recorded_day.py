"""The recorded day in a data folder: when it is played, and how its rows get into the table."""

import hashlib
import json
import logging
import shutil
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from local.children import Child
from local.day.actors import LINE, TENANT
from local.errors import LocalError
from local.files import write_whole
from local.sqlite.database import Database
from local.sqlite.engine import ACCOUNT_FILE, FILE, SERVICES_FILE
from local.sqlite.vectors import ADD as ADD_VECTOR
from local.template import ROOT
from local.twilio.sms_log import SmsLog
from skein.errors import SkeinError
from skein.models.common.address import phone_address
from skein.models.directory.line import Line

SMS_FILE = "texts.jsonl"
TOUR_FILE = "tour.json"
STORY_SECONDS = 120.0  # enough for a busy machine
# The rows of the tenant, and the item of its line, which belongs to no tenant.
CHOSEN = {
    "from": f"{TENANT}#",
    "to": f"{TENANT}$",  # "$" follows "#"
    "line": Line.key_of(phone_address(LINE)).pk,
}
ITEMS = (
    "SELECT pk, sk, gsi1pk, gsi1sk, gsi2pk, gsi2sk, expires_at, size, item FROM items"
    " WHERE pk >= :from AND pk < :to OR pk = :line"
)
VECTORS = (
    "SELECT partition, model, pk, sk, author, month, vector FROM vectors"
    " WHERE pk >= :from AND pk < :to"
)
FORGET_ITEMS = "DELETE FROM items WHERE pk >= :from AND pk < :to OR pk = :line"
FORGET_VECTORS = "DELETE FROM vectors WHERE pk >= :from AND pk < :to"
MARK_REMOVED = (
    "UPDATE vector_partitions SET changed = random(), removed = random()"
    " WHERE partition >= :from AND partition < :to"
)
ADD_ITEM = (
    "INSERT INTO items (pk, sk, gsi1pk, gsi1sk, gsi2pk, gsi2sk, expires_at, size, item)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
MARK_ADDED = "INSERT OR REPLACE INTO vector_partitions VALUES (?, ?, random(), random())"

logger = logging.getLogger(__name__)


class RecordedDay:
    """The recorded day in a data folder.

    A child process plays the day if the folder does not contain it yet, or if an older version of
    the code has played it.

    Args:
        folder: The data folder.
        database: The database with the stack's table, into which the rows are copied.
        sms_log: The log to which the SMS of the day are added.
    """

    def __init__(self, folder: Path, database: Database, sms_log: SmsLog) -> None:
        self._folder = folder / "day"
        self._kept = folder / "day.json"
        self._database = database
        self._sms_log = sms_log
        self._child: Child | None = None
        self._copied = threading.Thread(target=self._copy_when_played, name="day", daemon=True)
        self._replaced: Callable[[], None] = lambda: None
        self._stopping = False
        self._tour: list[dict[str, Any]] | None = None
        self._state = "off"

    def play(self, ahead: timedelta) -> None:
        """Start to play the day, unless the folder contains a day that this version has played.

        Args:
            ahead: The offset of the stack's clock from real time.
        """
        version, kept = _version(), self._read()
        if kept.get("version") == version:
            self._tour, self._state = kept["tour"], "ready"
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        for name in (ACCOUNT_FILE, SERVICES_FILE):  # so that all SMS are of one account
            shutil.copy2(self._folder.parent / name, self._folder / name)
        self._state = "playing"
        self._child = Child(
            "the recorded day",
            "local.day.play",
            str(self._folder),
            str(ahead.total_seconds()),
            environment={},
            log=self._folder / "play.log",
        )

    def copy(self, replaced: Callable[[], None]) -> None:
        """Copy the day's rows in the background, as soon as the day has been played.

        Args:
            replaced: Called if the rows replaced those of an older day, which may still be cached.
        """
        self._replaced = replaced
        if self._child is not None:
            self._copied.start()

    def stop(self) -> None:
        """Stop playing (idempotent). The next start plays the day again from its beginning."""
        self._stopping = True
        if self._child is not None:
            self._child.stop()
        if self._copied.ident is not None:
            self._copied.join()

    def state(self) -> dict[str, object]:
        """Return the state and, once the day has been played, the tour."""
        return {"state": self._state, "tenant": TENANT, "steps": self._tour or []}

    def _copy_when_played(self) -> None:
        child = self._child
        if child is None:
            return
        done = self._folder / TOUR_FILE
        try:
            child.wait_until(done.exists, seconds=STORY_SECONDS)  # the child then waits for its end
            child.stop()
            tour = json.loads(done.read_bytes())
            replaced = self._copy_rows()
            self._copy_sms()
            kept = {"version": _version(), "tour": tour}
            write_whole(self._kept, json.dumps(kept).encode())
        except (LocalError, SkeinError, OSError) as error:
            self._state = "failed"
            if not self._stopping:
                logger.warning("the recorded day is missing: %s", error)
            return
        self._tour, self._state = tour, "ready"
        logger.info("the recorded day is ready")
        shutil.rmtree(self._folder, ignore_errors=True)
        if replaced:
            self._replaced()

    def _copy_rows(self) -> bool:
        """Copy the tenant's rows in one transaction; return whether they replaced older rows."""
        source = Database(self._folder / FILE)
        with source.reading() as played:
            items = played.execute(ITEMS, CHOSEN).fetchall()
            vectors = played.execute(VECTORS, CHOSEN).fetchall()
        source.close()
        with self._database.writing() as connection:
            older = connection.execute(FORGET_ITEMS, CHOSEN).rowcount
            connection.execute(FORGET_VECTORS, CHOSEN)
            connection.execute(MARK_REMOVED, CHOSEN)
            connection.executemany(ADD_ITEM, items)
            connection.executemany(ADD_VECTOR, vectors)
            connection.executemany(MARK_ADDED, {row[:2] for row in vectors})
        return older > 0

    def _copy_sms(self) -> None:
        self._sms_log.forget(LINE)
        for sms in SmsLog(self._folder / SMS_FILE).of_line(LINE):
            self._sms_log.put(sms)

    def _read(self) -> dict[str, Any]:
        try:
            kept: dict[str, Any] = json.loads(self._kept.read_bytes())
        except (OSError, ValueError):
            return {}
        return kept


def _version() -> str:
    """Return a digest of the code of the story and of the released versions."""
    files = [*sorted(Path(__file__).parent.glob("*.py")), ROOT / "deployment" / "releases.toml"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
