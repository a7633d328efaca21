"""Erase queued and parked events that name a person."""

from collections.abc import Iterator

from skein.events.models.endpoint import EventEndpoint, endpoints_partition
from skein.events.models.event import EventLane, ParkedEvent, QueuedEvent
from skein.models.common.storage import Delete, Key, Query
from skein.ports import Table
from skein.services.common.pagination import items_under, read_items


def erase_events(
    table: Table, tenant: str, person_ids: tuple[str, ...], chat_ids: tuple[str, ...]
) -> int:
    """Delete the events that name a person: those queued for these chats, and all parked ones.

    Returns the number of deleted events. An event that is being sent at this moment may still
    arrive.
    """
    page = table.query(Query.under(endpoints_partition(tenant), EventEndpoint.PREFIX))
    endpoint_ids = [endpoint.id for endpoint in EventEndpoint.each_of(page.items)]
    erased = 0
    for key in _waiting(table, tenant, endpoint_ids, chat_ids, frozenset(person_ids)):
        table.write(Delete(key))
        erased += 1
    return erased


def _waiting(
    table: Table,
    tenant: str,
    endpoint_ids: list[str],
    chat_ids: tuple[str, ...],
    person_ids: frozenset[str],
) -> Iterator[Key]:
    """Yield the keys of the events that name a person; see `erase_events`."""
    lanes = [
        EventLane.key_of(tenant, endpoint_id, chat_id)
        for endpoint_id in endpoint_ids
        for chat_id in chat_ids
    ]
    for lane in read_items(table, lanes):
        for queued in QueuedEvent.each_of(items_under(table, lane.pk, QueuedEvent.PREFIX)):
            if queued.event.named & person_ids:
                yield queued.key
    for endpoint_id in endpoint_ids:
        partition = ParkedEvent.partition(tenant, endpoint_id)
        for parked in ParkedEvent.each_of(items_under(table, partition, ParkedEvent.PREFIX)):
            if parked.event.named & person_ids:
                yield parked.key
