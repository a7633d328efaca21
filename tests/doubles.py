"""A scripted model, and a death or an error that can strike at any call to the outside."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from skein.models.completion import ModelAnswer, ModelRequest, TokenUsage

Script = str | Exception | Callable[[ModelRequest], str]


@dataclass
class ScriptedModel:
    """Answers what a test scripted, in order; then `default`, and without one it fails the test.

    Attributes:
        requests: Everything it was asked.
    """

    script: deque[Script] = field(default_factory=deque)
    default: Script | None = None
    requests: list[ModelRequest] = field(default_factory=list)

    @classmethod
    def saying(cls, *script: Script, default: Script | None = None) -> "ScriptedModel":
        return cls(deque(script), default)

    def complete(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        said = self.script.popleft() if self.script else self.default
        if said is None:
            raise AssertionError("the model was asked more often than the test scripted")
        if isinstance(said, Exception):
            raise said
        text = said if isinstance(said, str) else said(request)
        return ModelAnswer(
            model=request.model, text=text, usage=TokenUsage(input_tokens=10, output_tokens=5)
        )


class Killed(BaseException):
    """The process is gone; no handler of exceptions may notice."""


class Fuse:
    """Strikes at the n-th call to the outside, before or after it takes effect.

    It kills the process, which then reaches nothing more outside; or, armed with an error, it lets
    that one call fail. One fuse is shared by all ports of a world, so that `n` counts the calls to
    any of them.

    Attributes:
        calls: The names of the calls since it was armed.
        dead: The process has been killed.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.strike: int | None = None
        self.after = False
        self.error: Exception | None = None
        self.dead = False
        self._lock = threading.Lock()  # some reads are parallel

    def arm(self, strike: int, *, after: bool, error: Exception | None = None) -> None:
        self.disarm()
        self.strike = strike
        self.after = after
        self.error = error

    def disarm(self) -> None:
        self.calls.clear()
        self.strike = None
        self.error = None
        self.dead = False

    def guard(self, port: object, name: str, methods: Sequence[str]) -> "Fused":
        return Fused(self, port, name, frozenset(methods))

    def carry(self, what: str, call: Callable[[], Any]) -> Any:
        with self._lock:
            if self.dead:
                raise Killed(what)
            self.calls.append(what)
            struck = len(self.calls) == self.strike
            self.dead = struck and self.error is None
        if struck and not self.after:
            raise self.error or Killed(what)
        result = call()
        if struck:
            raise self.error or Killed(what)
        return result


class Fused:
    """A port whose calls go through a fuse."""

    def __init__(self, fuse: Fuse, port: object, name: str, methods: frozenset[str]) -> None:
        self._fuse = fuse
        self._port = port
        self._name = name
        self._methods = methods

    def __getattr__(self, method: str) -> Any:
        target = getattr(self._port, method)
        if method not in self._methods:
            return target
        return lambda *args, **kwargs: self._fuse.carry(
            f"{self._name}.{method}", lambda: target(*args, **kwargs)
        )
