"""The worker makes a code and sends it, once if the provider says that it took it."""

import pytest

from skein.errors import Ambiguous, SmsRejected, Unavailable
from skein.models.api.directory import NewUser
from skein.models.outbox.jobs import NumberCodeJob
from skein.services.directory.number_codes import read_code
from tests.fakes.sms import Fault
from tests.support.builders import PHONE, TENANT, World

ANN = "usr_ann"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.line()
    world.app.users.create(TENANT, NewUser(id=ANN, name="Ann"))
    return world


def asked(world: World) -> NumberCodeJob:
    code = world.app.number_codes.request(TENANT, ANN, PHONE)
    return NumberCodeJob(tenant=TENANT, user_id=ANN, phone=PHONE, code_id=code.id)


def send(world: World, job: NumberCodeJob) -> None:
    world.app.number_code_sender.send(job)


def newest_works(world: World) -> bool:
    known = read_code(world.table, TENANT, ANN, PHONE)
    assert known is not None
    return known.matches(world.sms.bodies[-1][:6])


def test_repeated_job_sends_one_code(world: World) -> None:
    job = asked(world)
    send(world, job)
    send(world, job)
    assert len(world.sms.bodies) == 1
    assert newest_works(world)


def test_code_that_the_provider_did_not_take_is_sent_again(world: World) -> None:
    job = asked(world)
    world.sms.plan(Fault(Unavailable("down")))
    with pytest.raises(Unavailable):
        send(world, job)
    send(world, job)
    assert len(world.sms.bodies) == 1
    assert newest_works(world)


def test_code_with_an_unknown_outcome_is_not_sent_again(world: World) -> None:
    job = asked(world)
    world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))
    send(world, job)
    send(world, job)
    assert len(world.sms.bodies) == 1


def test_rejected_code_is_not_sent(world: World) -> None:
    job = asked(world)
    world.sms.plan(Fault(SmsRejected("unsubscribed", code=21610)))
    send(world, job)
    assert world.sms.bodies == []


def test_replaced_or_expired_code_is_not_sent(world: World) -> None:
    first, second = asked(world), asked(world)
    send(world, first)
    assert world.sms.bodies == []
    world.clock.advance(601)
    send(world, second)
    assert world.sms.bodies == []


def test_paused_texts_hold_codes_back(world: World) -> None:
    job = asked(world)
    world.app.pauses.switch(TENANT, "texts", on=True)
    send(world, job)
    assert world.sms.bodies == []


def test_worker_dies_between_hash_and_post_and_the_next_one_sends(world: World) -> None:
    job = asked(world)
    world.sms.plan(Fault(Unavailable("killed"), after_effect=True))
    with pytest.raises(Unavailable):
        send(world, job)
    send(world, job)
    assert len(world.sms.bodies) == 2
    assert newest_works(world)


def test_premium_number_gets_no_code(world: World) -> None:
    code = world.app.number_codes.request(TENANT, ANN, "+19005550123")
    send(world, asked(world).model_copy(update={"phone": "+19005550123", "code_id": code.id}))
    assert world.sms.bodies == []
