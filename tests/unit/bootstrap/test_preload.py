"""What functions load ahead, while Lambda starts them."""

import sys

import pytest

from skein import bootstrap
from skein.bootstrap import parts, preload
from skein.bootstrap.outside import ADAPTERS, EVERYBODYS
from skein.settings import Settings


def test_nothing_is_read_and_no_app_is_there_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "from_environment", lambda _: pytest.fail("a setting was read"))
    preload(*parts())
    assert bootstrap._Container.app is None


def test_the_adapters_of_ports_are_loaded_but_not_made() -> None:
    preload("verifier")
    adapters = {ADAPTERS[port] for port in (*EVERYBODYS, "verifier")}
    assert {f"skein.adapters.{name}" for name in adapters} <= sys.modules.keys()


def test_a_name_of_nothing_is_refused() -> None:
    with pytest.raises(AttributeError, match="turn"):
        preload("turn")
