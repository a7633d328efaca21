"""The lanes of one event endpoint: which are sent, which wait, and the circuit breaker.

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
MAX_PAUSE = timedelta(minutes=15)  # of the breaker


class EndpointLanes(Stored):
    """The lanes of one endpoint, as far as they are sent or wait.

    Attributes:
        held: The leases of the lanes that are sent.
        waiting: The lanes that wait for a place, in the order in which they came.
    """

    PREFIX: ClassVar = SortKeyPrefix("LANES#")

    tenant: Tenant
    endpoint_id: Identifier
    held: Mapping[Identifier, Lease] = Field(default_factory=dict)
    waiting: tuple[Identifier, ...] = ()
    breaker: Breaker = CLOSED
    version: int = 0

    @staticmethod
    def key_of(tenant: str, endpoint_id: str) -> Key:
        """Return the key of the lanes of an endpoint."""
        return Key(endpoints_partition(tenant), f"{EndpointLanes.PREFIX}{key_part(endpoint_id)}")

    @property
    def key(self) -> Key:
        """The key of these lanes."""
        return self.key_of(self.tenant, self.endpoint_id)

    def begun(self, lane: str, lease: Lease, now: datetime) -> "EndpointLanes":
        """Return the lanes with one more that is sent if there is a place, and else waits."""
        lanes = self._without(lane, now)
        state = self.breaker.state(now)
        if state == "open" or len(lanes.held) == MAX_LANES:
            listed = lane in self.waiting
            waiting = self.waiting if listed else (*self.waiting, lane)[:MAX_WAITING]
            return lanes._replaced(waiting=waiting)
        breaker = self.breaker.probed(lease.until) if state == "half_open" else self.breaker
        return lanes._replaced(held={**lanes.held, lane: lease}, breaker=breaker)

    def renewed(self, lane: str, lease: Lease, now: datetime, *, failed: bool) -> "EndpointLanes":
        """Return the lanes after a call for one of them, whose lease begins again."""
        lanes = self._called(now, failed=failed)
        current = self.held.get(lane)
        if current is None or current.fence != lease.fence:
            return lanes
        return lanes._replaced(held={**self.held, lane: lease})

    def ended(
        self, lane: str, fence: int, now: datetime, *, failed: bool | None
    ) -> "EndpointLanes":
        """Return the lanes after a worker has left one of them.

        Args:
            fence: That of the worker's lease.
            failed: Whether its last call failed; None if it made none.
        """
        lanes = self if failed is None else self._called(now, failed=failed)
        if failed is None and self.breaker.probing:
            lanes = lanes._replaced(breaker=self.breaker.unprobed(now))
        current = self.held.get(lane)
        if current is None or current.fence != fence:
            return lanes
        left = {name: lease for name, lease in self.held.items() if name != lane}
        return lanes._replaced(held=left)

    def wakened(self, now: datetime) -> tuple["EndpointLanes", tuple[str, ...]]:
        """Return the lanes without the first ones that need not wait any longer, and these."""
        allowed = {"closed": MAX_LANES, "half_open": 1, "open": 0}[self.breaker.state(now)]
        free = max(allowed - sum(lease.held(now) for lease in self.held.values()), 0)
        return self._replaced(waiting=self.waiting[free:]), self.waiting[:free]

    def to_item(self) -> Item:
        """Return the lanes as table attributes."""
        return self.attributes()

    def _called(self, now: datetime, *, failed: bool) -> "EndpointLanes":
        breaker = self.breaker.failed(now, longest=MAX_PAUSE) if failed else CLOSED
        return self._replaced(breaker=breaker)

    def _without(self, lane: str, now: datetime) -> "EndpointLanes":
        live = {name: each for name, each in self.held.items() if name != lane and each.held(now)}
        return self._replaced(
            held=live, waiting=tuple(each for each in self.waiting if each != lane)
        )

    def _replaced(self, **changes: Any) -> "EndpointLanes":
        return self.model_copy(update=changes)
