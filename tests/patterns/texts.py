"""Texts on their way out."""

import pytest

from skein.errors import Ambiguous
from skein.models.outbox.jobs import DeliveryJob, OutreachJob
from skein.outreach.api import NewOutreach
from skein.outreach.outreaches import Outreaches
from skein.services.delivery.policy import LOOK_UP_PAUSE
from tests.fakes.sms import Fault
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import threaded
from tests.support.builders import TENANT, World
from tests.support.first_contact import contact, reachable
from tests.support.sms import TIME_OUT, Texting

patterns = Patterns()


def deliver(world: World, job: DeliveryJob) -> None:
    world.app.deliveries.deliver(job, deadline=world.clock.now() + TIME_OUT)


@pytest.fixture
def meter() -> Meter:
    return Meter()


@patterns.named("deliver an SMS of one part")
def _deliver(meter: Meter) -> None:
    world = Texting()
    job = world.say("Hello!")
    with meter(world):
        deliver(world, job)


@patterns.named("deliver an SMS of three parts")
def _deliver_three(meter: Meter) -> None:
    world = Texting()
    job = world.say("One. " * 900)
    with meter(world):
        deliver(world, job)
    assert len(world.sms.taken) == 3


@patterns.named("look up an SMS with unknown outcome")
def _settle(meter: Meter) -> None:
    world = Texting()
    job = world.say("Hello!")
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))
    world.deliver(job)
    world.clock.advance(LOOK_UP_PAUSE.total_seconds() + 1)
    with meter(world):
        deliver(world, job)
    assert world.sms.asked == 1


@patterns.named("receive the status of an SMS")
def _status(meter: Meter) -> None:
    world = Texting()
    job = world.say("Hello!")
    world.deliver(job)
    with meter(world):
        world.report(job, "delivered")


@patterns.named("receive the failure of an SMS")
def _failed(meter: Meter) -> None:
    world = Texting()
    job = world.say("Hello!")
    world.deliver(job)
    with meter(world):
        world.report(job, "undelivered", code=30006)


@patterns.named("receive an opt-out of a person")
def _opted_out(meter: Meter) -> None:
    world = Texting()
    job = world.say("Hello!")
    world.deliver(job)
    with meter(world):
        world.report(job, "failed", code=21610)


@patterns.named("open a chat for a first contact")
def _open_contact(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.line()
    reachable(world)
    with meter(world):
        contact(world)


@patterns.named("write to a person of an outreach")
def _reach_out(meter: Meter) -> None:
    world = threaded()
    world.agent()
    world.line()
    sarah = reachable(world)
    new = NewOutreach(people=(sarah.id,), agent_id="agt_a", text="Hello", asked_by="Alice")
    outreach = world.app.get(Outreaches).create(TENANT, "usr_op", new)
    world.drain()
    with meter(world):
        world.handle(OutreachJob(tenant=TENANT, outreach_id=outreach.id, user_id=sarah.id))
