"""Send at most two lanes of an endpoint at a time, and none while the endpoint keeps failing."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from skein.events.models.lanes import EndpointLanes
from skein.models.common.breaker import CLOSED
from skein.models.common.storage import Put, at_version
from skein.models.outbox.jobs import EventJob
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import known_first, optimistic
from skein.services.outbox.dispatch import Dispatch

LEASE = timedelta(seconds=60)  # renewed before each call, which takes ten seconds

logger = logging.getLogger(__name__)

Step = Callable[[EndpointLanes], EndpointLanes]


@dataclass(slots=True)
class LaneLease:
    """The lease of a worker that sends a lane to its endpoint.

    Attributes:
        lanes: The lanes of the endpoint, as this worker last wrote them.
        fence: The fencing token of the lease.
        failed: Whether the last call failed; None if its result is already recorded, or before the
            first call.
    """

    lane: str
    lanes: EndpointLanes
    fence: int
    failed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneAdmission:
    """The service that decides which lanes of an endpoint may be sent.

    Each endpoint has two places for lanes. When a place becomes free, the job of a waiting lane is
    sent. If the job is lost, the tick sends it again.
    """

    table: Table
    clock: Clock
    dispatch: Dispatch
    metrics: Metrics

    def admit(self, lane: str, lanes: EndpointLanes) -> LaneLease | None:
        """Give a lane a lease on one of the endpoint's places; None if the lane must wait.

        Args:
            lane: The name of the lane, which is the subject of its events.
            lanes: The lanes of the endpoint, as they were read.

        Raises:
            Ambiguous: The outcome of the write is unknown. If the write gave a lease, the lease
                expires unused.
        """
        now = self.clock.now()
        before, after = self._write(lanes, lambda known: known.begun(lane, now + LEASE, now))
        current = after.held.get(lane)
        if current is None or current.fence != before.version + 1:
            return None
        return LaneLease(lane, after, current.fence)

    def renew(self, lease: LaneLease) -> None:
        """If needed, record the last call to the endpoint, and renew the lane's lease."""
        now, failed = self.clock.now(), lease.failed
        if failed is None:
            return
        current = lease.lanes.held.get(lease.lane)
        fresh = current is not None and current.until - now > LEASE / 2
        if fresh and not failed and lease.lanes.breaker == CLOSED:
            return  # a success is recorded when the worker leaves
        _, lease.lanes = self._write(
            lease.lanes,
            lambda known: known.called(failed=failed, now=now).renewed(
                lease.lane, lease.fence, now + LEASE
            ),
            finds_own_write=True,
        )
        lease.failed = None if failed else False

    def leave(self, lease: LaneLease) -> None:
        """Give up a lane's place, so that another lane can be sent."""
        now, failed = self.clock.now(), lease.failed

        def left(known: EndpointLanes) -> EndpointLanes:
            after = known if failed is None else known.called(failed=failed, now=now)
            return after.ended(lease.lane, lease.fence, now)

        self._write(lease.lanes, left, finds_own_write=True)

    def _write(
        self, lanes: EndpointLanes, step: Step, *, finds_own_write: bool = False
    ) -> tuple[EndpointLanes, EndpointLanes]:
        """Change an endpoint's lanes, and send the jobs of the lanes that may be sent now.

        Returns:
            The lanes before and after the change.
        """
        read = known_first(lanes, lambda: self._read(lanes))

        def attempt() -> tuple[EndpointLanes, EndpointLanes, tuple[str, ...]]:
            known = read()
            changed, woken = step(known).wakened(self.clock.now())
            if changed != known:
                changed = changed.model_copy(update={"version": known.version + 1})
                self.table.write(Put(changed.key, changed.to_item(), at_version(known.version)))
            return known, changed, woken

        known, changed, woken = optimistic(self.clock, attempt, finds_own_write=finds_own_write)
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
        return known, changed

    def _read(self, lanes: EndpointLanes) -> EndpointLanes:
        endpoint_lanes = EndpointLanes.read(self.table, lanes.key)
        if endpoint_lanes is None:
            return EndpointLanes(tenant=lanes.tenant, endpoint_id=lanes.endpoint_id)
        return endpoint_lanes
