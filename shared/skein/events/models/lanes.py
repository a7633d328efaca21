"""The lanes of one event endpoint: which are being sent, which wait, and the circuit breaker.

At most two workers send to one endpoint at a time, so that a slow endpoint does not occupy all
workers. If a worker dies, its place becomes free when its lease expires.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from pydantic import Field

from skein.events.models.endpoint import endpoints_partition
from skein.models.common.base import Identifier, Stored, Tenant, key_part
from skein.models.common.breaker import CLOSED, Breaker
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.outbox.due import Lease

MAX_LANES = 2  # lanes that are sent at the same time
MAX_WAITING = 50  # waiting lanes that are listed; the tick sends the jobs of others again
MAX_PAUSE = timedelta(minutes=15)  # longest pause of the circuit breaker


class EndpointLanes(Stored):
    """The lanes of one endpoint that are being sent or wait to be sent.

    Attributes:
        held: The leases of the lanes that are being sent.
        waiting: The lanes that wait for a free place, in order of arrival.
    """

    PREFIX: ClassVar = SortKeyPrefix("LANES#")

    tenant: Tenant
    endpoint_id: Identifier
    held: Mapping[Identifier, Lease] = Field(default_factory=dict)
    waiting: tuple[Identifier, ...] = ()
    breaker: Breaker = CLOSED
    version: int = 0

    @staticmethod
    def key_of(tenant: str, endpoint_id: str) -> "Key[EndpointLanes]":
        return Key(endpoints_partition(tenant), f"{EndpointLanes.PREFIX}{key_part(endpoint_id)}")

    @property
    def key(self) -> "Key[EndpointLanes]":
        return self.key_of(self.tenant, self.endpoint_id)

    def begun(self, lane: str, until: datetime, now: datetime) -> "EndpointLanes":
        """Add a lane: it gets a lease if a place is free, and otherwise it waits.

        A lane that another worker is sending does not change. The fencing token of a lease is the
        version of this item, so each claim of a lane has a token of its own.
        """
        live = {name: lease for name, lease in self.held.items() if lease.held(now)}
        if lane in live:
            return self
        state = self.breaker.state(now)
        if state == "open" or len(live) == MAX_LANES:
            listed = lane in self.waiting
            waiting = self.waiting if listed else (*self.waiting, lane)[:MAX_WAITING]
            return self.model_copy(update={"held": live, "waiting": waiting})
        return self.model_copy(
            update={
                "held": {**live, lane: Lease(fence=self.version + 1, until=until)},
                "waiting": tuple(each for each in self.waiting if each != lane),
                "breaker": self.breaker.probed(until) if state == "half_open" else self.breaker,
            }
        )

    def called(self, *, failed: bool, now: datetime) -> "EndpointLanes":
        """Return the lanes after a call to the endpoint, with the circuit breaker updated."""
        breaker = self.breaker.failed(now, longest=MAX_PAUSE) if failed else CLOSED
        return self.model_copy(update={"breaker": breaker})

    def renewed(self, lane: str, fence: int, until: datetime) -> "EndpointLanes":
        """Return the lanes with one lease extended, if its worker still has the lane."""
        if not self._has(lane, fence):
            return self
        return self.model_copy(
            update={"held": {**self.held, lane: Lease(fence=fence, until=until)}}
        )

    def ended(self, lane: str, fence: int, now: datetime) -> "EndpointLanes":
        """Return the lanes after a worker has stopped sending the events of `lane`."""
        lanes = self
        if self.breaker.probing:
            lanes = lanes.model_copy(update={"breaker": self.breaker.unprobed(now)})
        if not self._has(lane, fence):
            return lanes
        left = {name: lease for name, lease in self.held.items() if name != lane}
        return lanes.model_copy(update={"held": left})

    def wakened(self, now: datetime) -> tuple["EndpointLanes", tuple[str, ...]]:
        """Remove the waiting lanes that may be sent now; return the result and their names."""
        allowed = {"closed": MAX_LANES, "half_open": 1, "open": 0}[self.breaker.state(now)]
        free = max(allowed - sum(lease.held(now) for lease in self.held.values()), 0)
        return self.model_copy(update={"waiting": self.waiting[free:]}), self.waiting[:free]

    def to_item(self) -> Item:
        return self.attributes()

    def _has(self, lane: str, fence: int) -> bool:
        lease = self.held.get(lane)
        return lease is not None and lease.fence == fence
