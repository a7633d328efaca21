"""The composition root: the only place where services are connected to adapters.

`ports.py` holds the adapters, which all functions share. Each worker and webhook has one module,
whose class builds the function's services from `Ports`; importing the module loads exactly what the
function uses. `api.py` builds the services of the two HTTP APIs, each at its first use. A test, or
the local stack, passes its own adapters: `build_app(settings, model=..., clock=...)`.
"""

import os
from collections.abc import Callable
from threading import Lock, RLock
from typing import Any, TypeVar

from skein import tracing
from skein.bootstrap.ports import Ports
from skein.settings import Settings

T = TypeVar("T")


class App:
    """All of Skein in one container: ports, and the compositions that were built from them.

    Attributes:
        ports: The settings and the adapters.
    """

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self._building = RLock()
        self._built: dict[Callable[[Ports], Any], Any] = {}

    def get(self, composition: Callable[[Ports], T]) -> T:
        """Return a function's services, such as `RunWorker`; they are built at the first call."""
        with self._building:
            if composition not in self._built:
                self._built[composition] = composition(self.ports)
        services: T = self._built[composition]
        return services


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


def in_use() -> bool:
    """Return whether the container has an app, from the environment or from `use`."""
    return _Container.app is not None


def use(replacement: App | None) -> None:
    """Replace the app that handlers use; None restores the app built from the environment."""
    _Container.app = replacement
    tracing.use(replacement.ports.tracer if replacement is not None else None)
