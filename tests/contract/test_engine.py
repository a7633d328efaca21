"""DynamoDB Local says why it does not start."""

from pathlib import Path

import pytest

from tools.install import dynamodb_local as engine
from tools.install.dynamodb_local import DynamoDbLocal, EngineFailedError


def test_engine_that_is_not_installed_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine, "HOME", tmp_path)
    with pytest.raises(EngineFailedError, match="DynamoDB Local"):
        DynamoDbLocal().launch()
