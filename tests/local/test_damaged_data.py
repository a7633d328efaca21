"""Data that is damaged, or of another version, stops the start and is left as it is."""

import errno
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local.config import BadConfigError, Config
from local.errors import DamagedDataError, OtherFormatError, PortInUseError
from local.log_file import log_in
from local.sqlite.database import STORAGE_FORMAT, Database
from local.sqlite.engine import FILE, NUMBERS_FILE, REGISTER_FILE, SqliteEngine
from local.sqlite.table import SqliteTable
from local.stack import Stack
from local.timing.clock import TurnableClock
from local.twilio.sms_log import SmsLog
from local.web.server import Server
from local.web.token_signer import TokenSigner
from skein.models.common.storage import Key, Put

ROOT = Path(__file__).resolve().parents[2]
READERS: dict[str, Callable[[Path], object]] = {
    "clock": TurnableClock,
    "texts.jsonl": SmsLog,
    "signing-key.pem": lambda path: TokenSigner(path, issuer="me", audience="you"),
    "skein.db": lambda path: Database(path).create(),
    "twilio.json": lambda path: SqliteEngine(path.parent).twilio_account(),
    "services.json": lambda path: SqliteEngine(path.parent).services_key(),
}
DAMAGE = [
    *((name, b"\xff\xfe\xfd\n") for name in READERS),
    *((name, b"[1]\n") for name in READERS),
    *((name, b"") for name in READERS if name != "texts.jsonl"),
    ("clock", b"nan"),
    ("clock", b"1e12"),
    ("clock", b"inf"),
    ("texts.jsonl", b'{"sid": "SM1"}\n'),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGE)
def test_damaged_file_prevents_the_start_and_is_not_changed(
    tmp_path: Path, name: str, damage: bytes
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(damage)
    with pytest.raises(DamagedDataError) as told:
        READERS[name](path)
    assert str(told.value).startswith(f"{path} is damaged: restore a copy, or delete the file")
    assert path.read_bytes() == damage


def test_stack_with_a_damaged_table_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "skein.db").write_bytes(b"{" * 5_000)
    with pytest.raises(DamagedDataError):
        Stack(Config(port=0, data_dir=tmp_path, openai_base_url="http://127.0.0.1:9/v1")).start()
    assert (tmp_path / "skein.db").read_bytes() == b"{" * 5_000


def test_start_that_was_killed_while_it_created_the_table_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "skein.db.part").write_bytes(b"")
    (tmp_path / "skein.db.part-wal").write_bytes(b"half of it")
    Database(tmp_path / "skein.db").create()
    assert [path.name for path in tmp_path.glob("*.part*")] == []


def test_database_with_a_damaged_page_does_not_start(tmp_path: Path) -> None:
    path = tmp_path / "skein.db"
    database = Database(path)
    database.create()
    table = SqliteTable(database)
    for number in range(200):
        table.write(Put(Key("p", f"{number:03}"), {"text": "x" * 500}))
    database.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8_192] + b"\xff" * 4_096 + whole[12_288:])
    with pytest.raises(DamagedDataError, match=r"skein\.db is damaged"):
        Database(path).create()


def of_another_format(path: Path, version: int) -> bytes:
    """Write a database with the storage format `version`; 0 stands for none."""
    database = Database(path)
    database.create()
    database.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    return path.read_bytes()


@pytest.mark.parametrize("version", [0, STORAGE_FORMAT - 1, STORAGE_FORMAT + 1])
@pytest.mark.parametrize("name", [FILE, REGISTER_FILE, NUMBERS_FILE])
def test_stack_with_data_of_another_format_does_not_start(
    tmp_path: Path, name: str, version: int
) -> None:
    before = of_another_format(tmp_path / name, version)
    with pytest.raises(OtherFormatError):
        Stack(Config(port=0, data_dir=tmp_path, openai_base_url="http://127.0.0.1:9/v1")).start()
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.check
def test_run_with_data_of_another_format_says_in_one_sentence_how_to_start(tmp_path: Path) -> None:
    of_another_format(tmp_path / FILE, STORAGE_FORMAT - 1)
    chosen = {
        "SKEIN_DATA_DIR": str(tmp_path),
        "SKEIN_PORT": "0",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }
    run = subprocess.run(
        [sys.executable, "-m", "local", "run"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT / 'functions'}", **chosen},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert run.stdout.splitlines()[-1] == "skein: opening the data"
    assert run.stderr == (
        f"skein: {tmp_path} has the data of another version of Skein: move the folder away, "
        "or set SKEIN_DATA_DIR to another folder, to start without that data\n"
    )


@pytest.mark.parametrize("name", ["a file", "a file/below"])
def test_unwritable_data_folder_error_names_the_variable(tmp_path: Path, name: str) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(BadConfigError, match="set SKEIN_DATA_DIR to a writable folder"):
        log_in(tmp_path / name)


def test_privileged_port_error_reports_permission_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuses)
    with pytest.raises(
        PortInUseError, match=r"port 80 is refused \(Permission denied\): set SKEIN"
    ):
        Server(80, lambda _: pytest.fail("nobody calls"))


@pytest.mark.parametrize("url", ["127.0.0.1:11434", "ftp://x/v1", "http:///v1", "no url"])
def test_invalid_base_url_is_rejected_at_start(url: str) -> None:
    with pytest.raises(BadConfigError, match="OPENAI_BASE_URL"):
        Config.from_environment({"OPENAI_BASE_URL": url})
