"""Tests of the words of an erased person in texts: quotes, ids, phone numbers and full names."""

import pytest

from skein.models.common.address import phone_address
from skein.privacy.erasure_words import (
    pattern_of_ids,
    pattern_of_names,
    put_in,
    quotes_in,
    without_quotes,
)

SAID = set(quotes_in("I don't like the blue car, to be honest."))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("She said: I DON\u2019T like the blue car!", "She said: [erased]!"),
        ("I don't like the", "I don't like the"),
        ("the blue\ncar to be honest, they said", "[erased], they said"),
        ("I don't like the blue and the blue car to be", "[erased] and [erased]"),
        ("blue car to be", "blue car to be"),
        ("", ""),
    ],
)
def test_literal_quote_of_five_words_is_replaced(text: str, left: str) -> None:
    assert without_quotes(text, SAID) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It was usr_ann.", "It was [erased]."),
        ("usr_anna and mark", "usr_anna and mark"),
        ("Call +15005550101!", "Call [erased]!"),
        ("Call +1 (500) 555-0101 or 1.500.555.0101", "Call [erased] or [erased]"),
        ("Call +150055501012", "Call +150055501012"),
    ],
)
def test_ids_and_numbers_are_found_as_whole_words(text: str, left: str) -> None:
    pattern = pattern_of_ids(("usr_ann", "mark"), (phone_address("+15005550101"),))
    assert pattern.sub("[erased]", text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ask ann  LEE about it", "Ask [erased] about it"),
        ("Ann\nLee", "[erased]"),
        ("Joann Lee", "Joann Lee"),
        ("Ann and Lee will mark the core", "Ann and Lee will mark the core"),
        ("Ann Lee (chosen, k3f9) said", "[erased] said"),
    ],
)
def test_full_name_is_found_as_whole_words(text: str, left: str) -> None:
    names = ("Ann Lee", "Ann", "the", "Will", "core", "Ann Lee (chosen, k3f9)")
    assert pattern_of_names(names).sub("[erased]", text) == left


def test_changed_text_never_keeps_its_length() -> None:
    assert (
        put_in("Al Stone", lambda text: "[erased]" if text == "Al Stone" else text) == "[erased] "
    )
    assert put_in("Same", lambda text: text) == "Same"
