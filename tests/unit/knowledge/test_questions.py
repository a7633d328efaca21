"""Questions are told from other messages, with and without a question mark."""

import pytest

from skein.knowledge.sections import asks


@pytest.mark.parametrize(
    "text",
    [
        "When do you open?",
        "what does a haircut cost",
        "Hi, can I bring my dog",
        "Hello!\nDo you repair bikes",
        "And on Sundays?",
        "I want to know the price of the menu",
        "Wann habt ihr sonntags offen?",
    ],
)
def test_question_is_recognised(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize("text", ["Thanks!", "OK?", "Hello", "See you tomorrow.", "Book it.", ""])
def test_other_message_asks_nothing(text: str) -> None:
    assert not asks(text)
