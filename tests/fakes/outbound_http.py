"""A service of an operator in memory, which counts what it was asked to do."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skein.errors import SkeinError
from skein.models.common.http import HttpAnswer, HttpRequest

Answering = Callable[[HttpRequest], HttpAnswer]


def json_answer(value: Any, status: int = 200) -> HttpAnswer:
    """Return an answer with a JSON body."""
    return HttpAnswer(
        status=status, content_type="application/json", body=json.dumps(value).encode()
    )


@dataclass
class MemoryService:
    """A service that answers each request (see `skein.ports.OutboundHttp`).

    Attributes:
        answer: Returns the answer to a request.
        requests: All requests, in order.
        errors: The errors that the next requests raise, in turn, after they were counted; None for
            an answer.
        idempotent: Whether a repeated key has no second effect.
        effects: How often each key took effect.
    """

    answer: Answering = lambda _: json_answer({"state": "on its way"})
    requests: list[HttpRequest] = field(default_factory=list)
    errors: list[SkeinError | None] = field(default_factory=list)
    idempotent: bool = False
    effects: Counter[str] = field(default_factory=Counter)

    def send(self, request: HttpRequest, *, seconds: float) -> HttpAnswer:
        """See `skein.ports.OutboundHttp`."""
        if seconds <= 0:
            raise ValueError("the time-out must be positive")
        self.requests.append(request)
        key = request.headers.get("Idempotency-Key", "")
        if not (self.idempotent and self.effects[key]):
            self.effects[key] += 1
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return self.answer(request)
