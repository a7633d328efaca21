"""Sameness: looks do not matter, facts do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.memory.writes import normalised

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann likes tea.", "ann  likes\ttea"),
        ("Ann likes tea", "\u201cAnn likes tea!\u201d"),
        ("Ann likes tea", "\uff21\uff4e\uff4e likes tea"),
        ("Ann doesn't drink coffee", "Ann doesn\u2019t drink coffee;"),
        ("The long-term goal \u2014 growth", "the long term goal: growth"),
        ("STRASSE", "stra\u00dfe"),
        ("Caf\u00e9", "Cafe\u0301"),
        ("\u6771\u4eac\u306b\u4f4f\u3080\u3002", "\u6771\u4eac\u306b\u4f4f\u3080"),
        ("a\u200bb", "ab"),
        ("(Ann) [likes] tea", "Ann, likes: tea..."),
    ],
)
def test_texts_that_differ_in_form_only_are_equal_when_normalised(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("30 guests come", "31 guests come"),
        ("It costs 1.5", "It costs 15"),
        ("It costs 1.5", "It costs 1 5"),
        ("It is -5 outside", "It is 5 outside"),
        ("At 3:30", "At 3 30"),
        ("It costs 5 \u20ac", "It costs 5 $"),
        ("He writes C#", "He writes C"),
        ("He writes C++", "He writes C"),
        ("Blood type A-", "Blood type A+"),
        ("Blood type A-.", "Blood type A."),
        ("She comes?", "She comes"),
        ("10%", "10"),
        ("their words", "the irwords"),
        ("its", "it's"),
        ("\u0915\u093f", "\u0915\u093e"),
        ("Ann likes tea", "Ann likes the tea"),
        ("\U0001f44d", "\U0001f44e"),
        ("...", "!"),
    ],
)
def test_texts_that_differ_in_content_are_unequal_when_normalised(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(TEXTS)
def test_white_space_around_a_text_is_not_part_of_it(text: str) -> None:
    once = normalised(text)
    assert once == normalised(f"\u2003{text}\r\n") == " ".join(once.split())


@given(TEXTS.filter(str.strip))
def test_visible_text_is_never_normalised_to_empty(text: str) -> None:
    visible = any(character.isprintable() and not character.isspace() for character in text)
    assert bool(normalised(text)) or not visible
