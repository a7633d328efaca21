"""The first API key of a tenant: `make owner-key LOCAL=1`."""

import json
from pathlib import Path

import pytest

from local.sqlite.engine import SqliteEngine
from skein.adapters.system import SystemClock
from skein.identity.models.api_key import ApiKey
from skein.identity.models.credential import Credential
from skein.settings import Settings
from tests.support.template import deployed_template
from tools.stack import keys


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteEngine:
    engine = SqliteEngine(tmp_path)
    engine.start(deployed_template())
    monkeypatch.setenv("SKEIN_DATA_DIR", str(tmp_path))
    return engine


def test_command_prints_a_key_of_the_tenant_once(
    engine: SqliteEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    keys.main(["--local", "--tenant", "acme", "--roles", "owner,tokens"])
    shown = json.loads(capsys.readouterr().out)
    credential = Credential.parse(shown["key"])
    assert credential is not None
    table = engine.adapters(Settings(), SystemClock()).table
    item = table.get(ApiKey.key_of("acme", shown["id"]))
    assert item is not None
    assert credential.matches(item["hash"])
    assert item["roles"] == shown["roles"] == ["owner", "tokens"]
    engine.stop()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [([], "TENANT is needed"), (["--tenant", "acme", "--roles", "admin"], "the roles are owner")],
)
def test_command_refuses_in_one_sentence(arguments: list[str], reason: str) -> None:
    with pytest.raises(SystemExit, match=reason):
        keys.main(["--local", *arguments])
