"""Pauses: switches that hold work back, for a tenant or for the whole stack.

A pause is stored with the settings of its tenant or of the stack, which the workers read anyway.
Work of a tenant is paused if the tenant or the stack has paused it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, Self, get_args

from skein.models.common.base import Instant, Stored
from skein.models.common.storage import Key
from skein.models.outbox.due import NOT_DUE, due_pointer

PauseKind = Literal["runs", "texts", "background"]
"""What can be paused: the runs of agents, SMS, or summaries and memories."""
PAUSE_KINDS: tuple[PauseKind, ...] = get_args(PauseKind)

FORGOTTEN_AFTER = timedelta(days=1)
REMIND_EVERY = timedelta(hours=1)
RESUME_EVERY = timedelta(minutes=1)
# A worker that read the pause just before its end can still hold work back until its invocation
# ends. So the tick looks for such work for longer than any invocation lasts.
RESUMING = timedelta(minutes=20)


class Pauses(Stored):
    """The pauses of a tenant or of the stack.

    Attributes:
        since: When the pause of each kind of work began; work without an entry is not paused.
        ended_at: When the newest pause ended; cleared once the tick has resumed all work that the
            pause held back.
    """

    since: Mapping[str, Instant] = {}
    ended_at: Instant | None = None

    def pauses(self, kind: PauseKind) -> bool:
        return kind in self.since

    def with_pause(self, kind: PauseKind, *, on: bool, now: datetime) -> Self:
        """Return the pauses after a kind of work is paused (`on`) or resumed."""
        if on == self.pauses(kind):
            return self
        if on:
            return Pauses.model_copy(self, update={"since": {**self.since, kind: now}})
        left = {name: at for name, at in self.since.items() if name != kind}
        return Pauses.model_copy(self, update={"since": left, "ended_at": now})

    def forgotten(self, now: datetime) -> tuple[str, ...]:
        """Return the kinds of work that have been paused for more than a day."""
        return tuple(name for name, at in self.since.items() if now - at > FORGOTTEN_AFTER)

    def due(self, key: Key, now: datetime) -> dict[str, Any]:
        """Return the due pointer with which the tick next finds the item that stores these pauses.

        The tick checks the item right after a pause has ended, and when a pause is a day old.
        """
        if self.ended_at is not None:
            return due_pointer("pause", key, now)
        if not self.since:
            return dict(NOT_DUE)
        return due_pointer("pause", key, min(self.since.values()) + FORGOTTEN_AFTER)

    def due_again(self, key: Key, now: datetime) -> dict[str, Any]:
        """Return the attributes that say when the tick has to check this item next."""
        if self.ended_at is not None:
            return due_pointer("pause", key, now + RESUME_EVERY)
        if self.forgotten(now):
            return due_pointer("pause", key, now + REMIND_EVERY)
        return self.due(key, now)


NO_PAUSES = Pauses()
