"""Services are built from the type hints of their constructors."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from skein.bootstrap.ports import ADAPTERS, APP, Ports, port_types
from skein.bootstrap.wiring import App, Unwired
from skein.joint_writes import JointTable
from skein.ports import Clock, RegisterTable, Table
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON
from tests.support.each import check_each
from tests.support.function_services import FUNCTIONS, services_in

THREADS = 8


def skeins(kind: type) -> type:
    """Make a class of a test one of Skein's, which alone are built."""
    kind.__module__ = f"skein.{kind.__module__}"
    return kind


@skeins
@dataclass(frozen=True)
class Inner:
    table: Table
    settings: Settings
    limit: int = 3


@skeins
class Outer:
    def __init__(
        self, *, inner: Inner, register: RegisterTable, later: Callable[[], Inner]
    ) -> None:
        self.inner, self.register, self.later = inner, register, later


@skeins
@dataclass(frozen=True)
class Alone:
    """A service that needs nothing."""


@skeins
class Reads(Protocol):
    """Not a port."""


@skeins
@dataclass(frozen=True)
class Number:
    number: int


@skeins
@dataclass(frozen=True)
class Lost:
    reads: Reads


@skeins
@dataclass(frozen=True)
class Deep:
    number: Number


@skeins
@dataclass(frozen=True)
class Hen:
    egg: "Egg"


@skeins
@dataclass(frozen=True)
class Egg:
    hen: Hen


@skeins
class Slow:
    """A service whose first thread waits for a second one to build it, too."""

    meeting = threading.Barrier(2)

    def __init__(self, clock: Clock) -> None:
        with suppress(threading.BrokenBarrierError):  # no second thread came
            self.meeting.wait(0.2)


def an_app() -> App:
    clock = FixedClock(NOON)
    table, register = MemoryTable(clock), MemoryTable(clock)
    return App(Ports(Settings(), clock=clock, table=table, erasure_register=register))


def test_service_gets_ports_and_services_by_their_types() -> None:
    app = an_app()
    outer = app.get(Outer)
    assert outer.inner.table == JointTable(app.ports.table)
    assert outer.inner.settings is app.ports.settings
    assert outer.register is app.ports.erasure_register
    assert outer.register is not app.ports.table


def test_parameter_with_default_keeps_the_default() -> None:
    assert an_app().get(Inner).limit == 3


def test_service_is_built_once() -> None:
    app = an_app()
    assert app.get(Outer) is app.get(Outer)
    assert app.get(Inner) is app.get(Outer).inner
    assert app.get(Alone) is app.get(Alone)


def test_function_of_a_type_builds_its_service_at_first_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = an_app()
    later = app.get(Outer).later
    assert later() is app.get(Inner)


def test_first_uses_at_once_build_a_service_once() -> None:
    app, start = an_app(), threading.Barrier(THREADS)

    def use(_: int) -> object:
        start.wait(10)
        return app.get(Slow)

    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(use, range(THREADS)))
    assert len(set(map(id, seen))) == 1


def test_parameter_of_a_type_that_nothing_has_is_named() -> None:
    with pytest.raises(Unwired, match=r"Deep -> Number: no port or service .* of number: .*int"):
        an_app().get(Deep)
    with pytest.raises(Unwired, match=r"Lost: no port or service .* of reads: .*Reads"):
        an_app().get(Lost)


def test_service_that_needs_itself_is_named() -> None:
    with pytest.raises(Unwired, match=r"Hen -> Egg -> Hen: a service needs itself"):
        an_app().get(Hen)


def test_failed_build_leaves_the_app_usable() -> None:
    app = an_app()
    with pytest.raises(Unwired):
        app.get(Hen)
    assert app.get(Inner).table == JointTable(app.ports.table)


def test_each_port_has_a_type_of_its_own() -> None:
    assert sorted(port_types().values()) == sorted(
        ADAPTERS.keys() - {"tracer"}
        | {APP, "settings", "extensions", "query_embeddings", "text_embeddings"}
    )


def test_services_of_every_function_can_be_built() -> None:
    def check(path: Path) -> None:
        app = App(Ports(Settings(), **dict.fromkeys(ADAPTERS)))
        for kind in services_in(path):
            assert isinstance(app.get(kind), kind)

    check_each({str(path.relative_to(FUNCTIONS)): path for path in FUNCTIONS.rglob("*.py")}, check)


def test_services_of_functions_are_found() -> None:
    assert len(services_in(FUNCTIONS / "run_worker.py")) == 9
    assert len(services_in(FUNCTIONS / "tick.py")) == 3
