"""Parts of the app, built once at their first use, also with many threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import RLock

T = TypeVar("T")


class Whole(Protocol):
    """An object with parts.

    Attributes:
        building: The lock that is held while a part is built. It is reentrant, since a part is
            built from other parts.
    """

    building: RLock


class part(Generic[T]):  # noqa: N801 - a decorator
    """Make a method a property that is computed once per instance, at its first use.

    `functools.cached_property` does the same, but from Python 3.12 on it may compute a value twice
    when two threads read the property at once. One container could then have two connection pools,
    caches or circuit breakers.
    """

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self._name = build.__name__
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, whole: None, kind: type) -> Self: ...

    @overload
    def __get__(self, whole: Whole, kind: type | None = None) -> T: ...

    def __get__(self, whole: Whole | None, kind: type | None = None) -> Self | T:
        """Build the part unless another thread has built it; later reads skip this method."""
        if whole is None:
            return self
        parts = vars(whole)
        with whole.building:
            if self._name not in parts:
                parts[self._name] = self._build(whole)
        built: T = parts[self._name]
        return built
