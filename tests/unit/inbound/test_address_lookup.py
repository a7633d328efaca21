"""A number after a long silence: it is a new person's, and the former one keeps all else."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest

from skein.errors import Unavailable
from skein.models.api.directory import NewUser
from skein.models.common.address import phone_address
from skein.models.common.storage import Write
from tests.support.agents import settle
from tests.support.builders import LINE, NOON, PHONE, TENANT, bot
from tests.support.choices import YES_NO, ask, choices_of
from tests.support.number_codes import link_number
from tests.support.silent_numbers import SECOND_LINE, SECRET, days_pass, owner, text, user, world
from tests.support.template import running

KEPT = 179  # days of silence after which the number is still the person's
LAPSED = 180


@pytest.mark.parametrize("line", [LINE, SECOND_LINE])
def test_sms_after_a_long_silence_is_a_new_persons_and_shows_nothing_of_the_former(
    line: str,
) -> None:
    here = world()
    former = text(here, SECRET).message
    text(here, SECRET, sid="SM2", line=SECOND_LINE)
    settle(here)
    days_pass(here, LAPSED)

    new = text(here, "What do you know about me?", sid="SM3", line=line).message
    settle(here)

    assert new.sender.id != former.sender.id
    assert new.chat_id != former.chat_id
    [prompt] = [str(each) for each in here.model.requests if "What do you know" in str(each)]
    assert SECRET not in prompt
    assert user(here, former.sender.id).phones == ()
    assert user(here, former.sender.id).former_addresses == (phone_address(PHONE),)
    assert user(here, new.sender.id).phones == (PHONE,)
    assert here.membership(former.sender.ref, former.chat_id).route is None
    assert [sms.body for sms, _ in here.sms.taken][-1] == "Hello!"


def test_second_line_of_a_new_person_has_a_new_chat_too() -> None:
    here = world()
    former = text(here, SECRET, line=SECOND_LINE).message
    days_pass(here, LAPSED)
    new = text(here, sid="SM2").message
    second = text(here, sid="SM3", line=SECOND_LINE).message
    assert second.sender.id == new.sender.id
    assert second.chat_id != former.chat_id


@pytest.mark.parametrize(("days", "settings"), [(KEPT, {}), (LAPSED, {"number_silence_days": 0})])
def test_sms_before_the_end_of_the_silence_is_the_same_persons(
    days: int, settings: dict[str, int]
) -> None:
    here = world(**settings)
    before = text(here).message
    days_pass(here, days)
    after = text(here, sid="SM2").message
    assert (after.sender.id, after.chat_id) == (before.sender.id, before.chat_id)
    days_pass(here, KEPT)
    assert text(here, sid="SM3").message.sender.id == before.sender.id


def test_day_of_an_sms_is_written_once_a_day_in_the_transaction_of_the_post(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = world()
    text(here)
    days_pass(here, 1)
    written: list[Write] = []
    transact = here.table.transact

    def seen(writes: list[Write]) -> None:
        written.extend(each for each in writes if each.key == owner(here).key)
        transact(writes)

    monkeypatch.setattr(here.table, "transact", seen)
    for number in range(2, 5):
        text(here, sid=f"SM{number}")
    assert owner(here).heard_on == date(2026, 2, 19)
    assert [type(each).__name__ for each in written] == ["Update", "Check", "Check"]


def test_code_of_the_former_person_answers_nothing_for_the_new_one() -> None:
    here = world(choice_hours=720, number_silence_days=20)
    former = text(here).message
    settle(here)
    ask(here, former.sender, chat_id=former.chat_id, options=YES_NO)
    [listed] = choices_of(here, former.sender).open
    code = next(iter(listed.codes.values()))
    posted_before = here.stored_chat(former.chat_id).last_seq
    days_pass(here, 21)
    posted = text(here, code, sid="SM2").message
    assert posted.sender.id != former.sender.id
    assert posted.choice is None
    assert here.stored_chat(former.chat_id).last_seq == posted_before


def test_answer_is_not_sent_to_a_number_that_was_silent_for_too_long() -> None:
    here = world()
    former = text(here).message
    settle(here)
    sent = len(here.sms.taken)
    days_pass(here, LAPSED)
    here.post("Your results are in", bot(), chat_id=former.chat_id)
    settle(here)
    assert len(here.sms.taken) == sent
    newest = here.deliveries(former.chat_id)[-1]
    assert (newest.status, newest.reason) == ("canceled", "number_lost")


@pytest.mark.parametrize(
    ("days", "lookup_days", "since_days", "same_person"),
    [(40, 30, 10, False), (40, 30, 41, True), (40, 0, 10, True), (20, 30, 10, True)],
)
def test_number_that_twilio_calls_reassigned_is_a_new_persons(
    days: int, lookup_days: int, since_days: int, same_person: bool
) -> None:
    here = world(reassigned_lookup_days=lookup_days)
    former = text(here, SECRET).message
    days_pass(here, days)
    here.sms.reassigned[PHONE] = here.clock.now().date() - timedelta(days=since_days)
    new = text(here, sid="SM2").message
    assert (new.sender.id == former.sender.id) == same_person
    assert (new.chat_id == former.chat_id) == same_person
    assert text(here, sid="SM2").message == new, "a redelivered SMS changes nothing"
    assert (user(here, former.sender.id).phones == (PHONE,)) == same_person


def test_number_stays_with_its_person_if_twilio_does_not_answer() -> None:
    here = world(reassigned_lookup_days=30)
    former = text(here).message
    days_pass(here, 40)
    here.sms.plan_find(Unavailable("Twilio"))
    assert text(here, sid="SM2").message.sender.id == former.sender.id


def test_account_keeps_its_chats_and_proves_the_number_again_by_a_link() -> None:
    here = world()
    ann = here.app.users.create(TENANT, NewUser(name="Ann", phones=(PHONE,)))
    before = text(here, SECRET).message
    assert before.sender.id == ann.id
    days_pass(here, LAPSED)
    with running("AdminApi"):
        link_number(here, ann.id, PHONE)
    assert owner(here).heard_on == here.clock.now().date()
    after = text(here, sid="SM2").message
    assert (after.sender.id, after.chat_id) == (ann.id, before.chat_id)


def test_link_of_a_silent_callers_number_does_not_move_the_callers_chats() -> None:
    here = world()
    former = text(here, SECRET).message
    days_pass(here, LAPSED)
    ben = here.app.users.create(TENANT, NewUser(name="Ben"))
    with running("AdminApi"):
        linked = link_number(here, ben.id, PHONE)
    assert (linked.phones, linked.former_ids) == ((PHONE,), ())
    assert user(here, former.sender.id).phones == ()
    assert not here.stored_chat(former.chat_id).has(ben.as_member.ref)
    assert NOON.date() < here.clock.now().date() == owner(here).heard_on


def test_two_sms_at_once_after_a_long_silence_make_one_new_person() -> None:
    here = world()
    former = text(here).message
    days_pass(here, LAPSED)
    with ThreadPoolExecutor(2) as pool:
        posted = list(pool.map(lambda n: text(here, sid=f"SM{n}", line=LINE), (2, 3)))
    [new] = {each.message.sender.id for each in posted}
    assert new != former.sender.id
    assert owner(here).user_id == new
    assert len({each.message.chat_id for each in posted}) == 1
