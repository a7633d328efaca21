"""Tests of the messages that say nothing but yes or no."""

import pytest

from skein.services.choices.typed_words import NO_WORDS, YES_WORDS, typed_answer


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "Yes please",
        "YES, please!",
        " yes. ",
        "Yes, thank you.",
        "yes yes",
        "y",
        "Sí, por favor",
        "si\u0301",  # the accent as a character of its own
        "Ja, bitte",
        "Oui, s'il vous plaît",
        "sim, obrigada",
    ],
)
def test_typed_answer_of_yes_with_polite_words_is_yes(text: str) -> None:
    assert typed_answer(text) == "yes"


@pytest.mark.parametrize("text", ["no", "No, thanks!", "nope", "Nein danke", "não", "N"])
def test_typed_answer_of_no_with_polite_words_is_no(text: str) -> None:
    assert typed_answer(text) == "no"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "please",
        "yes and no",
        "yes, but later",
        "no problem",
        "yes?",
        "yes 👍",
        "yes 2",
        "I said yes",
        "yes\u200b",
        "ok",
        "not now",
        "yes " * 20,
    ],
)
def test_ambiguous_text_is_no_typed_answer(text: str) -> None:
    assert typed_answer(text) is None


def test_yes_and_no_words_are_disjoint() -> None:
    assert not YES_WORDS & NO_WORDS
