"""The work for one event endpoint: which lanes are sent, which wait, and the circuit breaker.

At most two workers send to one endpoint, so that a slow one does not hold the workers of all. A
lease ends with its dead worker, so its place becomes free without any cleanup.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from pydantic import Field

from skein.events.models.endpoint import endpoints_partition
from skein.models.common.base import Identifier, Stored, Tenant, key_part
from skein.models.common.breaker import CLOSED, Breaker
from skein.models.common.lease import Lease
from skein.models.common.storage import Item, Key, SortKeyPrefix

MAX_LANES = 2  # that are sent at the same time
MAX_WAITING = 50  # lanes; the tick sends the jobs of further ones again
LONGEST_PAUSE = timedelta(minutes=15)  # of the breaker


class EndpointWork(Stored):
    """The work for one endpoint.

    Attributes:
        held: The leases of the lanes that are sent.
        waiting: The lanes that wait for a place, in the order in which they came.
    """

    PREFIX: ClassVar = SortKeyPrefix("WORK#")

    tenant: Tenant
    endpoint_id: Identifier
    held: Mapping[Identifier, Lease] = Field(default_factory=dict)
    waiting: tuple[Identifier, ...] = ()
    breaker: Breaker = CLOSED
    version: int = 0

    @staticmethod
    def key_of(tenant: str, endpoint_id: str) -> Key:
        """Return the key of the work for an endpoint."""
        return Key(endpoints_partition(tenant), f"{EndpointWork.PREFIX}{key_part(endpoint_id)}")

    @property
    def key(self) -> Key:
        """The key of this work."""
        return self.key_of(self.tenant, self.endpoint_id)

    def begun(self, lane: str, lease: Lease, now: datetime) -> "EndpointWork":
        """Return the work with a lane that has a place, if one is free, and else waits."""
        work = self._without(lane, now)
        state = self.breaker.state(now)
        if state == "open" or len(work.held) == MAX_LANES:
            listed = lane in self.waiting
            waiting = self.waiting if listed else (*self.waiting, lane)[:MAX_WAITING]
            return work._replaced(waiting=waiting)
        breaker = self.breaker.probed(lease.until) if state == "half_open" else self.breaker
        return work._replaced(held={**work.held, lane: lease}, breaker=breaker)

    def renewed(self, lane: str, lease: Lease, now: datetime, *, failed: bool) -> "EndpointWork":
        """Return the work after a call for a lane, whose lease begins again."""
        work = self._called(now, failed=failed)
        current = self.held.get(lane)
        if current is None or current.fence != lease.fence:
            return work
        return work._replaced(held={**self.held, lane: lease})

    def ended(self, lane: str, fence: int, now: datetime, *, failed: bool | None) -> "EndpointWork":
        """Return the work after a worker has left a lane.

        Args:
            fence: That of the worker's lease.
            failed: Whether its last call failed; None if it made none.
        """
        work = self if failed is None else self._called(now, failed=failed)
        if failed is None and self.breaker.probing:
            work = work._replaced(breaker=self.breaker.unprobed(now))
        current = self.held.get(lane)
        if current is None or current.fence != fence:
            return work
        left = {name: lease for name, lease in self.held.items() if name != lane}
        return work._replaced(held=left)

    def wakened(self, now: datetime) -> tuple["EndpointWork", tuple[str, ...]]:
        """Return the work without the first lanes that need not wait any longer, and these."""
        places = {"closed": MAX_LANES, "half_open": 1, "open": 0}[self.breaker.state(now)]
        free = max(places - sum(lease.held(now) for lease in self.held.values()), 0)
        return self._replaced(waiting=self.waiting[free:]), self.waiting[:free]

    def to_item(self) -> Item:
        """Return the work as table attributes."""
        return self.attributes()

    def _called(self, now: datetime, *, failed: bool) -> "EndpointWork":
        breaker = self.breaker.failed(now, longest=LONGEST_PAUSE) if failed else CLOSED
        return self._replaced(breaker=breaker)

    def _without(self, lane: str, now: datetime) -> "EndpointWork":
        live = {name: each for name, each in self.held.items() if name != lane and each.held(now)}
        return self._replaced(
            held=live, waiting=tuple(each for each in self.waiting if each != lane)
        )

    def _replaced(self, **changes: Any) -> "EndpointWork":
        return self.model_copy(update=changes)
