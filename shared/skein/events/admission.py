"""Let at most two woken of an endpoint be sent at the same time, and none to one that fails."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from skein.events.models.event import EventLane
from skein.events.models.lanes import EndpointLanes
from skein.models.common.breaker import CLOSED
from skein.models.common.lease import Lease
from skein.models.common.storage import Put, at_version
from skein.models.outbox.jobs import EventJob
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import known_first, optimistic
from skein.services.outbox.dispatch import Dispatch

LEASE = timedelta(seconds=60)  # renewed before each call, which takes ten seconds

logger = logging.getLogger(__name__)

Step = Callable[[EndpointLanes], EndpointLanes]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneAdmission:
    """The service that lets the lanes of an endpoint be sent in turn.

    A lane that must wait is sent once a place is free. If that job is lost, the tick sends it.
    """

    table: Table
    clock: Clock
    dispatch: Dispatch
    metrics: Metrics

    def admit(self, lane: EventLane, lanes: EndpointLanes) -> EndpointLanes | None:
        """Give a claimed lane a place until its lease ends; return None if it must wait.

        Args:
            lane: The lane as its claim would write it.
            lanes: The lanes of its endpoint, as they were read.
        """
        now = self.clock.now()
        changed = self._write(lanes, lambda known: known.begun(lane.lane, _lease(lane), now))
        return changed if lane.lane in changed.held else None

    def renew(self, lane: EventLane, lanes: EndpointLanes, *, failed: bool) -> EndpointLanes:
        """Record a call for a lane, and renew its lease if half of that has passed."""
        now = self.clock.now()
        lease = lanes.held.get(lane.lane)
        fresh = lease is not None and lease.until - now > LEASE / 2
        if fresh and not failed and lanes.breaker == CLOSED:
            return lanes
        longer = Lease(fence=lane.fence, until=now + LEASE)
        return self._write(
            lanes, lambda known: known.renewed(lane.lane, longer, now, failed=failed)
        )

    def leave(self, lane: EventLane, lanes: EndpointLanes, *, failed: bool | None) -> None:
        """Free the place of a lane for the lanes that wait.

        Args:
            failed: Whether its last call failed; None if it made none.
        """
        now = self.clock.now()
        self._write(lanes, lambda known: known.ended(lane.lane, lane.fence, now, failed=failed))

    def _write(self, lanes: EndpointLanes, step: Step) -> EndpointLanes:
        """Change which lanes are sent, and send the jobs of those that need not wait any longer."""
        read = known_first(lanes, lambda: self._read(lanes))

        def attempt() -> tuple[EndpointLanes, EndpointLanes, tuple[str, ...]]:
            known = read()
            changed, woken = step(known).wakened(self.clock.now())
            if changed != known:
                changed = changed.model_copy(update={"version": known.version + 1})
                self.table.write(Put(changed.key, changed.to_item(), at_version(known.version)))
            return known, changed, woken

        known, changed, woken = optimistic(self.clock, attempt, finds_own_write=True)
        if known.breaker.open_until is None and changed.breaker.open_until is not None:
            named = {"tenant": changed.tenant, "endpoint": changed.endpoint_id}
            logger.warning("circuit breaker of an endpoint opened", extra=named)
            self.metrics.count("CircuitsOpened")
        if woken:
            self.dispatch.send(
                [
                    EventJob(tenant=changed.tenant, endpoint_id=changed.endpoint_id, lane=lane)
                    for lane in woken
                ]
            )
        return changed

    def _read(self, lanes: EndpointLanes) -> EndpointLanes:
        item = self.table.get(lanes.key)
        if item is None:
            return EndpointLanes(tenant=lanes.tenant, endpoint_id=lanes.endpoint_id)
        return EndpointLanes.from_item(item)


def _lease(lane: EventLane) -> Lease:
    """Return the lease of a lane that was claimed."""
    if lane.busy_until is None:
        raise ValueError("the lane is not claimed")
    return Lease(fence=lane.fence, until=lane.busy_until)
