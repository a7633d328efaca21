"""An SMS after many silent days: nothing private, nothing done elsewhere, and one question."""

import re
from typing import Any

import pytest

from skein.errors import Conflict
from skein.models.api.directory import NewUser
from skein.models.chats.choice import NO, YES
from skein.models.chats.person_choices import MAX_OPEN
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.services.chats.post_message import PostedMessage
from skein.services.choices.answering import Answering
from tests.support.agents import results_of, settle
from tests.support.builders import PHONE, TENANT, World
from tests.support.choices import YES_NO, ask, choices_of, given
from tests.support.fakes import calls
from tests.support.number_codes import link_number
from tests.support.silent_numbers import SECOND_LINE, SECRET, days_pass, owner, text, user, world
from tests.support.template import running

ASKED_AFTER = 30
CODES = re.compile(r"(Yes|No): reply ([0-9]{6})")
QUESTION = "This number was silent for 34 days. Is this still Ann? Answer yes to keep it."


def silent_world(*, days: int = 34, **settings: Any) -> tuple[World, PostedMessage]:
    """The agent knows a secret of Ann, and then nothing came from her number for days."""
    here = world(**({"ask_after_silent_days": ASKED_AFTER} | settings))
    here.app.users.create(TENANT, NewUser(id="usr_ann", name="Ann", phones=(PHONE,)))
    before = text(here, "Good night")
    rest(here)
    hers = Audience(open=False, people=("usr_ann",))
    private = Owner(tenant=TENANT, agent_id="agt_a", scope="user:usr_ann", audience=hers)
    here.app.memories.add(private, SECRET, "core", made_by="tool")
    days_pass(here, days)
    return here, before


def rest(here: World) -> None:
    here.clock.advance(10)  # longer than the debounce
    settle(here)


def prompt_with(here: World, words: str) -> str:
    return next(str(each) for each in reversed(here.model.requests) if words in str(each))


def codes(here: World) -> dict[str, str]:
    """The codes of the question that came by SMS, by label."""
    bodies = [sms.body for sms, _ in here.sms.taken if sms.body.startswith("This number")]
    return dict(CODES.findall(bodies[-1]))


def questions(here: World, chat_id: str) -> list[str]:
    return [one.choice.question for one in here.messages(chat_id) if one.choice is not None]


def test_prompt_after_many_silent_days_shows_nothing_from_before_until_a_yes() -> None:
    here, before = silent_world()
    chat_id = before.message.chat_id
    for number, words in ((2, "What do you know?"), (3, "And of last week?")):
        text(here, words, sid=f"SM{number}")
        rest(here)
        prompt = prompt_with(here, words)
        assert SECRET not in prompt
        assert "This number was silent for 34 days" in prompt
    assert questions(here, chat_id) == [QUESTION]

    answer = text(here, codes(here)["Yes"], sid="SM4").message
    text(here, "It is me", sid="SM5")
    rest(here)

    assert (answer.kind, answer.chat_id) == ("keyword", chat_id)
    assert owner(here).unproven is None
    assert SECRET in prompt_with(here, "It is me")
    assert questions(here, chat_id) == [QUESTION]


@pytest.mark.parametrize(("days", "setting"), [(29, 30), (34, 0)])
def test_identity_question_is_not_asked_before_the_silent_days_or_when_turned_off(
    days: int, setting: int
) -> None:
    here, before = silent_world(days=days, ask_after_silent_days=setting)
    text(here, "Hi again", sid="SM2")
    rest(here)
    assert questions(here, before.message.chat_id) == []
    assert SECRET in prompt_with(here, "Hi again")


def test_answer_no_assigns_the_number_to_a_new_person_on_the_next_sms() -> None:
    here, before = silent_world()
    text(here, "Who are you?", sid="SM2")
    rest(here)
    no = codes(here)["No"]
    answer = text(here, no, sid="SM3").message
    assert text(here, no, sid="SM3").message == answer, "a redelivered SMS changes nothing"
    new = text(here, "Hello", sid="SM4").message
    rest(here)
    assert new.sender.id != before.message.sender.id
    assert new.chat_id != before.message.chat_id
    assert SECRET not in prompt_with(here, "Hello")
    assert user(here, before.message.sender.id).phones == ()
    assert (owner(here).user_id, owner(here).reassigned) == (new.sender.id, False)


@pytest.mark.parametrize("option", [YES, NO])
def test_answer_in_the_app_counts_too(option: str) -> None:
    here, before = silent_world()
    text(here, "Hi", sid="SM2")
    rest(here)
    ann = before.message.sender
    [listed] = choices_of(here, ann).open
    answer = given(listed.seq or 0, ann, chat_id=before.message.chat_id, option=option)
    here.app.get(Answering).answer(answer)
    after = text(here, "Hi", sid="SM3").message
    assert (after.sender.id == ann.id) == (option == YES)


def test_answer_of_a_person_without_the_number_is_refused() -> None:
    here, before = silent_world()
    text(here, "Hi", sid="SM2")
    ann = before.message.sender
    [listed] = choices_of(here, ann).open
    with running("AdminApi"):
        here.app.phone_links.unlink(TENANT, ann.id, PHONE)
    answer = given(listed.seq or 0, ann, chat_id=before.message.chat_id)
    with pytest.raises(Conflict, match="no longer belongs to you"):
        here.app.get(Answering).answer(answer)


@pytest.mark.parametrize(
    ("tool", "arguments", "refused"),
    [
        ("save_memory", {"text": "Ann is away", "kind": "core"}, True),
        ("recall", {"query": "HIV"}, True),
        ("read_messages", {}, True),
        ("send_message", {"text": "Hi", "chat_id": "chat_elsewhere"}, True),
        ("send_message", {"text": "Hi"}, False),
    ],
)
def test_tools_that_act_are_refused_for_an_unproven_number(
    tool: str, arguments: dict[str, str], refused: bool
) -> None:
    here, before = silent_world()
    here.model.script.extend([calls((tool, arguments)), "Done"])
    text(here, "Do it", sid="SM2")
    rest(here)
    run = here.runs(before.message.chat_id)[-1]
    [result] = results_of(here, run)
    assert ("silent for 34 days" in result.content) == refused


def test_link_by_a_code_proves_the_number() -> None:
    here, before = silent_world()
    text(here, "Hi", sid="SM2")
    rest(here)
    with running("AdminApi"):
        link_number(here, before.message.sender.id, PHONE)
    assert (owner(here).unproven, owner(here).user_id) == (None, before.message.sender.id)
    text(here, "It is me", sid="SM3")
    rest(here)
    assert SECRET in prompt_with(here, "It is me")


def test_code_of_another_question_answers_nothing_after_the_silence() -> None:
    here, before = silent_world(days=0, choice_hours=720, ask_after_silent_days=20)
    ann = before.message.sender
    ask(here, ann, chat_id=before.message.chat_id, options=YES_NO)
    [listed] = choices_of(here, ann).open
    days_pass(here, 21)
    posted = text(here, next(iter(listed.codes.values())), sid="SM2").message
    assert posted.kind == "text"
    assert listed.seq in {choice.seq for choice in choices_of(here, ann).open}


def test_question_is_asked_in_spite_of_other_open_questions() -> None:
    here, before = silent_world(days=0, choice_hours=720, ask_after_silent_days=20)
    ann = before.message.sender
    for number in range(MAX_OPEN):
        ask(here, ann, chat_id=before.message.chat_id, options=YES_NO, client_id=f"ask-{number}")
    days_pass(here, 21)
    text(here, "Hi", sid="SM2")
    assert choices_of(here, ann).open[-1].purpose == "number"


def test_sms_to_another_line_is_unproven_too_and_asks_no_second_time() -> None:
    here, before = silent_world()
    text(here, "Hi", sid="SM2")
    second = text(here, "Hi there", sid="SM3", line=SECOND_LINE).message
    rest(here)
    assert questions(here, second.chat_id) == []
    assert "This number was silent for 34 days" in prompt_with(here, "Hi there")
    assert questions(here, before.message.chat_id) == [QUESTION]


def test_question_that_expired_is_asked_again_on_another_day() -> None:
    here, before = silent_world()
    for number in (2, 3):
        text(here, "Hi", sid=f"SM{number}")
        rest(here)
        days_pass(here, 2)
    assert questions(here, before.message.chat_id) == [QUESTION, QUESTION]


def test_more_after_many_silent_days_sends_nothing_of_a_text_from_before() -> None:
    here, before = silent_world()
    posted = text(here, "MORE", sid="SM2").message
    assert posted.kind == "text"
    assert posted.chat_id == before.message.chat_id


def test_caller_without_a_name_is_asked_without_one() -> None:
    here = world(ask_after_silent_days=ASKED_AFTER)
    before = text(here, SECRET).message
    days_pass(here, 30)
    text(here, "Hi", sid="SM2")
    [question] = questions(here, before.chat_id)
    silence, asked = "This number was silent for 30 days.", "Are you still the same person?"
    assert question == f"{silence} {asked} Answer yes to keep it."
