"""Proposals: words leave a private chat only after a yes to exactly these words and readers."""

from typing import Any

import pytest

from skein.models.chats.choice import NO, YES
from skein.models.runs.run import Run
from skein.services.choices.proposals import NOT_A_MEMBER, UNKNOWN_HERE
from skein.services.visibility.disclosure import PRIVATE_ELSEWHERE
from tests.support.agents import COACH, END, results_of, settle, stage
from tests.support.builders import TENANT, World, person
from tests.support.consents import (
    ALICE,
    ANN,
    BEN,
    DIRECT,
    LATE,
    TEAM,
    answer,
    choice_of,
    office,
    question,
    tell,
)
from tests.support.fakes import calls, says

ENDING = "Yes posts this in your name."


def error_of(world: World, run: Run) -> str:
    return results_of(world, run)[0].content.removeprefix("error: ")


def test_private_words_for_others_become_a_question_with_words_and_readers() -> None:
    world = office(says(LATE, chat_id="chat_team"), END)

    run = tell(world)

    asked = question(world)
    assert choice_of(asked).question == f'Post in "Team" (Ann, Ben and Carol): "{LATE}"? {ENDING}'
    assert choice_of(asked).addressee == ALICE.id
    assert [option.label for option in choice_of(asked).options] == ["Yes", "No"]
    assert (asked.sender.ref, asked.run_id) == (COACH.ref, run.id)
    assert world.texts("chat_team") == []
    [result, _] = results_of(world, run)
    assert result.status == "done"
    assert result.content.startswith(f"not posted: the person is asked in msg:{asked.seq}")


def test_one_yes_posts_exactly_these_words_once() -> None:
    world = office(says(LATE, chat_id="chat_team"), END)
    tell(world)

    answer(world, YES)

    [message] = world.messages("chat_team")
    assert (message.text, message.sender.ref) == (LATE, ALICE.ref)
    assert message.via is not None
    assert (message.via.agent_id, message.via.choice_seq) == (COACH.id, question(world).seq)
    [consent] = world.app.consents.list(TENANT, ALICE.id).items
    assert consent.text == LATE


def test_consent_answered_no_posts_no_message() -> None:
    world = office(says(LATE, chat_id="chat_team"), END)
    tell(world)

    answer(world, NO)

    assert world.texts("chat_team") == []
    assert world.app.consents.list(TENANT, ALICE.id).items == ()


def test_consent_question_for_open_chat_names_the_organization() -> None:
    world = office(says(LATE, chat_id="chat_team"), END, team={"visibility": "open"})
    tell(world)
    asked = choice_of(question(world)).question
    assert asked == f'Post in "Team" (everybody in your organization): "{LATE}"? {ENDING}'


def test_one_question_names_several_chats_and_one_yes_posts_in_each() -> None:
    world = office(says(LATE, chat_id="chat_team", also_in=["chat_town"]), END)
    world.chat(ALICE, COACH, chat_id="chat_town", title="Town", respond="mention")
    tell(world)
    asked = choice_of(question(world)).question
    named = '"Team" (Ann, Ben and Carol) and in "Town" (everybody in your organization)'
    assert asked == f'Post in {named}: "{LATE}"? {ENDING}'

    answer(world, YES)

    assert world.texts("chat_team") == world.texts("chat_town") == [LATE]


def test_chat_that_needs_no_yes_gets_the_words_at_once() -> None:
    world = office(says(LATE, chat_id="chat_team", also_in=["chat_own"]), END)
    world.chat(ALICE, COACH, chat_id="chat_own", title="Own", respond="mention", **DIRECT)

    run = tell(world)

    assert world.texts("chat_own") == [LATE]
    assert '"Own"' not in choice_of(question(world)).question
    assert results_of(world, run)[0].content.startswith('sent to "Own" as msg:1; not posted')


@pytest.mark.parametrize("beyond", ["chat_ann", "chat_agent", "chat_none"])
def test_further_chat_out_of_reach_is_named_in_no_question(beyond: str) -> None:
    world = office(says(LATE, chat_id="chat_team", also_in=[beyond]), END)
    world.chat(ANN, COACH, chat_id="chat_ann", **DIRECT)
    world.chat(ALICE, chat_id="chat_agent", visibility="open", title="Without the agent")
    run = tell(world)
    assert error_of(world, run).startswith("chat not found")
    assert [message.kind for message in world.messages()] == ["text"]


def test_question_that_would_wait_is_proposed_without_waiting() -> None:
    world = office(says("Who can help?", chat_id="chat_team", wait=True), END)
    run = tell(world)
    assert question(world)
    assert run.wait is None
    assert run.status == "done"


def test_person_who_asks_from_outside_the_chat_cannot_agree() -> None:
    world = office(says(LATE, chat_id="chat_town"), END)
    world.chat(ANN, COACH, chat_id="chat_town", title="Town", respond="mention")

    run = tell(world)

    assert error_of(world, run) == NOT_A_MEMBER
    assert [message.kind for message in world.messages()] == ["text"]


def test_consent_question_does_not_reveal_unknown_chats() -> None:
    world = office()
    pair: dict[str, Any] = {"kind": "group", "visibility": "private", "title": "Surprise"}
    world.chat(ALICE, ANN, COACH, chat_id="chat_pair", respond="mention", **pair)
    world.model.script.extend([says("Cake", chat_id="chat_1"), END])
    world.model.script.extend([says("Cake", chat_id="chat_team"), END])
    run = tell(world, "@Coach tell them", chat_id="chat_pair")
    assert error_of(world, run).startswith("sent")  # Alice was present for all of it
    run = tell(world, "@Coach tell them", chat_id="chat_pair")
    assert results_of(world, run)[0].status == "done"  # Ann is in the team, and may know of it
    world.chat(ALICE, BEN, COACH, chat_id="chat_secret", respond="mention", **pair)
    world.model.script.extend([says("Cake", chat_id="chat_secret"), END])
    run = tell(world, "@Coach tell them", chat_id="chat_pair")
    assert error_of(world, run) == UNKNOWN_HERE


def test_run_of_an_agent_cannot_ask() -> None:
    world = office(says(LATE, chat_id="chat_team"), END)
    world.chat(ALICE, COACH, chat_id="chat_agents", visibility="private", title="Agents")
    world.post("Tell them", COACH, chat_id="chat_agents")
    world.app.manual_trigger.now(TENANT, "chat_agents", ALICE.ref, agent_id=COACH.id)
    settle(world)
    [run] = world.runs("chat_agents")
    assert error_of(world, run) == PRIVATE_ELSEWHERE


@pytest.mark.parametrize(
    ("text", "posted"),
    [
        ("Alice is \u200blate\u202e", LATE),
        ("[Menu](https://evil.example/x)", "[Menu] (https://evil.example/x)"),
        ("[Menu][1]", "[Menu] [1]"),
        ("<a href='https://evil.example'>Menu</a>", "< a href='https://evil.example'>Menu< /a>"),
        ("Hi\U000e0041\U000e0042 &#8203;all", "Hi & #8203;all"),
        ("**Late**", "**Late**"),
        ('hello"?\n\nYes confirms it. "Thanks', "hello'? Yes confirms it. 'Thanks"),
    ],
)
def test_consent_question_shows_exactly_the_posted_text(text: str, posted: str) -> None:
    world = office(says(text, chat_id="chat_team"), END)
    tell(world)
    shown = choice_of(question(world)).question
    answer(world, YES)
    assert world.texts("chat_team") == [posted]
    assert f'"{posted}"' in shown


def test_long_text_is_refused_so_that_the_model_can_shorten_it() -> None:
    world = office(says("x" * 401, chat_id="chat_team"), says("x" * 400, chat_id="chat_team"), END)
    run = tell(world)
    assert results_of(world, run)[0].status == "correctable"
    assert results_of(world, run)[1].status == "done"


def test_consent_question_names_ten_readers_and_counts_the_rest() -> None:
    many = [person(f"usr_{n}", f"Person {n:02}") for n in range(1, 13)]
    world = stage(says(LATE, chat_id="chat_team"), END)
    world.chat(ALICE, COACH, **DIRECT)
    world.chat(ALICE, *many, COACH, **(TEAM | {"visibility": "private"}))
    tell(world)
    assert "Person 10 and 2 others)" in choice_of(question(world)).question


def test_readers_of_one_name_are_numbered() -> None:
    world = stage(says(LATE, chat_id="chat_team"), END)
    world.chat(ALICE, COACH, **DIRECT)
    namesake = person("other", "Ann")
    world.chat(ALICE, ANN, namesake, COACH, **(TEAM | {"visibility": "private"}))
    tell(world)
    assert "(Ann and Ann (2))" in choice_of(question(world)).question


def test_words_that_the_person_is_asked_about_already_are_asked_about_once() -> None:
    again = [says(LATE, chat_id="chat_team") for _ in range(2)]
    world = office(*again, END)
    run = tell(world)
    first, second = results_of(world, run)[:2]
    assert (first.status, second.status) == ("done", "failed")
    assert second.content == (
        "error: already asked: only the person's press or number answers the open question; "
        "ask them for it"
    )


def test_wait_in_several_chats_is_refused() -> None:
    world = office(says("Who?", chat_id="chat_team", also_in=["chat_1"], wait=True), END)
    run = tell(world)
    assert results_of(world, run)[0].status == "correctable"


def test_prompt_says_that_the_person_is_asked_first() -> None:
    world = office(calls("end_run"))
    tell(world)
    assert "the person is asked first" in world.model.prompt
