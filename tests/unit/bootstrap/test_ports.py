"""Ports, and the adapters that functions load while Lambda starts them."""

import gc
import random
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from skein import bootstrap
from skein.bootstrap import lasting, load_adapters
from skein.bootstrap.ports import ADAPTERS, SHARED, Ports
from skein.errors import ConnectionGone
from skein.settings import Settings
from tests.fakes.system import SequentialIds


def test_load_adapters_reads_no_setting_and_builds_no_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "from_environment", lambda _: pytest.fail("a setting was read"))
    load_adapters(*ADAPTERS)
    assert bootstrap._Container.app is None


def test_load_adapters_imports_the_named_and_the_shared_adapters() -> None:
    load_adapters("verifier")
    adapters = {ADAPTERS[port] for port in (*SHARED, "verifier")}
    assert {f"skein.adapters.{name}" for name in adapters} <= sys.modules.keys()


def test_load_adapters_collects_garbage_again_afterwards() -> None:
    load_adapters()
    assert gc.isenabled()


def test_load_adapters_unknown_port_is_refused() -> None:
    with pytest.raises(KeyError, match="turn"):
        load_adapters("turn")


def test_ports_override_replaces_the_adapter() -> None:
    ids = SequentialIds()
    assert Ports(Settings(), ids=ids).ids is ids


def test_without_a_live_channel_there_is_no_connection() -> None:
    sockets = Ports(Settings(live_url="")).sockets
    with pytest.raises(ConnectionGone):
        sockets.push("c1", "{}")
    sockets.close("c1")


def test_ports_unknown_override_is_refused() -> None:
    with pytest.raises(TypeError, match="unknown port: tabel"):
        Ports(Settings(), tabel=None)


def test_load_adapters_with_an_app_in_use_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "skein.adapters.dynamodb.table", raising=False)
    bootstrap.use(bootstrap.build_app(Settings()))
    load_adapters("verifier")
    assert "skein.adapters.dynamodb.table" not in sys.modules


def test_container_from_a_snapshot_draws_random_numbers_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks: list[Callable[[], None]] = []
    runtime: Any = ModuleType("snapshot_restore_py")
    runtime.__spec__ = ModuleSpec(runtime.__name__, None)
    runtime.register_after_restore = hooks.append
    monkeypatch.setitem(sys.modules, runtime.__name__, runtime)
    load_adapters()
    [after_restore] = hooks
    snapshot = random.getstate()
    drawn = set()
    for _ in range(2):  # containers from one snapshot
        random.setstate(snapshot)
        after_restore()
        drawn.add(random.random())
    assert len(drawn) == 2


@pytest.mark.parametrize("enabled", [True, False])
def test_lasting_objects_are_left_out_and_collection_goes_on_as_before(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with lasting():
            assert not gc.isenabled()
            made: list[object] = []
        assert gc.isenabled() is enabled
        assert not any(each is made for each in gc.get_objects())
    finally:
        (gc.enable if before else gc.disable)()
