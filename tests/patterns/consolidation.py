"""What it costs to remember what was said."""

import json

from skein.memory.history import BackgroundRecords
from skein.models.api.chats import ChatChange
from skein.models.outbox.jobs import ConsolidationJob
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import COACH, HUSAM, direct, threaded
from tests.support.builders import TENANT, World

patterns = Patterns()

JOB = ConsolidationJob(tenant=TENANT, chat_id="chat_1")


def spoken(*, hours: int) -> World:
    """A group in which something was said so many hours ago, and a job for it."""
    world = threaded()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual", consolidate=True)
    world.post("Hello", HUSAM)
    world.clock.advance(hours * 3_600)
    return world


def consolidate(world: World) -> None:
    world.work(world.app.consolidation, JOB)


@patterns.named("post the first message after a consolidation")
def _post(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual", consolidate=True)
    with meter(world):
        world.post("Hello", HUSAM)


def private(*, minutes: int = 0) -> World:
    """A direct chat that inherits `consolidate`; its only text was posted so long ago."""
    world = direct(consolidate=None, respond="manual")
    if minutes:
        world.post("Hello", HUSAM)
        world.clock.advance(60 * minutes)
    return world


@patterns.named("post the first text of a session in a direct chat")
def _post_in_direct(meter: Meter) -> None:
    world = private()
    with meter(world):
        world.post("Hello", HUSAM)


@patterns.named("find a direct chat to consolidate")
def _find_direct(meter: Meter) -> None:
    world = private(minutes=35)
    with meter(world):
        world.tick()


@patterns.named("skip a direct chat that is still busy")
def _busy_direct(meter: Meter) -> None:
    world = private(minutes=5)
    with meter(world):
        consolidate(world)


@patterns.named("consolidate a direct chat, nothing to remember")
def _nothing_direct(meter: Meter) -> None:
    world = private(minutes=35)
    with meter(world):
        consolidate(world)


@patterns.named("switch consolidation on")
def _switch_on(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual")
    world.post("Hello", HUSAM)
    with meter(world):
        world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(consolidate=True))


@patterns.named("find nothing to consolidate")
def _find_nothing(meter: Meter) -> None:
    world = spoken(hours=1)
    with meter(world):
        world.find_quiet()


@patterns.named("find a chat to consolidate")
def _find(meter: Meter) -> None:
    world = spoken(hours=7)
    with meter(world):
        world.find_quiet()


@patterns.named("skip a chat that is still busy")
def _busy(meter: Meter) -> None:
    world = spoken(hours=1)
    with meter(world):
        consolidate(world)


@patterns.named("consolidate a chat of one agent, nothing to remember")
def _nothing(meter: Meter) -> None:
    world = spoken(hours=7)
    with meter(world):
        consolidate(world)


@patterns.named("consolidate a chat of one agent, with memories")
def _memories(meter: Meter) -> None:
    world = spoken(hours=7)
    world.model.memories.append(json.dumps({"journal": ["Late", "Ill"], "core": ["Kind"]}))
    with meter(world):
        consolidate(world)
    assert len(world.memories()) == 3


@patterns.named("request a chat's consolidation")
def _request(meter: Meter) -> None:
    world = spoken(hours=1)
    with meter(world):
        world.app.consolidation_requests.request(TENANT, "chat_1")


@patterns.named("list a chat's consolidations")
def _history(meter: Meter) -> None:
    world = spoken(hours=7)
    consolidate(world)
    with meter(world):
        world.app.get(BackgroundRecords).of_chat(TENANT, "chat_1")
