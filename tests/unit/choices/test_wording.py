"""The words of Skein's questions: exact, in one line, and ended by Skein."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skein.errands.orders import question_to_ask, text_of_errand
from skein.errors import Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.choice import MAX_QUESTION
from skein.models.common.base import NamedMember
from skein.services.choices.wording import (
    question_of,
    question_of_service,
    question_to_call,
    words_to_post,
)
from skein.services.common.quoting import exact_json
from tests.support.builders import World, person

ALICE, BEN = person("usr_alice", "Alice"), person("usr_ben", "Ben")
WORDS = st.text(max_size=100).filter(lambda text: any(map(str.isalnum, text)))
ARGUMENTS = st.dictionaries(
    st.text(max_size=9),
    st.integers() | st.booleans() | st.text(max_size=40) | st.lists(st.text(max_size=9)),
    max_size=5,
)


def group(title: str = "Team") -> Chat:
    world = World()
    return world.chat(ALICE, BEN, chat_id="chat_1", title=title, visibility="private")


TEAM = group()


def json_in(question: str, title: str) -> Any:
    begin, rest = question[: len(title) + 2], question[len(title) + 2 :]
    assert begin == f"{title}? "
    shown, end = json.JSONDecoder().raw_decode(rest)
    assert rest[end:].startswith(" Yes sends exactly this to shop")
    return shown


@given(ARGUMENTS)
def test_question_to_call_contains_the_json_of_exactly_what_is_sent(
    arguments: dict[str, Any],
) -> None:
    assume(len(exact_json(arguments)) < MAX_QUESTION - 200)  # longer ones are refused
    for chat in (TEAM, None):
        question = question_to_call("Book a table", arguments, "shop", chat, ALICE.id)
        assert repr(json_in(question, "Book a table")) == repr(arguments)


def test_question_to_call_is_short_and_natural() -> None:
    arguments = {"day": "Tuesday", "seats": 4}
    asked = 'Book a table? {"day": "Tuesday", "seats": 4} Yes sends exactly this to shop'
    assert question_to_call("Book a table?", arguments, "shop", None, ALICE.id) == f"{asked}."
    shown = f"{asked}, and shows the result to you and Ben."
    assert question_to_call("Book a table", arguments, "shop", TEAM, ALICE.id) == shown


def test_question_to_call_with_too_long_arguments_is_refused() -> None:
    with pytest.raises(Unprocessable, match="shorten the arguments"):
        question_to_call("Book", {"day": "x" * MAX_QUESTION}, "shop", None, ALICE.id)
    with pytest.raises(Unprocessable, match="number"):
        question_to_call("Book", {"seats": float("inf")}, "shop", None, ALICE.id)


@given(WORDS, st.text(min_size=1, max_size=30))
def test_nothing_between_the_first_and_last_words_of_a_question_closes_a_quotation(
    text: str, name: str
) -> None:
    words = words_to_post(text)
    asker = NamedMember(kind="user", id="usr_x", name=name)
    errand = text_of_errand(words, asker, TEAM)
    questions = {
        question_of(words, [TEAM], ALICE.id): 'Post in "Team" (Ben): ',
        question_to_ask(errand, [asker]): "Ask ",
        question_of_service("shop", text): "shop asks: ",
    }
    for question, first in questions.items():
        assert question.startswith(first)
        assert len(question.splitlines()) == 1
        assert question.count('"') == 2 * (1 + ('"Team"' in question))
        assert question[question.rindex('"') :].strip('"? ') in {
            "Yes posts this in your name.",
            "Yes sends exactly this.",
            "shop gets your answer.",
        }
        assert f'"{words}"' in question


def test_question_of_a_service_is_never_cut() -> None:
    with pytest.raises(Unprocessable, match="400 characters"):
        question_of_service("shop", "x" * 401)
