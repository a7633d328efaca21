"""Answers to choices: matched by code, counted once, and only from the person who was asked."""

from typing import Any

import pytest

from skein.errors import Conflict, Forbidden, NotFound, RateLimited, Unprocessable
from skein.models.common.reason import Reason
from skein.models.common.storage import Update
from skein.privacy.erasure_sweep import tombstone
from skein.services.choices.answering import Answering
from tests.support.builders import TENANT, World, bot, person
from tests.support.choices import (
    AHMAD,
    COACH,
    HUSAM,
    POST,
    answer,
    ask,
    choice_in,
    choices_of,
    direct_world,
    given,
    interrupted,
)

SALES = bot("agt_b", "Sales")


def team(**fields: Any) -> World:
    """A group of two people and two agents."""
    world = World()
    for agent in (COACH, SALES):
        world.agent(agent.id, agent.name)
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, AHMAD, COACH, SALES, **fields)
    return world


def test_an_answer_is_a_message_and_is_recorded_in_the_question() -> None:
    world = direct_world()
    ask(world)
    message = answer(world, 1).message
    assert (message.kind, message.text, message.reply_to) == ("text", "Yes", 1)
    assert message.sender.ref == HUSAM.ref
    choice = choice_in(world, 1)
    assert choice.answer is not None
    assert (choice.answer.option, choice.answer.seq) == ("yes", 2)
    assert choice.status(world.clock.now()) == "answered"
    assert choices_of(world).open == ()


@pytest.mark.parametrize("respond", ["every", "mention", "manual"])
def test_an_answer_triggers_exactly_the_agent_that_asked(respond: str) -> None:
    world = team(respond=respond)
    ask(world)
    message = answer(world, 1).message
    assert list(message.runs) == [COACH.id]
    assert message.reasons.get(SALES.id, message.reason) == Reason.NOT_MENTIONED


def test_answer_to_skeins_own_question_triggers_no_agent() -> None:
    world = direct_world()
    ask(world, purpose="consent", data=POST)
    message = answer(world, 1).message
    assert (message.kind, message.runs, message.reason) == ("keyword", {}, Reason.KEYWORD)


def test_an_answer_in_words_is_the_message() -> None:
    world = direct_world()
    ask(world, options=())
    assert answer(world, 1, text="On Monday").message.text == "On Monday"
    answered = choice_in(world, 1).answer
    assert answered is not None
    assert answered.option is None


def test_an_answer_that_is_a_reset_phrase_resets_nothing() -> None:
    world = direct_world()
    ask(world, options=())
    assert not answer(world, 1, text="start over").message.resets


def test_an_answer_sent_again_is_the_same_message() -> None:
    world = direct_world()
    ask(world)
    first, again = answer(world, 1), answer(world, 1)
    assert (first.created, again.created) == (True, False)
    assert again.message == first.message
    assert len(world.messages()) == 2


def test_a_second_answer_is_a_conflict() -> None:
    world = direct_world()
    ask(world)
    answer(world, 1)
    with pytest.raises(Conflict, match="answered"):
        answer(world, 1, client_id="answer-2", option="no")


def test_an_answer_after_the_expiry_is_a_conflict() -> None:
    world = direct_world()
    ask(world)
    world.clock.advance(24 * 3_600)
    with pytest.raises(Conflict, match="expired"):
        answer(world, 1)


@pytest.mark.parametrize("in_app", [True, False])
def test_of_two_concurrent_answers_one_counts(*, in_app: bool) -> None:
    world = direct_world()
    ask(world)
    answering = world.app.get(Answering)
    interrupted(world, lambda: answer(world, 1, client_id="faster", option="no"))
    with pytest.raises(Conflict):
        (answering.answer_in_app if in_app else answering.answer)(given(1))
    assert world.texts() == ["Shall I book it?\nYes / No", "No"]


def test_a_question_that_is_erased_meanwhile_stays_erased() -> None:
    world = direct_world()
    question = ask(world).message
    erased = Update(question.key, set=tombstone(question))
    interrupted(world, lambda: world.table.write(erased))
    with pytest.raises(NotFound):
        answer(world, 1)
    assert [message.choice for message in world.messages()] == [None]


def test_an_answer_survives_another_change_of_the_persons_choices() -> None:
    world = direct_world()
    ask(world)
    interrupted(world, lambda: ask(world, client_id="ask-2"))
    assert answer(world, 1).message.seq == 3
    assert [choice.seq for choice in choices_of(world).open] == [2]


def test_an_answer_and_a_question_of_another_chat_at_once_both_count() -> None:
    world = direct_world()
    world.chat(HUSAM, COACH, chat_id="chat_2")
    ask(world)
    interrupted(world, lambda: ask(world, chat_id="chat_2", client_id="ask-2"))
    answer(world, 1)
    assert [choice.chat_id for choice in choices_of(world).open] == ["chat_2"]


def test_another_member_may_not_answer() -> None:
    world = team()
    ask(world)
    with pytest.raises(Forbidden):
        answer(world, 1, AHMAD)


@pytest.mark.parametrize("seq", [2, 3])
def test_a_message_without_a_question_has_no_answer(seq: int) -> None:
    world = direct_world()
    ask(world)
    world.post("Hi", HUSAM)
    with pytest.raises(NotFound):
        answer(world, seq)


def test_answer_of_non_member_is_not_found() -> None:
    world = team()
    ask(world)
    with pytest.raises(NotFound):
        answer(world, 1, person("usr_other", "Other"))


def test_a_person_who_left_may_not_answer() -> None:
    world = team()
    ask(world)
    world.app.chat_admin.remove_member(TENANT, "chat_1", by=HUSAM.ref, member=HUSAM.ref)
    with pytest.raises(NotFound):
        answer(world, 1)


def test_question_of_an_agent_that_left_may_be_answered_when_it_is_back() -> None:
    world = team()
    ask(world)
    admin = world.app.chat_admin
    admin.remove_member(TENANT, "chat_1", by=HUSAM.ref, member=COACH.ref)
    with pytest.raises(Conflict, match="the agent that asked has left the chat"):
        answer(world, 1)
    assert [each.seq for each in choices_of(world).open] == [1]
    world.post("Yes", HUSAM)
    world.add(COACH, by=HUSAM)
    assert list(answer(world, 1).message.runs) == [COACH.id]


@pytest.mark.parametrize(
    "wrong", [{"option": "maybe"}, {"text": "Yes"}, {"option": "yes", "text": "Yes"}]
)
def test_a_wrong_option_is_refused(wrong: dict[str, str]) -> None:
    world = direct_world()
    ask(world)
    with pytest.raises(Unprocessable):
        answer(world, 1, HUSAM, **wrong)
    assert len(choices_of(world).open) == 1


def test_an_option_for_a_question_in_words_is_refused() -> None:
    world = direct_world()
    ask(world, options=())
    with pytest.raises(Unprocessable):
        answer(world, 1, option="yes")


def test_answers_from_the_app_count_against_the_limit() -> None:
    world = direct_world()
    ask(world)
    answering = world.app.get(Answering)
    for _ in range(world.settings.user_messages_per_minute):
        world.app.rate_limiter.admit(TENANT, HUSAM.id)
    with pytest.raises(RateLimited):
        answering.answer_in_app(given(1))
    world.clock.advance(60)
    assert answering.answer_in_app(given(1)).created
    assert not answering.answer_in_app(given(1)).created


def test_other_messages_never_wait_for_an_answer() -> None:
    world = direct_world()
    ask(world)
    message = world.post("Yes", HUSAM).message
    assert (message.kind, list(message.runs)) == ("text", [COACH.id])
    assert choice_in(world, 1).answer is None
