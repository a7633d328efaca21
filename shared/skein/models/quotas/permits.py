"""Permits: which of an owner's runs may work, which wait, and how many tokens they reserve.

An owner is a person, an agent, or a shard of a tenant. A permit expires with the lease of its run,
so a worker that dies does not keep its permit. A permit that is given back goes to the oldest
waiting run.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Value

MAX_WAITING = 50  # waiting runs of one owner; further runs retry by themselves
GRANT = timedelta(seconds=30)  # the time in which a woken run must be claimed
WAIT = timedelta(minutes=5)  # the time after which a waiting run is forgotten unless it tries again


class Permit(Value):
    """The permit of a run.

    Attributes:
        tokens: The reserved tokens; 0 for none.
    """

    until: Instant
    tokens: int = 0


class WaitingRun(Value):
    """A run that waits for a permit, with the tokens that it wants to reserve."""

    created_at: Instant
    run_id: Identifier
    agent_id: Identifier
    until: Instant
    tokens: int = 0


class PermitLimit(NamedTuple):
    """The limits within which permits are granted.

    Attributes:
        runs: The limit of runs at work; 0 for no limit.
        tokens: The tokens that the owner may still use; None for no limit.
    """

    runs: int
    tokens: float | None = None


class Permits(Value):
    """The permits of one owner.

    Attributes:
        held: The permits, by run.
        waiting: The runs that wait, in the order of their creation.
    """

    held: Mapping[Identifier, Permit] = Field(default_factory=dict)
    waiting: Annotated[tuple[WaitingRun, ...], Field(max_length=MAX_WAITING)] = ()

    @property
    def last_until(self) -> datetime | None:
        """When the last permit or wait for a permit expires; None if there are none."""
        moments = [permit.until for permit in self.held.values()]
        return max((*moments, *(run.until for run in self.waiting)), default=None)

    def reserved(self, *, without: str | None = None) -> int:
        """Return the sum of the reserved tokens, without those of the run `without`."""
        return sum(permit.tokens for run_id, permit in self.held.items() if run_id != without)

    def waits(self, run_id: str) -> bool:
        return any(each.run_id == run_id for each in self.waiting)

    def take(
        self, run: WaitingRun, limit: PermitLimit, until: datetime, now: datetime
    ) -> "ChangedPermits":
        """Give a run a permit that expires at `until`, or let the run wait.

        A run that was created before other waiting runs gets its permit before them.
        """
        live = self._live(now)
        if run.run_id in live.held:
            permit = Permit(until=until, tokens=run.tokens)
            return ChangedPermits(live._replaced(held={**live.held, run.run_id: permit}), ())
        if not live.waits(run.run_id):
            waiting = sorted((*live.waiting, run), key=_created)
            live = live._replaced(waiting=tuple(waiting))
        permits, granted = live._promoted(limit, now)
        if run.run_id in permits.held:
            permit = Permit(until=until, tokens=run.tokens)
            permits = permits._replaced(held={**permits.held, run.run_id: permit})
        else:
            permits = permits._replaced(waiting=permits._renewed(run, now)[:MAX_WAITING])
        return ChangedPermits(permits, tuple(each for each in granted if each.run_id != run.run_id))

    def give_back(self, run_id: str, limit: PermitLimit, now: datetime) -> "ChangedPermits":
        """Remove a run. Waiting runs get the permits that this frees."""
        if run_id not in self.held and not self.waits(run_id):
            return ChangedPermits(self, ())
        live = self._live(now)
        held = {name: permit for name, permit in live.held.items() if name != run_id}
        waiting = tuple(each for each in live.waiting if each.run_id != run_id)
        return live._replaced(held=held, waiting=waiting)._promoted(limit, now)

    def without_tokens(self, run_id: str) -> "Permits":
        """Release the reservation of a run, which keeps its permit."""
        permit = self.held[run_id].model_copy(update={"tokens": 0})
        return self._replaced(held={**self.held, run_id: permit})

    def _live(self, now: datetime) -> "Permits":
        held = {name: permit for name, permit in self.held.items() if permit.until > now}
        waiting = tuple(each for each in self.waiting if each.until > now)
        return self._replaced(held=held, waiting=waiting)

    def _renewed(self, run: WaitingRun, now: datetime) -> tuple[WaitingRun, ...]:
        """Return the waiting runs, with a new expiry for `run` if half of its time has passed."""
        return tuple(
            run if each.run_id == run.run_id and each.until - now < WAIT / 2 else each
            for each in self.waiting
        )

    def _promoted(self, limit: PermitLimit, now: datetime) -> "ChangedPermits":
        held, waiting = dict(self.held), list(self.waiting)
        granted: list[WaitingRun] = []
        reserved = self.reserved()
        while waiting and _has_room(limit, len(held), reserved):
            first = waiting.pop(0)
            held[first.run_id] = Permit(until=now + GRANT, tokens=first.tokens)
            reserved += first.tokens
            granted.append(first)
        return ChangedPermits(self._replaced(held=held, waiting=tuple(waiting)), tuple(granted))

    def _replaced(
        self,
        *,
        held: Mapping[str, Permit] | None = None,
        waiting: tuple[WaitingRun, ...] | None = None,
    ) -> "Permits":
        return self.model_copy(
            update={
                "held": self.held if held is None else held,
                "waiting": self.waiting if waiting is None else waiting,
            }
        )


class ChangedPermits(NamedTuple):
    """Changed permits, and the waiting runs that received a permit."""

    permits: Permits
    granted: tuple[WaitingRun, ...]


NO_PERMITS = Permits()


def _created(run: WaitingRun) -> tuple[datetime, str]:
    """Return the key by which waiting runs are sorted."""
    return run.created_at, run.run_id


def _has_room(limit: PermitLimit, held: int, reserved: int) -> bool:
    """Return whether one more run may work.

    A run may reserve more tokens than the limit leaves, if at least one token is left or if no run
    has a reservation yet.
    """
    if limit.runs and held >= limit.runs:
        return False
    return limit.tokens is None or not reserved or limit.tokens > reserved
