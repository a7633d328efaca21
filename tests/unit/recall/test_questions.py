"""The kinds of facts that a query asks for."""

import pytest

from skein.recall.questions import asks_time, names_time
from skein.services.common.words import stems_of


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When did Anna move?", True),
        ("Which year was that?", True),
        ("How long has she lived there?", True),
        ("Where did Anna move?", False),
        ("Wann war das?", False),
    ],
)
def test_asks_time_of_a_query_follows_its_question_word(text: str, asks: bool) -> None:
    assert asks_time(text) is asks


@pytest.mark.parametrize("text", ["we met yesterday", "last week", "in March", "on the 14th", "3"])
def test_names_time_of_a_message_with_a_time_holds(text: str) -> None:
    assert names_time(stems_of(text))


def test_names_time_of_a_message_without_one_does_not_hold() -> None:
    assert not names_time(stems_of("we met at the harbour"))
