"""Send the events of a lane in order, at least once, and park events that fail for a day."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from skein.errors import ConditionFailed, Rejected, ToolError, Transient
from skein.events.admission import LEASE, LaneAdmission, LaneLease
from skein.events.models.endpoint import EventEndpoint
from skein.events.models.event import EventLane, ParkedEvent, QueuedEvent
from skein.events.models.lanes import EndpointLanes
from skein.models.common.base import rfc3339
from skein.models.common.http import HttpRequest
from skein.models.common.retry import Retry, minutes
from skein.models.common.storage import Delete, Is, Put, Query, Update, Write, all_of
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import EventJob
from skein.own_tools.signed_context import signature_headers
from skein.ports import Clock, EventBus, Metrics, OutboundHttp, Secrets, Table
from skein.services.config.services_key import services_key
from skein.services.config.tenant_settings import reading_allowed
from skein.services.outbox.dispatch import Dispatch
from skein.settings import Settings

CALL_SECONDS = 10.0
TURN = timedelta(seconds=60)  # then a lane with more events waits for its next turn
MARGIN = timedelta(seconds=CALL_SECONDS + 5)
RETRY = Retry(minutes(1, 2, 4, 8, 15, 30, 60), give_up=timedelta(days=1))  # then it is parked
OK = range(200, 300)
PAGE = 50

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSender:
    """The service that sends events."""

    table: Table
    clock: Clock
    admission: LaneAdmission
    dispatch: Dispatch
    metrics: Metrics
    http: Callable[[], OutboundHttp]
    bus: Callable[[], EventBus]
    secrets: Callable[[], Secrets]
    settings: Settings

    def send(self, job: EventJob, *, deadline: datetime) -> None:
        """Send the events of a lane until none is left, one fails or time runs out.

        Raises:
            Transient: The table failed; the queue repeats the job.
        """
        lane_key = EventLane.key_of(job.tenant, job.endpoint_id, job.lane)
        endpoint_key = EventEndpoint.key_of(job.tenant, job.endpoint_id)
        lanes = EndpointLanes(tenant=job.tenant, endpoint_id=job.endpoint_id)
        found = self.table.get_many([lane_key, endpoint_key, lanes.key])
        if lane_key not in found:
            return
        lane = EventLane.must_read(found, lane_key)
        endpoint = EventEndpoint.read(found, endpoint_key)
        lanes = EndpointLanes.must_read(found, lanes.key) if lanes.key in found else lanes
        try:
            if endpoint is None or not endpoint.enabled:
                self._drop(lane)
            elif self._is_due(lane):
                self._take(lane, endpoint, lanes, job, deadline)
        except ConditionFailed:
            logger.info("lane of events was taken over")

    def _is_due(self, lane: EventLane) -> bool:
        """Return whether a lane can be sent: no worker has it, and its retry is due."""
        now = self.clock.now()
        if lane.busy(now):
            return False
        if lane.retry_at is None or lane.retry_at <= now:
            return True
        self.table.write(Update(lane.key, set=lane.due(lane.retry_at), condition=lane.as_claimed))
        return False

    def _take(
        self,
        lane: EventLane,
        endpoint: EventEndpoint,
        lanes: EndpointLanes,
        job: EventJob,
        deadline: datetime,
    ) -> None:
        """Claim a lane and send its events, unless too many lanes of its endpoint are being sent.

        Raises:
            ConditionFailed: Another worker has claimed the lane.
        """
        lease = self.admission.admit(lane.lane, lanes)
        if lease is None:
            return
        now = self.clock.now()
        claimed = lane.claimed(now + LEASE)
        try:
            changes = {"fence": claimed.fence, **self._lease(claimed)}
            self.table.write(Update(lane.key, set=changes, condition=lane.as_claimed))
            more = self._send_all(claimed, endpoint, lease, min(deadline, now + TURN + MARGIN))
        except ConditionFailed:
            self.admission.leave(lease)
            raise
        self.admission.leave(lease)
        if more:
            self.dispatch.send([job])

    def _send_all(
        self, lane: EventLane, endpoint: EventEndpoint, lease: LaneLease, deadline: datetime
    ) -> bool:
        """Send the events of a claimed lane, oldest first; return whether more can be sent."""
        while self.clock.now() + MARGIN < deadline:
            page = self.table.query(Query.under(lane.key.pk, QueuedEvent.PREFIX, limit=1))
            if not page.items:
                if self._released(lane):
                    return False
                lane = self._again(lane)
                continue
            queued = QueuedEvent.from_item(page.items[0])
            error = self._error_of(endpoint, queued)
            now = self.clock.now()
            lease.failed = error is not None
            if error is None:
                self._finish(lane, queued)
            elif RETRY.is_over(waited=now - queued.queued_at):
                parked = ParkedEvent.of(queued, error, now)
                self._finish(lane, queued, Put(parked.key, parked.attributes()))
                self.metrics.count("EventsParked")
                logger.warning(
                    "event parked",
                    extra={"tenant": lane.tenant, "endpoint": endpoint.id, "why": error},
                )
            else:
                self._retry_later(lane, now)
                return False
            self.admission.renew(lease)
        self._update(lane, lane.due(self.clock.now()) | {"busy_until": None})
        return True

    def _finish(self, lane: EventLane, queued: QueuedEvent, *more: Write) -> None:
        """Remove an event from its lane, after it was sent or parked, and renew the lease."""
        changes = {"tries": 0, "retry_at": None, **self._lease(lane)}
        self.table.transact(
            [Delete(queued.key), Update(lane.key, set=changes, condition=lane.as_claimed), *more]
        )

    def _retry_later(self, lane: EventLane, now: datetime) -> None:
        item = self.table.get(lane.key)
        tries = int(item.get("tries", 0)) + 1 if item else 1
        at = now + RETRY.wait(tries)
        self._update(
            lane, lane.due(at) | {"tries": tries, "retry_at": rfc3339(at), "busy_until": None}
        )

    def _released(self, lane: EventLane) -> bool:
        """Release the claim of an empty lane; return False if an event was queued meanwhile."""
        unchanged = all_of(lane.as_claimed, Is("queued", lane.queued))
        changes = {"busy_until": None, "retry_at": None, **NOT_DUE}
        try:
            self.table.write(Update(lane.key, set=changes, condition=unchanged))
        except ConditionFailed:
            return False
        return True

    def _again(self, lane: EventLane) -> EventLane:
        """Read a lane again.

        Raises:
            ConditionFailed: Another worker has claimed it.
        """
        again = EventLane.read(self.table, lane.key)
        if again is None or again.fence != lane.fence:
            raise ConditionFailed(frozenset({0}))
        return again

    def _update(self, lane: EventLane, changes: dict[str, Any]) -> None:
        self.table.write(Update(lane.key, set=changes, condition=lane.as_claimed))

    def _lease(self, lane: EventLane) -> dict[str, Any]:
        """Return the attributes with which a lane stores a lease that begins now."""
        until = self.clock.now() + LEASE
        return lane.due(until) | {"busy_until": rfc3339(until)}

    def _drop(self, lane: EventLane) -> None:
        """Delete the lane of an endpoint that was deleted or disabled, with its events."""
        query = Query.under(lane.key.pk, QueuedEvent.PREFIX, limit=PAGE)
        while items := self.table.query(query).items:
            self.table.transact([Delete(event.key) for event in QueuedEvent.each_of(items)])
        self.table.write(Delete(lane.key, Is("queued", lane.queued or None)))

    def _error_of(self, endpoint: EventEndpoint, queued: QueuedEvent) -> str | None:
        """Send an event; return why the call failed, or None if it succeeded."""
        body = self._body(endpoint, queued)
        if endpoint.kind == "bus":
            return self._error_of_bus(queued, body)
        secret = endpoint.secret_by(services_key(self.secrets(), self.settings))
        signed = signature_headers(secret, queued.event.id, body, self.clock.now())
        headers = {"Content-Type": "application/cloudevents+json; charset=utf-8", **signed}
        request = HttpRequest(method="POST", url=endpoint.url, headers=headers, body=body)
        try:
            answer = self.http().send(request, seconds=CALL_SECONDS)
        except (ToolError, Transient, TimeoutError) as error:
            return str(error) or "it took too long"
        return None if answer.status in OK else f"it answered with the status {answer.status}"

    def _error_of_bus(self, queued: QueuedEvent, body: bytes) -> str | None:
        """Put an event on the deployment's bus; return why that failed, or None if it succeeded."""
        if not self.settings.event_bus_arn:
            return "the deployment names no event bus"
        try:
            self.bus().put(queued.event.type, body.decode(), queued.event.at)
        except (Rejected, Transient) as error:
            return str(error)
        return None

    def _body(self, endpoint: EventEndpoint, queued: QueuedEvent) -> bytes:
        """Return an event as JSON.

        If the endpoint wants the words of the item and may get them, the words are read now.
        """
        event = queued.event
        data = dict(event.data)
        if endpoint.words and event.words_of is not None:
            settings = TenantSettings.key_of(event.tenant)
            found = self.table.get_many([event.words_of, settings])
            if reading_allowed(TenantSettings.from_optional(found.get(settings))):
                data["text"] = str(found.get(event.words_of, {}).get("text", ""))
        if event.type == "help.requested":
            base = self.settings.public_base_url.rstrip("/")
            data["link"] = f"{base}/console/#/desk/{quote(event.lane, safe='')}"
        if event.type == "approval.requested":
            base = self.settings.public_base_url.rstrip("/")
            data["link"] = f"{base}/console/#/desk/approvals/{quote(data['approval_id'], safe='')}"
        shown = {
            "specversion": "1.0",
            "id": event.id,
            "source": f"/skein/{quote(event.tenant, safe='')}",
            "type": event.type,
            "subject": event.lane,
            "time": rfc3339(event.at),
            "datacontenttype": "application/json",
            "data": data,
        }
        return json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()
