"""The rows of a recorded day get into a data folder once for each version of the story."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from local.day import recorded_day
from local.day.actors import LINE, TENANT
from local.day.recorded_day import SMS_FILE, TOUR_FILE, RecordedDay
from local.errors import ChildFailedError
from local.sqlite.database import Database
from local.sqlite.engine import ACCOUNT_FILE, FILE, SERVICES_FILE
from local.sqlite.table import SqliteTable
from local.twilio.sms_log import Sms, SmsLog
from skein.models.common.storage import Key, Put

DEMO, LINE_ITEM = Key("demo#USER#1", "META"), Key(f"LINE#phone#{LINE}", "META")
STORY = Key(f"{TENANT}#USER#1", "META")
OTHER = "+15005550006"


def sms(sid: str, line: str) -> Sms:
    return Sms(
        sid, "+15005550100", line, sid, "received", "2026-01-01T00:00:00Z", 1, "", None, "inbound"
    )


def played(folder: Path, sid: str) -> None:
    """Write what the child process leaves."""
    database = Database(folder / FILE)
    database.create()
    table = SqliteTable(database)
    for key in (DEMO, LINE_ITEM, STORY):
        table.write(Put(key, {"name": sid}))
    database.close()
    SmsLog(folder / SMS_FILE).put(sms(sid, LINE))
    (folder / TOUR_FILE).write_text(json.dumps([{"title": sid}]))


class Child:
    """A child process that has played at once, or fails."""

    sid: str | None = "first"

    def __init__(self, _name: str, _module: str, folder: str, *_: str, **__: object) -> None:
        if self.sid is not None:
            played(Path(folder), self.sid)

    def wait_until(self, ready: Any, *, seconds: float) -> None:
        if not ready():
            raise ChildFailedError(f"not ready in {seconds} s")

    def stop(self) -> None:
        """Nothing runs."""


class Start:
    """The starts of one data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (ACCOUNT_FILE, SERVICES_FILE):
            (folder / name).write_text("{}")
        self.database = Database(folder / FILE)
        self.database.create()
        self.table = SqliteTable(self.database)
        self.table.write(Put(DEMO, {"name": "own"}))
        self.replaced = 0

    def again(self) -> RecordedDay:
        day = RecordedDay(self.folder, self.database, SmsLog(self.folder / SMS_FILE))
        day.play(timedelta(0))
        day.copy(self._count)
        day.stop()
        return day

    def _count(self) -> None:
        self.replaced += 1

    def name(self, key: Key) -> object:
        return (self.table.get(key) or {}).get("name")

    def sids(self) -> list[str]:
        return [
            each.sid for each in SmsLog(self.folder / SMS_FILE).of_phone("+15005550100", None, 9)
        ]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Start:
    monkeypatch.setattr(recorded_day, "Child", Child)
    monkeypatch.setattr(Child, "sid", "first")
    return Start(tmp_path)


def test_day_is_copied_beside_the_data_of_other_tenants(start: Start) -> None:
    SmsLog(start.folder / SMS_FILE).put(sms("own", OTHER))
    state = start.again().state()
    assert state == {"state": "ready", "tenant": TENANT, "steps": [{"title": "first"}]}
    assert [start.name(key) for key in (DEMO, LINE_ITEM, STORY)] == ["own", "first", "first"]
    assert (sorted(start.sids()), start.replaced) == (["first", "own"], 0)
    assert not (start.folder / "day").exists()


def test_day_is_played_again_only_by_a_new_version(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start.again()
    monkeypatch.setattr(Child, "sid", "second")
    assert start.again().state()["state"] == "ready"
    assert start.name(STORY) == "first"
    monkeypatch.setattr(recorded_day, "_version", lambda: "newer")
    start.again()
    assert (start.name(STORY), start.sids(), start.replaced) == ("second", ["second"], 1)


def test_failed_day_leaves_the_data_as_they_are_and_is_played_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Child, "sid", None)
    assert start.again().state()["state"] == "failed"
    assert start.name(STORY) is None
    monkeypatch.setattr(Child, "sid", "second")
    assert start.again().state()["state"] == "ready"
