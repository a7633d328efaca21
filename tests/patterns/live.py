"""The live channel: tickets, connections, clients' frames and pushes."""

from skein.live.devices import Devices
from skein.models.outbox.jobs import LiveEvent, PushJob, RunJob
from skein.settings import Settings
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import COACH, HUSAM, group, threaded
from tests.support.builders import LIVE_URL, TENANT, World, person
from tests.support.live import connect

patterns = Patterns()

PUSH = Settings(live_url=LIVE_URL, fcm_application_arn="fcm")
LARGE = 100  # the most members of a chat


def crowd(count: int) -> World:
    """A chat of connected people with an agent, in which one has written."""
    world = threaded()
    world.agent()
    people = [person(f"usr_{number}", f"P{number}") for number in range(count)]
    world.known(*people)
    world.chat(*people, COACH, respond="manual")
    for who in people:
        connect(world, who.id, who.id)
    world.post("Hello", people[0])
    return world


def ringing() -> World:
    """A person and Coach, where phones are notified."""
    world = threaded(settings=PUSH)
    world.agent()
    world.chat(HUSAM, COACH, respond="manual")
    return world


def push(meter: Meter, people: int) -> None:
    world = crowd(people)
    event = LiveEvent(type="message", seq=1)
    with meter(world):
        world.app.pushes.push(PushJob(tenant=TENANT, chat_id="chat_1", events=(event,)))
    assert [len(texts) for texts in world.sockets.texts.values()] == [1] * people


@patterns.named("send a frame of a streamed answer to two people")
def _stream(meter: Meter) -> None:
    world = crowd(2)
    world.model.default = "Rest on Monday"

    def passes(said: str) -> None:
        if said == "Rest on Monday":
            with meter(world):
                world.clock.advance(1)  # the pause after the first frame
                world.background.finish(0)

    world.model.between = passes
    by = person("usr_0", "P0").ref
    world.app.manual_trigger.now(TENANT, "chat_1", by, agent_id=COACH.id)
    [job] = world.queues.ready("turns")
    assert isinstance(job, RunJob)
    world.take(job)


@patterns.named("issue a ticket")
def _ticket(meter: Meter) -> None:
    world = group()
    with meter(world):
        world.app.live_tickets.issue(TENANT, HUSAM.id, token_ends_at=None)


@patterns.named("open a connection")
def _open(meter: Meter) -> None:
    world = group()
    issued = world.app.live_tickets.issue(TENANT, HUSAM.id, token_ends_at=None)
    with meter(world):
        world.app.live_connections.connect(issued.ticket, "c1")


@patterns.named("close a connection")
def _close(meter: Meter) -> None:
    world = group()
    connect(world, HUSAM.id, "c1")
    with meter(world):
        world.app.live_connections.disconnect("c1")


@patterns.named("answer a ping")
def _ping(meter: Meter) -> None:
    world = group()
    connect(world, HUSAM.id, "c1")
    with meter(world):
        world.app.client_frames.receive("c1", '{"type": "ping"}')


@patterns.named("push that a member is typing")
def _typing(meter: Meter) -> None:
    world = group()
    connect(world, HUSAM.id, "c1")
    with meter(world):
        world.app.client_frames.receive("c1", '{"type": "typing", "chat_id": "chat_1"}')


@patterns.named("push a message to two people")
def _push(meter: Meter) -> None:
    push(meter, 2)


@patterns.named("push a message to 99 people")
def _push_to_all(meter: Meter) -> None:
    push(meter, LARGE - 1)  # and an agent


@patterns.named("push to a chat without connected people")
def _push_to_nobody(meter: Meter) -> None:
    world = group()
    world.post("Hello", HUSAM)
    event = LiveEvent(type="message", seq=1)
    with meter(world):
        world.app.pushes.push(PushJob(tenant=TENANT, chat_id="chat_1", events=(event,)))


@patterns.named("say which chat is shown")
def _showing(meter: Meter) -> None:
    world = group()
    connect(world, HUSAM.id, "c1")
    with meter(world):
        world.app.client_frames.receive("c1", '{"type": "showing", "chat_id": "chat_1"}')


@patterns.named("register a device")
def _register(meter: Meter) -> None:
    world = ringing()
    with meter(world):
        world.app.get(Devices).register(TENANT, HUSAM.id, "fcm", "token")


@patterns.named("push a message to two people, and notify the phone of one")
def _notify(meter: Meter) -> None:
    world = ringing()
    world.app.get(Devices).register(TENANT, HUSAM.id, "fcm", "token")
    world.post("Hello", COACH)
    event = LiveEvent(type="message", seq=1)
    with meter(world):
        world.app.pushes.push(PushJob(tenant=TENANT, chat_id="chat_1", events=(event,)))
    assert len(world.push.shown) == 1
