"""The event endpoints of a tenant: create, list, change and delete them; resend parked events."""

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from skein.errors import ConditionFailed, Conflict, NotFound, Unprocessable
from skein.events.models.endpoint import BUS_URL, MAX_ENDPOINTS, EventEndpoint, endpoints_partition
from skein.events.models.event import ParkedEvent, QueuedEvent
from skein.events.models.lanes import EndpointLanes
from skein.models.common.storage import Delete, Exists, Missing, Put, Query, at_version
from skein.models.outbox.jobs import EventJob
from skein.own_tools.http_requests import check_address
from skein.own_tools.signed_context import new_nonce, seal
from skein.ports import Clock, Ids, Secrets, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, items_under, list_partition
from skein.services.config.services_key import services_key
from skein.services.outbox.dispatch import Dispatch
from skein.settings import Settings

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.events.api import EndpointChange, NewEndpoint

PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class EventEndpoints:
    """The service of a tenant's event endpoints."""

    table: Table
    clock: Clock
    ids: Ids
    keys: Secrets
    dispatch: Dispatch
    settings: Settings

    def create(self, tenant: str, new: "NewEndpoint") -> EventEndpoint:
        """Create an endpoint with the given or a new secret, which is shown once.

        Raises:
            Conflict: The tenant has too many endpoints.
            Unprocessable: The deployment may not call the address, or has no event bus.
        """
        if new.url is not None:
            check_address(new.url, "url", self.settings)
        elif not self.settings.event_bus_arn:
            raise Unprocessable("the deployment names no event bus")
        nonce = new_nonce()
        key = services_key(self.keys, self.settings)
        endpoint = EventEndpoint(
            tenant=tenant,
            id=f"evp_{self.ids.ulid()}",
            nonce=nonce,
            sealed=seal(new.secret, nonce, key=key) if new.secret is not None else None,
            created_at=self.clock.now(),
            kind=new.kind,
            url=new.url or BUS_URL,
            types=new.types,
            words=new.words,
            enabled=new.enabled,
        )
        page = self.table.query(Query.under(endpoints_partition(tenant), EventEndpoint.PREFIX))
        if len(page.items) >= MAX_ENDPOINTS:
            raise Conflict(f"a tenant has at most {MAX_ENDPOINTS} event endpoints")
        self.table.write(Put(endpoint.key, endpoint.to_item(), Missing()))
        return self._with_secret(endpoint)

    def get(self, tenant: str, endpoint_id: str) -> EventEndpoint:
        """Return an endpoint.

        Raises:
            NotFound: There is no such endpoint.
        """
        endpoint = EventEndpoint.read(self.table, EventEndpoint.key_of(tenant, endpoint_id))
        if endpoint is None:
            raise NotFound("event endpoint not found")
        return endpoint

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[EventEndpoint]:
        """List a page of a tenant's endpoints, oldest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            endpoints_partition(tenant),
            (EventEndpoint.PREFIX,),
            EventEndpoint.from_item,
            limit=limit,
            cursor=cursor,
        )

    def change(self, tenant: str, endpoint_id: str, change: "EndpointChange") -> EventEndpoint:
        """Change some of an endpoint's fields; its secret stays.

        Raises:
            NotFound: There is no such endpoint.
            Unprocessable: The deployment may not call the address.
        """
        if "url" in change.given:
            if self.get(tenant, endpoint_id).kind == "bus":
                raise Unprocessable("an event bus has no url")
            check_address(change.given["url"], "url", self.settings)

        def attempt() -> EventEndpoint:
            endpoint = self.get(tenant, endpoint_id)
            if not change.given:
                return endpoint
            revised, write = revise(endpoint, change.given)
            self.table.write(write)
            return revised

        return optimistic(self.clock, attempt)

    def delete(self, tenant: str, endpoint_id: str) -> None:
        """Delete an endpoint; events that wait for it are dropped.

        Raises:
            NotFound: There is no such endpoint.
        """

        def attempt() -> None:
            endpoint = self.get(tenant, endpoint_id)
            lanes = EndpointLanes.key_of(tenant, endpoint_id)
            self.table.transact([Delete(endpoint.key, at_version(endpoint.version)), Delete(lanes)])

        optimistic(self.clock, attempt)
        partition = ParkedEvent.partition(tenant, endpoint_id)
        query = Query.under(partition, ParkedEvent.PREFIX, limit=PAGE)
        while items := self.table.query(query).items:
            self.table.transact([Delete(event.key) for event in ParkedEvent.each_of(items)])

    def rotate(self, tenant: str, endpoint_id: str) -> EventEndpoint:
        """Give an endpoint a new secret; the old one is invalid at once.

        Raises:
            NotFound: There is no such endpoint.
        """

        def attempt() -> EventEndpoint:
            fresh = {"nonce": new_nonce(), "sealed": None}
            endpoint, write = revise(self.get(tenant, endpoint_id), fresh)
            self.table.write(write)
            return endpoint

        return self._with_secret(optimistic(self.clock, attempt))

    def created(self, tenant: str, endpoint_id: str, new: "NewEndpoint") -> EventEndpoint:
        """Return the endpoint that an earlier, identical creation request has made.

        If the request names no secret, the endpoint gets a new one.

        Raises:
            NotFound: There is no such endpoint.
        """
        if new.secret is None:
            return self.rotate(tenant, endpoint_id)
        return self._with_secret(self.get(tenant, endpoint_id))

    def parked(
        self,
        tenant: str,
        endpoint_id: str,
        *,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[ParkedEvent]:
        """List a page of an endpoint's parked events, oldest first.

        Raises:
            NotFound: There is no such endpoint.
            Invalid: The cursor does not belong to this list.
        """
        self.get(tenant, endpoint_id)
        return list_partition(
            self.table,
            ParkedEvent.partition(tenant, endpoint_id),
            (ParkedEvent.PREFIX,),
            ParkedEvent.from_item,
            limit=limit,
            cursor=cursor,
        )

    def redeliver(self, tenant: str, endpoint_id: str, event_id: str | None = None) -> int:
        """Put at most 50 parked events back into their lanes, oldest first, and return how many.

        Args:
            event_id: The only event to send again; None for all parked events.

        Raises:
            NotFound: There is no such endpoint, or the event is not parked.
        """
        self.get(tenant, endpoint_id)
        partition = ParkedEvent.partition(tenant, endpoint_id)
        parked_events = ParkedEvent.each_of(items_under(self.table, partition, ParkedEvent.PREFIX))
        wanted = (each for each in parked_events if event_id in {None, each.event.id})
        found = list(islice(wanted, PAGE if event_id is None else 1))
        if event_id is not None and not found:
            raise NotFound("parked event not found")
        jobs: dict[EventJob, None] = {}
        for parked in found:
            try:
                self._unpark(parked)
            except ConditionFailed:
                continue  # another request was faster
            lane = parked.event.lane
            jobs[EventJob(tenant=tenant, endpoint_id=endpoint_id, lane=lane)] = None
        self.dispatch.send(list(jobs))
        return len(found)

    def _unpark(self, parked: ParkedEvent) -> None:
        now = self.clock.now()
        queued = QueuedEvent(
            tenant=parked.tenant,
            endpoint_id=parked.endpoint_id,
            event=parked.event,
            queued_at=now,
        )
        at_once = queued.in_lane(due_at=now)
        self.table.transact(
            [
                Delete(parked.key, Exists()),
                Put(queued.key, queued.attributes()),
                replace(at_once, set={**at_once.set, "retry_at": None, "tries": 0}),
            ]
        )

    def _with_secret(self, endpoint: EventEndpoint) -> EventEndpoint:
        key = services_key(self.keys, self.settings)
        return endpoint.model_copy(update={"secret": endpoint.secret_by(key)})
