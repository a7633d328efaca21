"""Questions to one person: posted and listed together, once, within the person's limits."""

from datetime import timedelta

import pytest

from skein.errors import AlreadyAsked, Conflict, ExtraWriteFailed, RateLimited, Unprocessable
from skein.models.chats.person_choices import (
    MAX_CONSENTS_A_DAY,
    MAX_INVITATIONS,
    MAX_LISTED,
    MAX_OPEN,
)
from skein.models.common.reason import Reason
from skein.models.common.storage import Check, Exists, Key, Update
from skein.privacy.erasure_sweep import tombstone
from skein.services.choices.asking import Asking, NewChoice
from skein.settings import Settings
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.choices import (
    COACH,
    HUSAM,
    POST,
    YES_NO,
    answer,
    ask,
    choice_in,
    choices_of,
    direct_world,
    interrupted,
)
from tests.support.sms import Texting

AHMAD = person("usr_ahmad", "Ahmad")
DAY = timedelta(days=1)


def test_a_choice_is_a_message_and_an_open_choice_of_its_addressee() -> None:
    world = direct_world()
    message = ask(world).message
    assert (message.kind, message.sender.ref) == ("choice", COACH.ref)
    assert message.text == "Shall I book it?\nYes / No"
    assert message.choice is not None
    assert message.choice.status(NOON) == "open"
    assert message.choice.expires_at == NOON + DAY
    [listed] = choices_of(world).open
    assert (listed.chat_id, listed.seq, listed.agent_id) == ("chat_1", 1, "agt_a")
    assert listed.expires_at == message.choice.expires_at


def test_a_choice_triggers_no_agent() -> None:
    world = World()
    for agent in (COACH, bot("agt_b", "Sales")):
        world.agent(agent.id, agent.name)
    world.chat(HUSAM, COACH, bot("agt_b", "Sales"))
    message = ask(world).message
    assert (message.runs, message.reason) == ({}, Reason.CHOICE)


def test_a_choice_asked_again_is_the_same_message() -> None:
    world = direct_world()
    first = ask(world)
    again = ask(world)
    assert (first.created, again.created) == (True, False)
    assert again.message == first.message
    assert len(choices_of(world).open) == 1


def test_the_last_allowed_choice_asked_again_is_not_over_the_limit() -> None:
    world = direct_world()
    asked = [ask(world, client_id=f"ask-{n}") for n in range(MAX_OPEN)]
    assert ask(world, client_id=f"ask-{MAX_OPEN - 1}").message == asked[-1].message


def test_fourth_question_in_a_chat_ends_the_oldest_there() -> None:
    world = direct_world()
    for n in range(MAX_OPEN + 1):
        assert ask(world, client_id=f"ask-{n}").created
    now = world.clock.now()
    statuses = [choice_in(world, n + 1).status(now) for n in range(MAX_OPEN + 1)]
    assert statuses == ["expired", *["open"] * MAX_OPEN]
    assert [choice.seq for choice in choices_of(world).open] == [2, 3, 4]
    with pytest.raises(Conflict, match="expired"):
        answer(world, 1)


def test_code_of_a_question_that_was_ended_is_over() -> None:
    world = Texting()
    for n in range(MAX_OPEN + 1):
        ask(world, client_id=f"ask-{n}")
    assert {code.seq for code in choices_of(world).over} == {1}


def test_questions_of_another_chat_take_no_place() -> None:
    world = direct_world()
    world.chat(AHMAD, HUSAM, COACH, chat_id="chat_2")
    ask(world)
    for n in range(MAX_OPEN + 2):
        assert ask(world, client_id=f"ask-{n}", chat_id="chat_2").created
    assert choice_in(world, 1).status(world.clock.now()) == "open"
    assert [each.seq for each in choices_of(world).open if each.chat_id == "chat_1"] == [1]


def test_questions_of_all_chats_are_few_and_the_oldest_ends_beyond() -> None:
    world = direct_world()
    for n in range(MAX_LISTED // MAX_OPEN):
        world.chat(HUSAM, COACH, chat_id=f"chat_many_{n}")
        for m in range(MAX_OPEN):
            ask(world, client_id=f"ask-{m}", chat_id=f"chat_many_{n}")
    assert ask(world).created
    assert len(choices_of(world).open) == MAX_LISTED
    assert choice_in(world, 1, "chat_many_0").status(world.clock.now()) == "expired"


def test_question_that_was_erased_loses_its_place_without_a_write() -> None:
    world = direct_world()
    first = ask(world).message
    world.table.write(Update(first.key, set=tombstone(first)))
    for n in range(MAX_OPEN):
        assert ask(world, client_id=f"ask-{n}").created
    assert [choice.seq for choice in choices_of(world).open] == [2, 3, 4]


def test_answer_while_a_question_takes_its_place_counts() -> None:
    world = direct_world()
    for n in range(MAX_OPEN):
        ask(world, client_id=f"ask-{n}")
    interrupted(world, lambda: answer(world, 1))
    assert ask(world, client_id="ask-over").created
    assert choice_in(world, 1).status(world.clock.now()) == "answered"
    assert [choice.seq for choice in choices_of(world).open] == [2, 3, 5]


def test_an_expired_choice_does_not_count() -> None:
    world = direct_world()
    for n in range(MAX_OPEN):
        ask(world, client_id=f"ask-{n}")
    world.clock.advance(24 * 3_600)
    assert choices_of(world).open == ()
    assert ask(world, client_id="ask-later").created


def test_invitations_have_a_limit_of_their_own() -> None:
    world = direct_world()
    for n in range(MAX_INVITATIONS + 1):
        world.chat(AHMAD, chat_id=f"chat_{n + 2}")
    for n in range(MAX_INVITATIONS):
        world.app.chat_admin.add_member(TENANT, f"chat_{n + 2}", AHMAD, HUSAM.ref)
    with pytest.raises(RateLimited):
        world.app.chat_admin.add_member(TENANT, f"chat_{MAX_INVITATIONS + 2}", AHMAD, HUSAM.ref)
    assert ask(world).created


def test_person_is_asked_for_few_consents_a_day_in_a_chat() -> None:
    world = direct_world()
    world.chat(AHMAD, HUSAM, COACH, chat_id="chat_2")
    for n in range(MAX_CONSENTS_A_DAY):
        asked = ask(world, client_id=f"ask-{n}", purpose="consent", data=POST).message
        answer(world, asked.seq, client_id=f"answer-{n}")
    assert ask(world, purpose="consent", data=POST, chat_id="chat_2").created
    with pytest.raises(RateLimited) as refused:
        ask(world, client_id="ask-over", purpose="consent", data=POST)
    assert refused.value.retry_after_seconds == 12 * 3_600
    world.clock.advance(12 * 3_600)
    assert ask(world, client_id="ask-over", purpose="consent", data=POST).created


def test_agent_refused_twice_in_a_chat_asks_for_no_consent_there_on_that_day() -> None:
    world = direct_world()
    world.chat(AHMAD, HUSAM, COACH, chat_id="chat_2")
    for n in range(2):
        asked = ask(world, client_id=f"ask-{n}", purpose="consent", data=POST).message
        answer(world, asked.seq, client_id=f"answer-{n}", option="no")
    assert ask(world, purpose="consent", data=POST, chat_id="chat_2").created
    with pytest.raises(RateLimited):
        ask(world, client_id="ask-over", purpose="consent", data=POST)
    assert ask(world).created
    world.clock.advance(12 * 3_600)
    assert ask(world, client_id="ask-over", purpose="consent", data=POST).created


def test_consent_that_is_asked_for_already_names_the_question() -> None:
    world = direct_world()
    ask(world, purpose="consent", data=POST)
    with pytest.raises(AlreadyAsked, match=r"already asked: only the person's press"):
        ask(world, client_id="again", purpose="consent", data=POST)
    assert not ask(world, purpose="consent", data=POST).created  # the same call, after a crash
    assert ask(world, client_id="other", purpose="consent", data=POST, question="And?").created
    assert ask(world, client_id="own question").created
    answer(world, 1)
    assert ask(world, client_id="again", purpose="consent", data=POST).created


def test_a_person_who_is_not_a_member_is_not_asked() -> None:
    world = direct_world()
    with pytest.raises(Unprocessable):
        ask(world, person("usr_other", "Other"))
    assert world.messages() == []


def test_a_failed_condition_of_the_caller_asks_nothing() -> None:
    world = direct_world()
    gone = Check(Key("nothing", "here"), Exists())
    new = NewChoice(
        tenant=TENANT,
        chat_id="chat_1",
        agent=COACH.ref,
        client_id="ask-1",
        addressee=HUSAM.id,
        question="Shall I?",
        options=YES_NO,
    )
    with pytest.raises(ExtraWriteFailed):
        world.app.get(Asking).ask(new, extra_writes=lambda _: (gone,))
    assert (world.messages(), choices_of(world).open) == ([], ())


def test_the_expiry_is_a_setting() -> None:
    world = World(settings=Settings(choice_hours=2))
    world.agent()
    world.chat(HUSAM, COACH)
    message = ask(world).message
    assert message.choice is not None
    assert message.choice.expires_at == NOON + timedelta(hours=2)


def test_a_question_of_over_ten_segments_by_sms_is_refused_and_not_posted() -> None:
    world = Texting()
    with pytest.raises(Unprocessable, match=r"too long for SMS \(1[0-9] segments, at most 10\)"):
        ask(world, question="\u0434" * 900)
    assert world.messages() == []


def test_a_question_by_sms_is_never_cut() -> None:
    world = Texting(settings=Settings(sms_answer_segments=2))
    ask(world, question="d" * 1_000)
    world.drain()
    assert "".join(world.sms.bodies).count("d") == 1_000
    assert sum(part.segments for part in world.deliveries()[0].parts) > 2
