"""The composition root: the only place where services meet adapters.

`ports.py` holds the adapters. `wiring.py` builds each service from the type hints of the service's
constructor. A function gets its service with `service(Turns)`. A test, or the local stack, passes
its own adapters: `build_app(settings, model=..., clock=...)`.
"""

import gc
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import TypeVar

from skein import tracing
from skein.bootstrap.ports import ADAPTERS, SHARED, Ports
from skein.bootstrap.wiring import App
from skein.settings import Settings

T = TypeVar("T")


def build_app(settings: Settings, **overrides: object) -> App:
    """Build the app from settings and adapters.

    Args:
        overrides: Adapters to use instead of the real ones; see `Ports`.

    Raises:
        TypeError: An override is not a port.
    """
    return App(Ports(settings, **overrides))


class _Container:
    """The state that one Lambda container, or one test, keeps between invocations."""

    app: App | None = None
    building: Lock = Lock()


def app() -> App:
    """Return the container's app; the first call builds the app from the environment."""
    if _Container.app is None:
        with _Container.building:
            if _Container.app is None:
                _Container.app = build_app(Settings.from_environment(os.environ))
                tracing.use(_Container.app.ports.tracer)
    return _Container.app


def service(kind: type[T]) -> T:
    """Return a service of the container's app; see `App.get`."""
    return app().get(kind)


def in_use() -> bool:
    """Return whether the container has an app, from the environment or from `use`."""
    return _Container.app is not None


def use(replacement: App | None) -> None:
    """Replace the app that handlers use; None restores the app built from the environment."""
    _Container.app = replacement
    tracing.use(replacement.ports.tracer if replacement is not None else None)


@contextmanager
def lasting() -> Iterator[None]:
    """Look for no garbage within the block, and never among the objects that exist at its end.

    What is imported in the block is no garbage. Each search would visit all of it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def load_adapters(*ports: str) -> None:
    """Import adapters and their libraries while Lambda starts a function.

    Lambda starts containers before they are needed, and with more CPU than they get later. So a
    function loads the adapters that every event needs; other adapters are imported by the first
    event that needs them. No connection is opened, and no setting is read. If the container already
    has an app, nothing is loaded, because that app may use other adapters (the local stack's does).

    Args:
        ports: The names of ports. The ports that every function needs (`SHARED`) are loaded, too.

    Raises:
        KeyError: There is no such port.
    """
    modules = [ADAPTERS[port] for port in (*SHARED, *ports)]
    if in_use():
        return
    seed_after_restore()
    with lasting():
        for module in modules:
            _load(f"skein.adapters.{module}")


def _load(name: str) -> None:
    """Import a module and its libraries, which may have libraries of their own."""
    for library in getattr(import_module(name), "LIBRARIES", ()):
        _load(library)


def seed_after_restore() -> None:
    """Seed the random numbers of each container that starts from a snapshot.

    Otherwise, all of these containers would wait equally long before they retry. The module that
    this function needs exists only in Lambda's runtime. Outside of Lambda, there are no snapshots.
    """
    if find_spec("snapshot_restore_py"):
        import_module("snapshot_restore_py").register_after_restore(random.seed)
