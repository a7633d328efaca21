"""Parts of the app are built once, also where many threads ask for them at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from skein import bootstrap
from skein.bootstrap.part import part
from skein.settings import Settings

THREADS = 8


class Slow:
    """Something with a part whose first thread waits for a second one to build it, too."""

    def __init__(self) -> None:
        self.building = threading.RLock()
        self.built: list[object] = []
        self._meeting = threading.Barrier(2)

    @part
    def inner(self) -> object:
        """What the other part is made of."""
        return object()

    @part
    def outer(self) -> object:
        """A part that is slow to build."""
        with suppress(threading.BrokenBarrierError):  # no second thread came
            self._meeting.wait(0.2)
        self.built.append(self.inner)
        return self.inner


def test_part_first_uses_at_once_build_it_once() -> None:
    slow, start = Slow(), threading.Barrier(THREADS)

    def use(_: int) -> object:
        start.wait(10)
        return slow.outer

    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(use, range(THREADS)))
    assert len(slow.built) == 1
    assert seen == [slow.inner] * THREADS


def test_part_overridden_is_not_built() -> None:
    slow = Slow()
    vars(slow)["outer"] = "other"
    assert slow.outer == "other"
    assert slow.built == []


def test_app_first_uses_at_once_build_one_app(monkeypatch: pytest.MonkeyPatch) -> None:
    start, meeting = threading.Barrier(THREADS), threading.Barrier(2)
    build_app = bootstrap.build_app

    def slowly(settings: Settings) -> bootstrap.App:
        with suppress(threading.BrokenBarrierError):  # no second thread came
            meeting.wait(0.2)
        return build_app(settings)

    def use(_: int) -> bootstrap.App:
        start.wait(10)
        return bootstrap.app()

    monkeypatch.setattr(bootstrap, "build_app", slowly)
    monkeypatch.setattr(bootstrap._Container, "app", None)
    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(use, range(THREADS)))
    assert len({id(app) for app in seen}) == 1


def test_app_parts_are_all_built_under_its_lock() -> None:
    """A plain cached property has no lock from Python 3.12 on."""
    kept = vars(bootstrap.App).keys() | {"model", "table", "secrets", "aws", "context_table"}
    names = [name for name in kept if not name.startswith("_")]
    assert {type(getattr(bootstrap.App, name)) for name in names} == {part}
