"""A file of the data that is damaged stops the start, and is left as it is."""

import errno
import logging
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from local.aws.emulator import SERVICES, Emulator
from local.config import BadConfigError, Config
from local.errors import DamagedDataError, PortInUseError
from local.log_file import log_in
from local.sqlite.database import Database
from local.sqlite.engine import SqliteEngine
from local.sqlite.table import SqliteTable
from local.stack import Stack
from local.timing.clock import TurnableClock
from local.twilio.sms_log import SmsLog
from local.web.authorizer import Authorizer
from local.web.server import Server
from skein.models.common.storage import Key, Put

STATES = [f"aws/state/{service}.json" for service in SERVICES]
READERS: dict[str, Callable[[Path], object]] = {
    "clock": TurnableClock,
    "texts.jsonl": SmsLog,
    "signing-key.pem": lambda path: Authorizer(path, issuer="me", audience="you"),
    "skein.db": lambda path: Database(path).create(),
    "twilio.json": lambda path: SqliteEngine(path.parent).twilio_account(),
    **{name: lambda path: Emulator(path.parents[1]).start() for name in STATES},
}
DAMAGE = [
    *((name, b"\xff\xfe\xfd\n") for name in READERS),
    *((name, b"[1]\n") for name in READERS),
    *((name, b"") for name in READERS if name not in {"texts.jsonl", "skein.db"}),
    *((name, b'{"__ministack_format__": 2, "payl') for name in STATES),
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


def test_emulator_that_cannot_save_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    aws = Emulator(tmp_path / "aws")
    aws.start()
    states = tmp_path / "aws" / "state"
    shutil.rmtree(states, ignore_errors=True)
    states.write_text("no folder, as if the disk were full")
    with caplog.at_level(logging.ERROR, "local.aws.emulator"):
        aws.stop()
    [told] = caplog.messages
    assert told.startswith("failed to save sqs and secretsmanager")


@pytest.mark.parametrize("name", ["a file", "a file/below"])
def test_where_nothing_can_be_kept_the_variable_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(BadConfigError, match="set SKEIN_DATA_DIR to a writable folder"):
        log_in(tmp_path / name)


def test_a_port_for_root_alone_is_not_said_to_be_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuses)
    with pytest.raises(
        PortInUseError, match=r"port 80 is refused \(Permission denied\): set SKEIN"
    ):
        Server(80, lambda _: pytest.fail("nobody calls"))


@pytest.mark.parametrize("url", ["127.0.0.1:11434", "ftp://x/v1", "http:///v1", "no url"])
def test_a_base_url_that_is_none_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(BadConfigError, match="OPENAI_BASE_URL"):
        Config.from_environment({"OPENAI_BASE_URL": url})
