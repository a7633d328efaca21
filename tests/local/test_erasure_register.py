"""The erasure register of the local stack: a file of its own, which `LOCAL=1` applies."""

from pathlib import Path

import pytest

from local.sqlite.engine import FILE, REGISTER_FILE, SqliteEngine
from local.template import REGISTER
from skein.adapters.system import SystemClock
from skein.models.common.storage import Put
from skein.models.directory.user import User
from skein.privacy.erasure_register import ErasureRegister
from skein.privacy.models.erasure import Erasure, Subject
from skein.settings import Settings
from tests.support.builders import NOON, TENANT
from tests.support.template import deployed_template
from tools.stack import restore_erasures

ZOE = User(tenant=TENANT, id="usr_zoe", name="Zoe", created_at=NOON)


def test_register_survives_an_old_table_that_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = SqliteEngine(tmp_path)
    names = engine.start(deployed_template())
    assert names[REGISTER] == Settings().erasure_register_name
    adapters = engine.adapters(Settings(), SystemClock())
    adapters.table.write(Put(ZOE.key, ZOE.to_item()))
    erasure = Erasure(
        tenant=TENANT,
        id="era_1",
        user_id=ZOE.id,
        requested_by="usr_op",
        requested_at=SystemClock().now(),
    )
    subject = Subject(tenant=TENANT, erasure_id=erasure.id, ids=(ZOE.id,))
    ErasureRegister(table=adapters.erasure_register).record(erasure, subject)
    engine.stop()
    assert (tmp_path / FILE).exists()
    assert (tmp_path / REGISTER_FILE).exists()

    monkeypatch.setenv("SKEIN_DATA_DIR", str(tmp_path))
    restore_erasures.main(["--local", "--first-sweep"])
    assert capsys.readouterr().out.splitlines()[-1] == '{"swept_once": 1}'
    again = SqliteEngine(tmp_path)
    again.start(deployed_template())
    item = again.adapters(Settings(), SystemClock()).table.get(ZOE.key)
    again.stop()
    assert item is not None
    assert (item["name"], item["erasure_id"]) == ("Erased", "era_1")
