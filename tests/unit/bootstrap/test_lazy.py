"""Lazy properties are built once, also where many threads ask for them at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from skein import bootstrap
from skein.bootstrap.lazy import lazy
from skein.bootstrap.ports import ADAPTERS, Ports
from skein.bootstrap.wiring import App
from skein.settings import Settings

THREADS = 8


class Slow:
    """An object with a property whose first thread waits for a second one to build it, too."""

    def __init__(self) -> None:
        self.building = threading.RLock()
        self.built: list[object] = []
        self._meeting = threading.Barrier(2)

    @lazy
    def inner(self) -> object:
        """A value that the other property needs."""
        return object()

    @lazy
    def outer(self) -> object:
        """A value that is slow to build."""
        with suppress(threading.BrokenBarrierError):  # no second thread came
            self._meeting.wait(0.2)
        self.built.append(self.inner)
        return self.inner


def test_property_first_uses_at_once_build_it_once() -> None:
    slow, start = Slow(), threading.Barrier(THREADS)

    def use(_: int) -> object:
        start.wait(10)
        return slow.outer

    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(use, range(THREADS)))
    assert len(slow.built) == 1
    assert seen == [slow.inner] * THREADS


def test_property_overridden_is_not_built() -> None:
    slow = Slow()
    vars(slow)["outer"] = "other"
    assert slow.outer == "other"
    assert slow.built == []


def test_app_first_uses_at_once_build_one_app(monkeypatch: pytest.MonkeyPatch) -> None:
    start, meeting = threading.Barrier(THREADS), threading.Barrier(2)
    build_app = bootstrap.build_app

    def slowly(settings: Settings) -> App:
        with suppress(threading.BrokenBarrierError):  # no second thread came
            meeting.wait(0.2)
        return build_app(settings)

    def use(_: int) -> App:
        start.wait(10)
        return bootstrap.app()

    monkeypatch.setattr(bootstrap, "build_app", slowly)
    monkeypatch.setattr(bootstrap._Container, "app", None)
    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(use, range(THREADS)))
    assert len({id(app) for app in seen}) == 1


def test_adapters_are_all_lazy() -> None:
    """A plain cached property has no lock from Python 3.12 on."""
    names = [name for name in vars(Ports) if not name.startswith("_")]
    assert {type(getattr(Ports, name)) for name in names} == {lazy}
    inner = {
        "aws",
        "dynamodb",
        "extensions",
        "openai",
        "query_embeddings",
        "static_embeddings",
        "text_embeddings",
    }
    assert set(names) == ADAPTERS.keys() | inner
