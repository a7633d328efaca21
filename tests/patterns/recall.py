"""The index of recall."""

from skein.models.outbox.jobs import RecallJob
from skein.recall.message_search import MessageSearch
from skein.recall.rebuild import RecallRebuilds
from tests.patterns.meter import Meter, Patterns
from tests.support.builders import LONG_INVOCATION, TENANT
from tests.support.recall import ANN, BEN, COACH, Indexed

patterns = Patterns()


def said(count: int) -> Indexed:
    """A private group with an agent, in which so much was said that was not indexed."""
    world = Indexed()
    world.agent()
    world.known(ANN, BEN)
    world.chat(ANN, BEN, COACH, visibility="private")
    world.said(*(f"Room {4700 + number}" for number in range(count)))
    return world


@patterns.named("index a message")
def _index(meter: Meter) -> None:
    world = said(40)
    world.index(1, 39)
    with meter(world):
        world.index(40, 40)


@patterns.named("index a message again")
def _index_again(meter: Meter) -> None:
    world = said(40)
    world.index()
    with meter(world):
        world.index(40, 40)


@patterns.named("index 90 messages of a chat")
def _index_burst(meter: Meter) -> None:
    world = said(90)
    with meter(world):
        world.index()


@patterns.named("take an erased message out of the index")
def _index_erased(meter: Meter) -> None:
    world = said(40)
    world.index()
    world.change(20, kind="erased", text="")
    with meter(world):
        world.index(20, 20)


@patterns.named("request a rebuild of the index of a chat or an agent")
def _request(meter: Meter) -> None:
    world = said(1)
    with meter(world):
        world.app.get(RecallRebuilds).request(TENANT, chat_id="chat_1")


@patterns.named("send the jobs of a rebuild")
def _send(meter: Meter) -> None:
    world = said(1)
    with meter(world):
        world.app.recall_worker.take(
            RecallJob(tenant=TENANT), deadline=world.clock.now() + LONG_INVOCATION
        )


@patterns.named("search the messages of a person")
def _search(meter: Meter) -> None:
    world = said(40)
    world.index()
    with meter(world):
        world.app.get(MessageSearch).find(TENANT, ANN.id, "Room 4712", limit=20)
