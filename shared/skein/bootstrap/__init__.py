"""The composition root: the only place where services meet adapters.

`ports.py` holds the adapters. `wiring.py` builds each service from the type hints of the service's
constructor. A function gets its service with `service(Turns)`. A test, or the local stack, passes
its own adapters: `build_app(settings, model=..., clock=...)`.
"""

import os
from threading import Lock
from typing import TypeVar

from skein import tracing
from skein.bootstrap.ports import Ports
from skein.bootstrap.wiring import App
from skein.settings import Settings

T = TypeVar("T")


def build_app(settings: Settings, **overrides: object) -> App:
    """Build the app from settings and adapters.

    Args:
        overrides: Adapters to use instead of the real ones; see `Ports`.

    Raises:
        TypeError: An override is no port.
    """
    return App(Ports(settings, **overrides))


class _Container:
    """The state that one Lambda container, or one test, keeps between invocations."""

    app: App | None = None
    building: Lock = Lock()


def app() -> App:
    """Return the container's app; it is built once, from the environment, at the first call."""
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
