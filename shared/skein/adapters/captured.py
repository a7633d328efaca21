"""Adapters of a world, in which a trial plays a script: they record calls, and send nothing."""

from collections.abc import Callable
from typing import Any

from skein.ports import CapturedCall

ANSWERS: dict[str, Callable[[], Any]] = {"nearest": list, "get": dict, "models": frozenset}


class Captured:
    """A stand-in for any port: each method records its call, and returns None or an empty answer.

    Args:
        port: The name of the port.
        calls: Where the calls are recorded.
    """

    def __init__(self, port: str, calls: list[CapturedCall]) -> None:
        self._port = port
        self._calls = calls

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def record(*arguments: Any, **_: Any) -> Any:
            self._calls.append(CapturedCall(self._port, method, arguments))
            return ANSWERS.get(method, lambda: None)()

        return record
