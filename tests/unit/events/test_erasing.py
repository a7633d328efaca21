"""Events that wait for a service lose those that name an erased person."""

from datetime import timedelta

from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.models.event import EventLane, ParkedEvent, QueuedEvent
from skein.events.queuing import CACHED_FOR
from skein.models.common.http import HttpAnswer
from skein.models.common.storage import Put
from skein.services.common.pagination import items_under
from tests.support.builders import TENANT, World, bot, person

ANN, BEN = person("usr_ann", "Ann"), person("usr_ben", "Ben")
HOURS = 10  # an erasure takes two sweeps


def waiting(world: World) -> str:
    """All that waits for services or was parked."""
    keys = [key for key in world.table.all_keys() if "#EVENTS#" in key.pk or "#PARKED#" in key.pk]
    return str([world.table.get(key) for key in keys])


def test_queued_events_do_not_name_erased_people() -> None:
    world = World()
    world.agent()
    world.known(ANN, BEN)
    world.chat(ANN, BEN, bot(), kind="group")
    world.attach_feed()
    new = NewEndpoint(url="https://shop.example/", types=("message.created", "member.changed"))
    endpoint = world.app.get(EventEndpoints).create(TENANT, new)
    world.clock.advance(CACHED_FOR.total_seconds())
    world.service.answer = lambda _: HttpAnswer(status=500)
    for who in (ANN, BEN):
        world.post("Hello", who)
    world.drain()
    lane = EventLane.key_of(TENANT, endpoint.id, "chat_1").pk
    for item in list(items_under(world.table, lane, QueuedEvent.PREFIX)):
        parked = ParkedEvent.of(QueuedEvent.from_item(item), "down", world.clock.now())
        world.table.write(Put(parked.key, parked.attributes()))
    assert waiting(world).count(ANN.id) == 2
    world.app.erasures.request(TENANT, ANN.id, by="usr_op")
    for _ in range(HOURS):
        world.clock.advance(timedelta(hours=1).total_seconds())
        world.tick()
        world.drain()
    assert ANN.id not in waiting(world)
    assert waiting(world).count(BEN.id) == 2
    assert endpoint.id in waiting(world)
