"""Thread-safe properties that are built once, when they are first used."""

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, Protocol, Self, TypeVar, overload

T = TypeVar("T")


class Owner(Protocol):
    """An object with lazy properties.

    Attributes:
        building: The lock that is held while a property is built. It is reentrant, since a property
            is built from other properties.
    """

    building: RLock


class lazy(Generic[T]):  # noqa: N801 - a decorator
    """Turn a method into a property that is computed once per instance, when it is first used.

    `functools.cached_property` does the same, but from Python 3.12 on it may compute a value twice
    when two threads read the property at once. One container could then have two connection pools,
    caches or circuit breakers.
    """

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self._name = build.__name__
        self.__doc__ = build.__doc__

    @property
    def type_name(self) -> str:
        """The name of the value's type, from the method's return annotation."""
        return str(self._build.__annotations__["return"])

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(self, owner: Owner, kind: type | None = None) -> T: ...

    def __get__(self, owner: Owner | None, kind: type | None = None) -> Self | T:
        """Build the value unless another thread has built it; later reads skip this method."""
        if owner is None:
            return self
        values = vars(owner)
        with owner.building:
            if self._name not in values:
                values[self._name] = self._build(owner)
        value: T = values[self._name]
        return value
