"""Assigned numbers of the local stack: `make numbers LOCAL=1`, and `POST /local/numbers`."""

import json
from pathlib import Path

import pytest

from local.sqlite.engine import NUMBERS_FILE, SqliteEngine
from local.template import NUMBERS
from skein.adapters.system import SystemClock
from skein.models.common.address import phone_address
from skein.models.common.storage import Put
from skein.models.directory.line import Line
from skein.settings import Settings
from tests.support.builders import LINE, NOON
from tests.support.template import deployed_template
from tools.stack import numbers

SECOND = "+15005550016"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    engine = SqliteEngine(tmp_path)
    names = engine.start(deployed_template())
    assert names[NUMBERS] == Settings().assigned_numbers_name
    line = Line(tenant="globex", address=phone_address(LINE), agent_id="agt_g", created_at=NOON)
    engine.adapters(Settings(), SystemClock()).table.write(Put(line.key, line.to_item()))
    engine.stop()
    assert (tmp_path / NUMBERS_FILE).exists()
    monkeypatch.setenv("SKEIN_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_command_assigns_numbers_and_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    for tenant, phone in (("acme", "+1 500 555 0016"), ("globex", LINE), ("globex", SECOND)):
        numbers.main(["--local", "--tenant", tenant, "--phone", phone])
    capsys.readouterr()
    numbers.main(["--local"])
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert shown == [{"phone": LINE, "tenant": "globex"}, {"phone": SECOND, "tenant": "globex"}]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--tenant", "acme", "--phone", LINE], "line of another tenant"),
        (["--tenant", "acme"], "TENANT and PHONE are needed together"),
        (["--phone", LINE], "TENANT and PHONE are needed together"),
        (["--tenant", "acme", "--phone", "12"], "not a full phone number"),
    ],
)
def test_command_refuses_a_number_in_one_sentence(arguments: list[str], reason: str) -> None:
    with pytest.raises(SystemExit, match=reason):
        numbers.main(["--local", *arguments])
