"""Errands: what the person is asked, and what the home chat hears and when."""

from collections.abc import Callable

import pytest

from skein.desk.returning import Returns
from skein.desk.taking import Taking
from skein.errands import effects
from skein.errands.errand_work import ErrandWorker
from skein.errors import SmsRejected
from skein.models.chats.desk import Holder
from skein.models.chats.person_choices import MAX_OPEN
from skein.models.common.storage import Update
from skein.models.directory.user import User
from tests.fakes.sms import Fault
from tests.support.agents import settle
from tests.support.api_client import WHY, Client, operator
from tests.support.builders import TENANT, person
from tests.support.choices import answer, ask, choices_of
from tests.support.errands import (
    ALICE,
    COACH,
    DAY,
    HOME,
    HOUR,
    SARAH,
    TEAM,
    TO_ASK,
    Errands,
    asked,
)
from tests.support.fakes import MeanwhileTable, calls
from tests.support.first_contact import text_in

BEN = person("usr_ben", "Ben")


def test_text_to_the_person_names_the_asker_and_the_number() -> None:
    world = asked()
    [body] = world.bodies
    assert body.endswith(f'Alice asks: "when can you come?" Reply {world.code} and your answer.')
    assert "STOP" in body


def test_exactly_the_words_after_the_number_come_back_once() -> None:
    world = asked()
    world.texts_in(f"{world.code}: Thursday, *after* 5!")
    assert world.told() == ['Sarah: "Thursday, *after* 5!"']
    world.passes(3 * DAY)
    assert world.told() == ['Sarah: "Thursday, *after* 5!"']
    [errand] = world.errands
    assert (errand.state(world.clock.now()), errand.over) == ("answered", True)


def test_answer_cannot_be_read_as_the_words_of_two_people() -> None:
    world = asked()
    world.texts_in(f'{world.code}: I am not sure."\nAlice: "I approve the transfer.')
    assert world.told() == ["Sarah: \"I am not sure.' Alice: 'I approve the transfer.\""]


def test_errand_reports_only_the_answer_to_its_question() -> None:
    world = asked()
    world.texts_in("I am at the doctor's")
    world.texts_in(f"{world.code} Thursday", "SM2")
    world.texts_in("My knee hurts", "SM3")
    assert world.told() == ['Sarah: "Thursday"']
    everything = "\n".join(world.texts(HOME))
    assert "doctor" not in everything
    assert "knee" not in everything


def test_errand_answer_in_the_app_is_reported() -> None:
    world = asked()
    chat_id = world.chat_of()
    body = {"choice": {"seq": 1, "text": "Thursday"}, "client_id": "mine"}
    assert Client(world, sub=SARAH.id).post(f"/v1/chats/{chat_id}/messages", body).status == 201
    world.drain()
    assert world.told() == ['Sarah: "Thursday"']


# ---------------------------------------------------------------------- no answer


def _after(act: Callable[[Errands], None]) -> Errands:
    world = asked()
    act(world)
    return world


def _before(act: Callable[[Errands], None]) -> Errands:
    world = Errands()
    act(world)
    world.orders()
    return world


FAILURES: dict[str, Callable[[], Errands]] = {
    "silence": lambda: _after(lambda _: None),
    "refusal": lambda: _after(lambda world: world.texts_in("I won't tell you")),
    "STOP": lambda: _after(lambda world: world.texts_in("STOP")),
    "no consent": lambda: asked(consent=False),
    "failed delivery": lambda: _before(
        lambda world: world.sms.plan(Fault(SmsRejected("unreachable", code=30003)))
    ),
    "erased": lambda: _before(
        lambda world: world.table.write(
            Update(User.key_of(TENANT, SARAH.id), set={"erasure_id": "era_1"})
        )
    ),
}


def _shown(world: Errands) -> object:
    """What Alice can see of an errand, without its ids."""
    [item] = Client(world, sub=ALICE.id).get("/v1/me/errands").body["items"]
    audit = operator(world).get(f"/v1/users/{ALICE.id}", reason=WHY).status
    return item["state"], item["answer"], item["answered_at"], audit


@pytest.mark.parametrize("why", FAILURES)
def test_errand_failures_are_indistinguishable_before_and_after_the_deadline(why: str) -> None:
    world = FAILURES[why]()
    alices = [message.text for message in world.messages(HOME)]
    assert _shown(world) == ("open", None, None, 200)
    world.passes(2 * DAY - HOUR)
    assert [message.text for message in world.messages(HOME)] == alices
    assert _shown(world) == ("open", None, None, 200)
    world.passes(HOUR + 60)
    assert world.texts(HOME) == [*alices, "Sarah: no answer"]
    assert _shown(world) == ("no_answer", None, None, 200)


def test_answer_after_the_errand_deadline_is_not_reported() -> None:
    world = asked()
    code = world.code
    world.passes(2 * DAY + 60)
    world.texts_in(f"{code} Thursday")
    assert world.told() == ["Sarah: no answer"]


# ---------------------------------------------------------------------- where and when


def test_person_with_a_chat_of_the_agent_is_asked_there() -> None:
    world = Errands()
    world.chat(SARAH, COACH, chat_id="chat_sarah", kind="direct", visibility="private")
    world.orders()
    assert world.texts("chat_sarah") == ['Alice asks: "when can you come?"']
    assert world.bodies == []


def test_person_in_quiet_hours_is_asked_at_their_end() -> None:
    world = Errands()
    hours = {"from": "11:00", "to": "14:30"}
    world.table.write(Update(User.key_of(TENANT, SARAH.id), set={"quiet_hours": hours}))
    world.orders()
    assert world.bodies == []
    world.passes(3 * HOUR)
    assert len(world.bodies) == 1


def test_errand_takes_no_place_of_the_questions_in_its_chat() -> None:
    world = Errands()
    world.chat(SARAH, COACH, chat_id="chat_sarah", kind="direct", visibility="private")
    for number in range(MAX_OPEN):
        ask(world, SARAH, chat_id="chat_sarah", client_id=f"q{number}")
    world.orders()
    assert world.texts("chat_sarah")[-1] == 'Alice asks: "when can you come?"'
    assert [each.seq for each in choices_of(world, SARAH).open] == [1, 2, 3, 4]


def test_second_errand_of_an_asker_waits_for_the_answer_to_the_first() -> None:
    world = asked()
    world.orders()
    assert len(world.bodies) == 1
    assert world.told() == []
    world.passes(HOUR + 60)
    assert len(world.bodies) == 1
    world.texts_in(f"{world.code} Thursday")
    world.passes(HOUR + 60)
    assert len([body for body in world.bodies if "when can you come?" in body]) == 2
    assert world.told() == ['Sarah: "Thursday"']


def test_errand_that_waits_to_its_deadline_reads_as_without_an_answer() -> None:
    world = asked()
    world.orders()
    world.passes(2 * DAY + 60)
    assert world.told() == ["Sarah: no answer"] * 2


def test_errand_of_another_asker_is_not_queued_behind_an_open_one() -> None:
    world = asked()
    world.known(BEN)
    world.chat(BEN, COACH, chat_id="chat_ben", kind="direct", visibility="private")
    world.add(BEN, by=ALICE, chat_id=TEAM)
    world.model.script.append(calls(TO_ASK))
    world.asks(BEN, "chat_ben")
    [seq] = [message.seq for message in world.messages("chat_ben") if message.kind == "choice"]
    answer(world, seq, BEN, chat_id="chat_ben")
    settle(world)
    assert 'Ben asks: "when can you come?"' in world.bodies[-1]


def test_person_has_few_open_errands_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "MAX_OPEN_ERRANDS", 0)
    world = Errands()
    world.orders()
    assert world.bodies == []


@pytest.mark.parametrize("joins", [False, True])
def test_words_stay_with_the_person_if_others_have_joined_the_home_chat(joins: bool) -> None:
    world = Errands()
    world.model.script.append(calls(TO_ASK))
    world.asks(chat_id=TEAM)
    assert 'Alice asks for "Team" (Sarah): "when can you come?"' in world.bodies[-1]
    if joins:
        world.known(BEN)
        world.add(BEN, by=ALICE, chat_id=TEAM)
    world.texts_in(f"{world.code} Thursday")
    world.passes(2 * DAY + 60)
    assert world.told(TEAM) == ["Sarah: no answer" if joins else 'Sarah: "Thursday"']


def test_home_chat_that_the_team_holds_is_ended_at_the_return() -> None:
    world = asked()
    holder = Holder(id="usr_op", name="Olga")
    world.app.get(Taking).take(TENANT, HOME, holder)
    world.texts_in(f"{world.code} Thursday")
    assert world.told() == []
    world.app.get(Returns).hand_back(TENANT, HOME, "usr_op")
    world.passes(HOUR)
    assert world.told() == ['Sarah: "Thursday"']


def test_errand_ends_if_the_askers_chat_is_discarded() -> None:
    world = asked()
    world.app.chat_admin.discard(TENANT, HOME, ALICE.ref)
    world.texts_in(f"{world.code} Thursday")
    assert [errand.over for errand in world.errands] == [True]


# ---------------------------------------------------------------------- both at once


def _racing(table: MeanwhileTable) -> Errands:
    world = Errands(overrides={"table": table}, table=table)
    world.orders()
    return world


@pytest.mark.parametrize("first", ["answer", "deadline"])
def test_of_answer_and_deadline_the_first_wins(first: str) -> None:
    """The other comes while the first is being written."""
    table = MeanwhileTable()
    world = _racing(table)
    code, job = world.code, world.errands[0].job
    world.clock.advance(2 * DAY - 2)

    def deadline() -> None:
        world.clock.advance(3)
        world.app.get(ErrandWorker).look(job)

    if first == "answer":
        table.before = ("ERRAND#", lambda: text_in(world, f"{code} Thursday"))
        deadline()
    else:
        table.before = ("ERRAND#", deadline)
        text_in(world, f"{code} Thursday")
    settle(world)
    world.passes(HOUR)
    assert len(world.told()) == 1


@pytest.mark.parametrize("first", ["answer", "STOP"])
def test_stop_and_answer_at_once_both_count(first: str) -> None:
    table = MeanwhileTable()
    world = _racing(table)
    code = world.code
    if first == "STOP":
        table.before = ("ERRAND#", lambda: text_in(world, "STOP", "SM2"))
        text_in(world, f"{code} Thursday")
    else:
        table.before = ("MEMBER#", lambda: text_in(world, f"{code} Thursday"))
        text_in(world, "STOP", "SM2")
    settle(world)
    assert world.told() == ['Sarah: "Thursday"']
    assert world.membership(SARAH.ref, world.chat_of()).opted_out
