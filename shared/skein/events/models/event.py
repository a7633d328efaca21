"""Queued events: each endpoint and chat has a lane, whose events are sent in order."""

import hashlib
from datetime import datetime, timedelta
from typing import Any, ClassVar

from pydantic import Field

from skein.events.models.endpoint import EventType
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part
from skein.models.common.storage import META, Item, Key, SortKeyPrefix, Update
from skein.models.outbox.due import LeasedItem, due_pointer
from skein.models.outbox.jobs import EventJob

PARKED_FOR = timedelta(days=30)
LANE_KEPT = timedelta(days=30)
NUMBER_WIDTH = 40  # digits of a sequence number of the table's stream


class Event(Value):
    """An event, which describes what has happened by ids and states.

    Attributes:
        id: The event's id, which is the same each time the table's stream reports the change.
        lane: The subject of the event, e.g. a chat; events about the same subject are sent in
            order.
        number: The sort key that orders the events of a lane.
        data: Ids and states, without any words.
        words_of: The key of the item whose words the event may contain. The words are read when the
            event is sent.
    """

    tenant: Tenant
    id: Identifier
    type: EventType
    lane: Identifier
    number: str
    data: dict[str, Any] = Field(default_factory=dict)
    words_of: Key | None = None
    at: Instant

    @property
    def named(self) -> frozenset[str]:
        """The ids of the people and agents that the event names."""
        refs = (self.data.get(name) for name in ("sender", "member"))
        named = {str(ref.get("id")) for ref in refs if isinstance(ref, dict)}
        return frozenset(named | {str(self.data.get("person"))})


def event_id(key: Key, sequence: str, position: int) -> str:
    """Return an event's id. A change of an item can cause several events.

    Args:
        sequence: The change's number in the table's stream.
        position: The number of the event among the events of the change.
    """
    digest = hashlib.sha256(f"{key.pk}|{key.sk}|{sequence}|{position}".encode()).hexdigest()
    return f"evt_{digest[:32]}"


def event_number(sequence: str, position: int) -> str:
    """Return the number by which the events of a lane are ordered, as text.

    Args:
        sequence: The change's number in the table's stream.
        position: The number of the event among the events of the change.
    """
    return f"{sequence:0>{NUMBER_WIDTH}}.{position}"


class QueuedEvent(Stored):
    """An event that waits to be sent to one endpoint.

    Attributes:
        queued_at: When it was queued; an event that still fails a day later is parked.
    """

    PREFIX: ClassVar = SortKeyPrefix("EVENT#")

    tenant: Tenant
    endpoint_id: Identifier
    event: Event
    queued_at: Instant

    @property
    def key(self) -> Key:
        lane = EventLane.key_of(self.tenant, self.endpoint_id, self.event.lane)
        return Key(lane.pk, f"{self.PREFIX}{self.event.number}")

    def in_lane(self, *, due_at: datetime) -> Update:
        """Return the write that counts this event in its lane; the lane's job runs at `due_at`."""
        lane = EventLane(
            tenant=self.tenant,
            endpoint_id=self.endpoint_id,
            lane=self.event.lane,
            expires_at=int((self.queued_at + LANE_KEPT).timestamp()),
        )
        names = ("tenant", "endpoint_id", "lane", "expires_at")
        shown = {name: getattr(lane, name) for name in names}
        return Update(lane.key, set=shown | lane.due(due_at), add={"queued": 1})


class ParkedEvent(QueuedEvent):
    """An event that could not be sent for a day; it is sent again only when an operator asks.

    Attributes:
        error: Why the last attempt failed.
        expires_at: When the event may be deleted, in seconds since 1970.
    """

    error: str
    parked_at: Instant
    expires_at: int

    @staticmethod
    def partition(tenant: str, endpoint_id: str) -> str:
        """Return the key of the partition of an endpoint's parked events."""
        return f"{key_part(tenant)}#PARKED#{key_part(endpoint_id)}"

    @property
    def key(self) -> Key:
        """The key of this event among the parked events."""
        pk = self.partition(self.tenant, self.endpoint_id)
        return Key(pk, f"{self.PREFIX}{self.event.number}")

    @classmethod
    def of(cls, queued: QueuedEvent, error: str, now: datetime) -> "ParkedEvent":
        return cls(
            tenant=queued.tenant,
            endpoint_id=queued.endpoint_id,
            event=queued.event,
            queued_at=queued.queued_at,
            error=error[:200],
            parked_at=now,
            expires_at=int((now + PARKED_FOR).timestamp()),
        )


class EventLane(LeasedItem):
    """The events of one endpoint and one chat; one worker at a time sends them in order.

    Attributes:
        queued: The number of events that were ever queued. If it has changed, a worker knows that
            there are new events.
        tries: How often sending the first event has failed.
        retry_at: When to try again; None if the last attempt succeeded.
        expires_at: When the item may be deleted, in seconds since 1970.
    """

    tenant: Tenant
    endpoint_id: Identifier
    lane: Identifier
    queued: int = 0
    tries: int = 0
    retry_at: Instant | None = None
    expires_at: int

    @staticmethod
    def key_of(tenant: str, endpoint_id: str, lane: str) -> "Key[EventLane]":
        return Key(f"{key_part(tenant)}#EVENTS#{key_part(endpoint_id)}#{key_part(lane)}", META)

    @property
    def key(self) -> "Key[EventLane]":
        return self.key_of(self.tenant, self.endpoint_id, self.lane)

    @property
    def job(self) -> EventJob:
        """The job that sends the events."""
        return EventJob(tenant=self.tenant, endpoint_id=self.endpoint_id, lane=self.lane)

    def due(self, at: datetime) -> dict[str, Any]:
        """Return the due pointer by which the tick finds this lane at `at`."""
        return due_pointer("event", self.key, at) | {"due_tries": None}

    def to_item(self) -> Item:
        return self.attributes()
