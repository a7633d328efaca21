"""A number is proven by a code that an SMS brought there."""

from datetime import timedelta

import pytest

from skein.errors import Conflict, NotFound, RateLimited, Unprocessable
from skein.models.api.directory import NewUser
from skein.models.common.address import phone_address
from skein.models.delivery.sms import InboundSms
from skein.models.directory import number_code
from skein.models.directory.number_code import MAX_TRIES, VALID_FOR, NumberCode
from tests.support.builders import LINE, PHONE, TENANT, World
from tests.support.number_codes import CODE, newest_code, prove

ANN = "usr_ann"
SECOND_LINE = "+15005550007"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.line()
    for user_id in (ANN, "usr_ben"):
        world.app.users.create(TENANT, NewUser(id=user_id, name="Somebody"))
    return world


def ask(world: World, phone: str = PHONE, user_id: str = ANN) -> str:
    world.app.number_codes.request(TENANT, user_id, phone)
    return newest_code(world, phone)


def check(world: World, code: str, user_id: str = ANN) -> None:
    world.app.number_codes.check(TENANT, user_id, PHONE, code)


def other_than(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06}"


def test_code_arrives_by_sms_and_its_words_are_stored_nowhere(world: World) -> None:
    code = ask(world)
    check(world, code)
    key = NumberCode.key_of(TENANT, ANN, phone_address(PHONE))
    assert code not in str(world.table.get(key))
    assert [sms.line for sms, _ in world.sms.taken] == [LINE]


def test_verification_code_hash_cost_resists_brute_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # tests hash quickly
    assert number_code.HASH_COST >= 2**14


def test_code_is_the_users_and_the_numbers_alone(world: World) -> None:
    code = ask(world)
    with pytest.raises(Conflict):
        check(world, code, "usr_ben")
    with pytest.raises(Conflict):
        world.app.number_codes.check(TENANT, ANN, "+15005550199", code)


def test_code_has_five_tries_and_the_right_one_is_too_late_then(world: World) -> None:
    code = ask(world)
    for left in reversed(range(MAX_TRIES)):
        with pytest.raises(Unprocessable) as refused:
            check(world, other_than(code))
        assert refused.value.details == {"tries_left": left}
    with pytest.raises(Conflict):
        check(world, code)


def test_code_expires(world: World) -> None:
    code = ask(world)
    world.clock.advance(VALID_FOR.total_seconds())
    with pytest.raises(Conflict):
        check(world, code)


def test_new_code_replaces_the_earlier_one(world: World) -> None:
    first, second = ask(world), ask(world)
    if first != second:
        with pytest.raises(Unprocessable):
            check(world, first)
    check(world, second)


def test_number_and_user_get_five_codes_a_day(world: World) -> None:
    for _ in range(5):
        ask(world)
    for user_id, phone in ((ANN, "+15005550199"), ("usr_ben", PHONE)):
        with pytest.raises(RateLimited):
            ask(world, phone, user_id)
    world.clock.advance(timedelta(days=1).total_seconds())
    ask(world)


def test_code_needs_a_user_and_a_line_and_another_number_than_a_line(world: World) -> None:
    with pytest.raises(NotFound):
        ask(world, user_id="usr_nobody")
    with pytest.raises(Unprocessable):
        ask(world, LINE)
    world.app.lines.delete(TENANT, LINE)
    with pytest.raises(Conflict, match="line"):
        ask(world)


def test_verification_code_is_sent_from_the_line_the_number_has_texted(world: World) -> None:
    world.line(phone=SECOND_LINE)
    sms = InboundSms(
        account_sid="AC1", message_sid="SM1", sender=PHONE, recipient=SECOND_LINE, body="Hi"
    )
    world.app.sms_receiver.receive(sms)
    world.drain()
    ask(world)
    assert world.sms.taken[-1][0].line == SECOND_LINE


def test_code_comes_from_a_line_with_sms(world: World) -> None:
    world.line(channels=("whatsapp",))
    with pytest.raises(Conflict, match="no line"):
        ask(world)
    world.line(phone=SECOND_LINE)
    ask(world)
    assert [(sms.channel, sms.line) for sms, _ in world.sms.taken] == [("sms", SECOND_LINE)]


def test_wrong_tries_at_once_are_counted_before_they_are_compared(world: World) -> None:
    """A try is taken before the comparison, so that parallel tries have five in all."""
    code = prove(world.table, world.clock, ANN, PHONE)
    check(world, code)
    key = NumberCode.key_of(TENANT, ANN, phone_address(PHONE))
    item = world.table.get(key)
    assert item is not None
    assert (item["tries"], code) == (1, CODE)
