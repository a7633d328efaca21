"""A scripted API, and the Python client with short pauses."""

from collections.abc import Iterator

import pytest

from skein_client import backoff
from tests.support.scripted_api import ScriptedApi


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    """An API that a test scripts."""
    started = ScriptedApi()
    yield started
    started.stop()


@pytest.fixture
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin the pauses between attempts with 20 ms."""
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.02)
