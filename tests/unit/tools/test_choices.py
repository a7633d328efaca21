"""`ask_choice` asks one person here; the answer, matched by code, starts one run."""

from typing import Any

import pytest

from skein.agent.sections.open_questions import BY_OPTION, ONLY_PERSON
from skein.models.chats.choice import Option
from skein.models.chats.person_choices import MAX_OPEN
from skein.models.common.base import NamedMember
from skein.models.common.person_names import tagged
from tests.support.agents import AHMAD, COACH, END, HUSAM, results_of, settle, stage, the_run
from tests.support.builders import TENANT, World, person, statuses
from tests.support.choices import answer, ask, choice_in, choices_of
from tests.support.fakes import Calls, Script, calls

TWIN = person("usr_twin", "Husam")
ASKED: dict[str, Any] = {"question": "Shall I book it?", "options": ["Book it", "Wait"]}


def asks(**arguments: Any) -> Calls:
    return calls(("ask_choice", {name: value for name, value in arguments.items() if value}))


def group(*script: Script, people: tuple[NamedMember, ...] = (HUSAM, AHMAD), **chat: Any) -> World:
    """People in a chat with an agent, which has been asked something."""
    world = stage(*script)
    world.known(*people)
    world.chat(*people, COACH, **chat)
    world.post("@Coach hello", people[0])
    settle(world)
    return world


def direct(*script: Script) -> World:
    return group(*script, people=(HUSAM,), kind="direct", visibility="private", title=None)


def result(world: World) -> tuple[str, str]:
    [first, *_] = results_of(world, world.runs()[0])
    return first.status, first.content


def test_question_is_posted_to_the_only_person_of_a_direct_chat() -> None:
    world = direct(asks(**ASKED))
    message = world.messages()[1]
    choice = choice_in(world, 2)
    assert (message.kind, message.sender.ref) == ("choice", COACH.ref)
    assert (choice.question, choice.addressee) == ("Shall I book it?", HUSAM.id)
    assert choice.options == (Option(id="1", label="Book it"), Option(id="2", label="Wait"))
    assert result(world)[0] == "done"
    assert result(world)[1].startswith("asked as msg:2")
    assert [sent.seq for sent in the_run(world).sent] == [2]
    assert [each.seq for each in choices_of(world).open] == [2]


@pytest.mark.parametrize("respond", ["every", "mention", "manual"])
def test_answer_starts_one_run_that_is_shown_the_question(respond: str) -> None:
    world = group(asks(**ASKED, person="Ahmad"), respond=respond)
    if respond == "manual":
        world.app.manual_trigger.now("acme", "chat_1", HUSAM.ref, agent_id=COACH.id)
        settle(world)
    answer(world, 2, AHMAD, option="1")
    settle(world)
    runs = world.runs()
    assert statuses(runs) == ["done"] * 2
    assert runs[1].trigger.seq == 3
    prompt = world.model.prompt
    assert 'You (question to Ahmad, answered "Book it" in msg:3): ' in prompt
    assert 'Ahmad (reply to msg:2): "Book it"' in prompt


def test_question_in_words_has_no_options() -> None:
    world = direct(asks(question="When?"))
    assert choice_in(world, 2).options == ()


@pytest.mark.parametrize("name", ["Ahmad", "ahmad", "usr_ahmad"])
def test_person_is_named_as_in_the_prompt_or_by_id(name: str) -> None:
    world = group(asks(**ASKED, person=name))
    assert choice_in(world, 2).addressee == AHMAD.id


def test_person_with_a_shared_name_is_named_with_the_number() -> None:
    world = group(asks(**ASKED, person="Husam (2)"), people=(HUSAM, TWIN))
    assert choice_in(world, 2).addressee == TWIN.id


def test_chosen_name_is_not_the_given_name() -> None:
    alice = person("usr_bob", tagged("Alice", TENANT, "usr_bob"))
    world = group(asks(**ASKED, person="Alice"), people=(HUSAM, alice))
    assert result(world)[0] == "correctable"
    world = group(asks(**ASKED, person=alice.name), people=(HUSAM, alice))
    assert choice_in(world, 2).addressee == alice.id


@pytest.mark.parametrize("name", [None, "Lena", "Coach", "usr_lena"])
def test_unclear_person_is_asked_back(name: str | None) -> None:
    world = group(asks(**ASKED, person=name))
    status, content = result(world)
    assert status == "correctable"
    assert content == "error: person: name one of the people here: Husam, Ahmad"
    assert len(world.messages()) == 1


@pytest.mark.parametrize(
    "options",
    [
        ["Yes"],
        [f"Option {n}" for n in range(6)],
        ["Yes", "yes"],
        ["Yes", "x" * 41],
        ["Yes", "No\nyes"],
        ["Go on", "STOP"],
        ["Weiter", "Abmelden"],
        ["Yes", "Help"],
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str]) -> None:
    world = direct(asks(question="Shall I?", options=options))
    assert result(world)[0] == "correctable"
    assert len(world.messages()) == 1


def test_question_without_words_is_refused() -> None:
    world = direct(asks(**(ASKED | {"question": "[silence]"})))
    assert result(world)[0] == "correctable"


def test_fourth_open_question_ends_the_first() -> None:
    step = calls(*[("ask_choice", ASKED)] * (MAX_OPEN + 1))
    world = direct(step)
    results = results_of(world, the_run(world))
    assert [each.status for each in results[:4]] == ["done"] * (MAX_OPEN + 1)
    asked = [message.choice for message in world.messages() if message.choice is not None]
    now = world.clock.now()
    assert [each.status(now) for each in asked] == ["expired", *["open"] * MAX_OPEN]


def test_question_in_an_entered_chat_obeys_the_rules_of_posts() -> None:
    """What the agent knows from a private chat is not asked where others read."""
    enter = calls(("enter_chat", {"chat_id": "chat_2"}))
    world = stage(enter, asks(**ASKED, person="Ahmad"), END)
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", title=None)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2")
    world.post("Ask Ahmad", HUSAM)
    settle(world)
    assert world.messages("chat_2") == []
    assert [each.status for each in results_of(world, the_run(world))][:2] == ["done", "failed"]


def test_prompt_lists_open_questions_of_this_chat() -> None:
    world = direct(asks(**ASKED), END, END, END)
    world.post("Not now", HUSAM)
    settle(world)
    assert (
        f"OPEN QUESTIONS:\n{ONLY_PERSON}\n  - msg:2 (until 2026-02-19 12:00 UTC; {BY_OPTION}): "
        '"Shall I book it?'
    ) in world.model.prompt
    assert "You (question to Husam, open until 2026-02-19 12:00 UTC): " in world.model.prompt
    answer(world, 2, HUSAM, option="2")
    settle(world)
    assert "OPEN QUESTIONS" not in world.model.prompt


def test_prompt_lists_an_open_question_that_the_history_does_not_show() -> None:
    world = direct(asks(**ASKED))
    for n in range(60):
        world.post(f"Message {n}", HUSAM)
    settle(world)
    prompt = world.model.prompt
    assert "[msg:2 " not in prompt
    assert f"OPEN QUESTIONS:\n{ONLY_PERSON}\n  - msg:2 (until" in prompt


def test_question_before_a_reset_is_not_listed() -> None:
    world = direct(asks(**ASKED))
    world.post("start over", HUSAM)
    settle(world)
    world.post("Hello again", HUSAM)
    settle(world)
    assert "Shall I book it?" not in world.model.prompt
    assert answer(world, 2, HUSAM, option="1").created


def test_expired_question_is_shown_as_expired() -> None:
    world = direct(asks(**ASKED))
    world.clock.advance(24 * 3_600)
    world.post("Hello", HUSAM)
    settle(world)
    assert "OPEN QUESTIONS" not in world.model.prompt


def test_roles_show_a_question_with_its_addressee_and_status() -> None:
    world = stage(asks(**ASKED), history_format="roles")
    world.known(HUSAM)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", title=None)
    world.post("Hello", HUSAM)
    settle(world)
    answer(world, 2, option="1")
    settle(world)
    texts = [message.content for message in world.model.requests[-1].messages]
    assert any(
        text.startswith('[msg:2 2026-02-18 12:00 UTC, question to Husam, answered "Book it" in')
        for text in texts
    )


def test_invitation_is_never_in_a_prompt() -> None:
    world = direct(END)
    ask(world, purpose="invitation", question="Join Bob's chat?")
    world.post("Hello", HUSAM)
    settle(world)
    assert "Bob" not in world.model.prompt
