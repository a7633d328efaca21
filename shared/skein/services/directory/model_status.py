"""The status of the model's provider, and what the operator should do about it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.errors import (
    KeyRefused,
    ModelRejected,
    ModelUnknown,
    SkeinError,
    Throttled,
    Transient,
    Unreachable,
)
from skein.ports import Clock, ModelList

STATUS_SECONDS = 3.0  # the time-out of the check, while an operator waits
CACHE_SECONDS = 30

ACTIONS: tuple[tuple[type[SkeinError], str, str], ...] = (
    (KeyRefused, "key_refused", "The provider refuses the API key. Set a valid key."),
    (ModelUnknown, "unknown_call", "The provider has no list of models. Check its base URL."),
    (Throttled, "throttled", "The provider asks Skein to slow down. Wait, or raise its limits."),
    (Unreachable, "unreachable", "There is no connection. Check the base URL and the network."),
    (Transient, "unavailable", "The provider is down or slow. Skein tries again by itself."),
    (ModelRejected, "rejected", "The provider refuses the request. Check its base URL."),
)


class ModelStatus(NamedTuple):
    """Whether the model's provider answers.

    Attributes:
        reachable: Whether the provider answers.
        code: A stable code of the error; None if there is no error.
        action: What the operator should do; None if there is no error.
        checked_at: When the provider was asked.
    """

    reachable: bool
    code: str | None
    action: str | None
    checked_at: datetime


@dataclass(slots=True, kw_only=True)
class ModelStatuses:
    """The service that asks the provider for its models, at most every 30 seconds."""

    model_list: ModelList
    clock: Clock
    _last: ModelStatus | None = field(default=None, init=False)

    def current(self) -> ModelStatus:
        """Return the status, which is at most 30 seconds old."""
        now = self.clock.now()
        if self._last is None or now - self._last.checked_at >= timedelta(seconds=CACHE_SECONDS):
            self._last = self._check(now)
        return self._last

    def _check(self, now: datetime) -> ModelStatus:
        try:
            self.model_list.models(seconds=STATUS_SECONDS)
        except (Transient, ModelRejected) as error:
            code, action = next(
                (code, action) for kind, code, action in ACTIONS if isinstance(error, kind)
            )
            return ModelStatus(reachable=False, code=code, action=action, checked_at=now)
        return ModelStatus(reachable=True, code=None, action=None, checked_at=now)
