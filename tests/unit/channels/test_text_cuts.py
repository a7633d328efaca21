"""Cuts of long texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.channels.text_cuts import CUT_MARK, cut_position, cut_text


@pytest.mark.parametrize(
    ("sentences", "rest"),
    [
        ("Ask Dr. Lee about the knee.", " Then rest for a week"),
        ("The doctor said: No. 5 is the best.", " Then rest for a while"),
        ("Bring bread, butter, e.g. salted one.", " Then rest for a while"),
        ("Take 3 of them, not 2.", " Then rest a while"),
        ("Dial the number. Then wait.", "\n1. Rest for a while"),
        ("\u4eca\u5929\u5f88\u597d\u3002", "\u540e\u5929\u8fd8\u4e0d"),  # Chinese
        ("\u0622\u062c \u06af\u0631\u0645 \u06c1\u06d2\u06d4", " \u06a9\u0644 \u0628"),  # Urdu
        ("\u0906\u091c \u0917\u0930\u092e\u0940\u0964", " \u0915\u0932 \u092c"),  # Hindi
    ],
)
def test_cut_position_of_a_text_is_after_its_last_sentence(sentences: str, rest: str) -> None:
    text = sentences + rest
    assert text[: cut_position(text, len(text) - 1)] == sentences


def test_cut_text_over_the_limit_ends_with_a_sentence_and_a_mark() -> None:
    assert cut_text("Run 5 km. Then rest. Then sleep.", 24) == f"Run 5 km. Then rest.{CUT_MARK}"


def test_cut_text_within_the_limit_stays_unchanged() -> None:
    assert cut_text("Run 5 km.", 9) == "Run 5 km."


@given(st.text(max_size=200), st.integers(min_value=4, max_value=150))
def test_cut_text_of_any_text_keeps_the_limit_and_the_beginning(text: str, limit: int) -> None:
    short = cut_text(text, limit)
    assert len(short) <= limit
    assert text.strip().startswith(
        short.strip() if len(text) <= limit else short.removesuffix(CUT_MARK)
    )
