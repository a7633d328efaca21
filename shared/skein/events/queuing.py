"""Queue events for the endpoints that subscribe to them, in the order of the table's stream."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from skein.errors import ConditionFailed
from skein.events.models.endpoint import EventEndpoint, endpoints_partition
from skein.events.models.event import Event, QueuedEvent
from skein.models.common.storage import Missing, Put, Query
from skein.models.outbox.jobs import EventJob
from skein.ports import Clock, Table
from skein.services.outbox.dispatch import OUTBOX_GRACE

CACHED_FOR = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQueue:
    """The service that queues events; it caches a tenant's endpoints for 30 seconds."""

    table: Table
    clock: Clock
    known: dict[str, tuple[datetime, tuple[EventEndpoint, ...]]] = field(default_factory=dict)

    def queue(self, tenant: str, events: Iterable[Event]) -> Iterator[EventJob]:
        """Queue a change's events, and yield a job for each endpoint and event (idempotent).

        If the stream repeats a change, its events are only queued again if they are no longer
        queued. An event that was already sent is then sent again: Skein cannot tell from the
        event's number that it was sent, because numbers of different shards, or of a restored
        table, can't be compared.

        Args:
            events: The events; not evaluated for a tenant without endpoints.

        Raises:
            Transient: The table failed. Later events must wait for this one.
        """
        endpoints = self._endpoints(tenant)
        for event in events if endpoints else ():
            for endpoint in endpoints:
                if event.type in endpoint.types:
                    self._write(endpoint.id, event)
                    yield EventJob(tenant=event.tenant, endpoint_id=endpoint.id, lane=event.lane)

    def _write(self, endpoint_id: str, event: Event) -> None:
        now = self.clock.now()
        queued = QueuedEvent(
            tenant=event.tenant, endpoint_id=endpoint_id, event=event, queued_at=now
        )
        lane = queued.in_lane(due_at=now + OUTBOX_GRACE)
        try:
            self.table.transact([Put(queued.key, queued.attributes(), Missing()), lane])
        except ConditionFailed:
            return  # the stream has reported the change before

    def _endpoints(self, tenant: str) -> tuple[EventEndpoint, ...]:
        now = self.clock.now()
        until, endpoints = self.known.get(tenant, (now, ()))
        if until > now:
            return endpoints
        page = self.table.query(Query.under(endpoints_partition(tenant), EventEndpoint.PREFIX))
        found = EventEndpoint.each_of(page.items)
        endpoints = tuple(endpoint for endpoint in found if endpoint.enabled)
        self.known[tenant] = (now + CACHED_FOR, endpoints)
        return endpoints
