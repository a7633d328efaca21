"""Build each service of an app from the type hints of the service's constructor.

A parameter receives the port or the service of its type. A parameter of the type `Callable[[], T]`
receives a function that returns a `T`, which is built at the first call of the function. A
parameter of the type `Services` receives the app itself. A parameter with a default keeps the
default.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from inspect import Parameter, signature
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args, get_origin

from skein.bootstrap.ports import APP, Ports, port_types, ports_of_world
from skein.joint_writes import JointTable

if TYPE_CHECKING:
    from skein.ports import CapturedCall

T = TypeVar("T")
TABLE = "table"  # the port whose transactions other writes may join


class Unwired(TypeError):
    """A service cannot be built: a parameter has an unknown type, or services need each other."""


class App:
    """Skein in one Lambda container: the ports, and the services that are built from them.

    Attributes:
        ports: The settings and the adapters.
    """

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self._lock = RLock()  # reentrant, since a service is built from other services
        self._built: dict[type, Any] = {}
        self._building: list[type] = []

    def get(self, kind: type[T]) -> T:
        """Return the service of a type; the service is built once, at the first call.

        Raises:
            Unwired: The service cannot be built.
        """
        with self._lock:
            if kind not in self._built:
                self._built[kind] = self._build(kind)
            service: T = self._built[kind]
        return service

    def world(
        self, captured: "list[CapturedCall]", given: Mapping[type, Any], **ports: object
    ) -> "App":
        """Return an app on tables in memory, which sends nothing; see `Services.world`."""
        made = App(ports_of_world(self.ports, captured, **ports))
        made._built.update(given)
        return made

    def _build(self, kind: type) -> Any:
        self._building.append(kind)
        try:
            if kind in self._building[:-1]:
                raise Unwired(f"{self._path()}: a service needs itself")
            given = {name: self._given(name, hint) for name, hint in _needs(kind).items()}
            return kind(**given)
        finally:
            self._building.pop()

    def _given(self, name: str, hint: Any) -> Any:
        """Return the value of a parameter.

        Args:
            name: The name of the parameter.
            hint: The type of the parameter.
        """
        if get_origin(hint) is Callable and get_args(hint)[:-1] == ([],):
            return partial(self._given, name, get_args(hint)[-1])
        port = port_types().get(hint)
        if port is not None:
            if port == TABLE:
                return JointTable(self.ports.table)
            return self if port == APP else getattr(self.ports, port)
        if not _is_service(hint):
            raise Unwired(f"{self._path()}: no port or service has the type of {name}: {hint}")
        return self.get(hint)

    def _path(self) -> str:
        return " -> ".join(kind.__name__ for kind in self._building)


@cache
def _needs(kind: type) -> Mapping[str, Any]:
    """Return the types of a constructor's parameters without a default, by name."""
    parameters = signature(kind, eval_str=True).parameters.values()
    return {each.name: each.annotation for each in parameters if each.default is Parameter.empty}


def _is_service(hint: Any) -> bool:
    """Return whether a type is a class of Skein that can be built."""
    if not isinstance(hint, type) or Protocol in hint.__bases__:
        return False
    return hint.__module__.startswith("skein.")
