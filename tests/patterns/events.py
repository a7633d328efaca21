"""Events: queued for the services that want them, and sent."""

from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.queuing import CACHED_FOR, EventQueue
from skein.events.sending import EventSender
from skein.feed.events import events_of
from skein.models.outbox.changes import ItemChange
from skein.models.outbox.jobs import EventJob
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import HUSAM, group
from tests.support.builders import TENANT, World

patterns = Patterns()


def told(*, of: bool = True) -> tuple[World, ItemChange]:
    """A group with a message, whose tenant may have a service that is told of messages."""
    world = group()
    if of:
        new = NewEndpoint(url="https://shop.example/events", types=("message.created",))
        world.app.get(EventEndpoints).create(TENANT, new)
    world.clock.advance(CACHED_FOR.total_seconds())
    message = world.post("Hello", HUSAM).message
    change = ItemChange(
        key=message.key, before=None, after=message.to_item(), at=world.clock.now(), sequence="1"
    )
    return world, change


def queue(world: World, change: ItemChange) -> list[EventJob]:
    return list(world.app.get(EventQueue).queue(TENANT, events_of(change)))


@patterns.named("look for services that are told of a message, with none")
def _nobody(meter: Meter) -> None:
    world, change = told(of=False)
    with meter(world):
        assert queue(world, change) == []


@patterns.named("queue an event for a service")
def _queue(meter: Meter) -> None:
    world, change = told()
    queue(world, change)
    later = ItemChange(key=change.key, before=None, after=change.after, at=change.at, sequence="2")
    with meter(world):
        assert len(queue(world, later)) == 1


@patterns.named("send an event to a service")
def _send(meter: Meter) -> None:
    world, change = told()
    [job] = queue(world, change)
    with meter(world):
        world.app.get(EventSender).send(job, deadline=world.clock.now() + 4 * CACHED_FOR)
    assert len(world.service.requests) == 1
