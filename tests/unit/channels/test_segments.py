"""How texts are measured and cut."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.channels.segments import MAX_PART_UNITS, segment_count, split_text

# GSM-7 as Twilio knows it (github.com/TwilioDevEd/message-segment-calculator).
GSM = (
    "\n\r !\"#$%&'()*+,-./0123456789:;<=>?@"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
    "\u00a1\u00a3\u00a4\u00a5\u00a7\u00bf\u00c4\u00c5\u00c6\u00c7\u00c9\u00d1\u00d6\u00d8\u00dc\u00df"
    "\u00e0\u00e4\u00e5\u00e6\u00e8\u00e9\u00ec\u00f1\u00f2\u00f6\u00f8\u00f9\u00fc"
    "\u0393\u0394\u0398\u039b\u039e\u03a0\u03a3\u03a6\u03a8\u03a9"
)
GSM_EXTENSION = "\f[\\]^{|}~\u20ac"

gsm_texts = st.text(st.sampled_from(GSM + GSM_EXTENSION), max_size=700)
any_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
prose = st.lists(
    st.sampled_from(
        ["One.", "two", "three!", "\n", "  ", "four\u2026", "five", "\U0001f44d", "e\u0301"]
    ),
    max_size=200,
).map(" ".join)
limits = st.integers(min_value=2, max_value=120)


def shown(text: str) -> str:
    """A text without the control characters of ASCII that are not white space on a phone."""
    return "".join(c for c in text if c in "\t\n\f\r" or not (c < " " or c == "\x7f"))


def units(text: str) -> int:
    utf16 = sum(2 if ord(c) > 0xFFFF else 1 for c in text)
    return utf16 + sum(c in GSM_EXTENSION for c in text)


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("\u20ac" * 80, 1),
        ("\u20ac" * 81, 2),
        ("\u20ac" * 153, 3),  # 76 to a segment: the 77th would be torn
        ("\u00e7" * 70, 1),  # GSM-7 has only the capital
        ("\u00e7" * 71, 2),
        ("\u00e7" * 134, 2),
        ("\u00e7" * 135, 3),
        ("\U0001f600" * 35, 1),
        ("\U0001f600" * 36, 2),
        ("\U0001f600" * 67, 3),  # 33 to a segment: the 34th would be torn
        ("\x1b", 1),
        ("\x1b" * 71, 2),  # the escape is no character of its own
    ],
)
def test_segments_are_counted_as_they_are_billed(text: str, segments: int) -> None:
    assert segment_count(text) == segments


def test_character_of_gsm_7_has_its_length() -> None:
    assert {c for c in map(chr, range(0x3000)) if segment_count(c * 160) == 1} == set(GSM)
    assert all(segment_count(c * 80) == 1 and segment_count(c * 81) == 2 for c in GSM_EXTENSION)


@given(gsm_texts)
def test_a_text_in_gsm_7_never_takes_more_segments_than_its_septets_could_waste(text: str) -> None:
    septets = len(text) + sum(c in GSM_EXTENSION for c in text)
    segments = segment_count(text)
    assert segments == 1 if septets <= 160 else -(-septets // 153) <= segments <= -(-septets // 152)


@given(any_texts)
def test_more_text_never_takes_fewer_segments(text: str) -> None:
    for shorter, longer in pairwise([text[: len(text) // 2], text, text + "\U0001f600"]):
        assert segment_count(shorter) <= segment_count(longer)


@given(any_texts | gsm_texts | prose, limits)
def test_parts_fit_and_give_the_text_back(text: str, limit: int) -> None:
    parts = split_text(text, limit)

    assert all(0 < units(part) <= limit for part in parts)
    between = r"\s*".join(re.escape(part) for part in parts)
    assert re.fullmatch(rf"\s*{between}\s*", shown(text))


@given(any_texts | prose, limits)
def test_parts_are_valid_unicode_of_their_own(text: str, limit: int) -> None:
    for part in split_text(text, limit):
        assert part.encode("utf-16").decode("utf-16") == part


@given(any_texts | prose, limits)
def test_parts_need_no_further_cutting(text: str, limit: int) -> None:
    for part in split_text(text, limit):
        assert split_text(part, limit) == (part,)


def test_a_short_text_is_one_part() -> None:
    assert split_text(" See you at ten. Bring water. ") == ("See you at ten. Bring water.",)


def test_characters_that_phones_cannot_show_are_left_out() -> None:
    assert split_text("Run\x00 5 km\x1b\x7f!\nRest.") == ("Run 5 km!\nRest.",)


@pytest.mark.parametrize("text", ["", " ", "\n\t\u2028", "\x00\x1b"])
def test_white_space_alone_is_no_part(text: str) -> None:
    assert split_text(text) == ()


def test_a_part_is_below_1600_characters() -> None:
    parts = split_text("abcdefghi " * 400)
    assert [len(part) for part in parts] == [1599, 1599, 799]
    assert MAX_PART_UNITS < 1600


def test_a_cut_prefers_the_end_of_a_sentence() -> None:
    text = 'Run. Rest a while, he said: "Drink!" Then sleep a while longer'
    assert split_text(text, 40) == (
        'Run. Rest a while, he said: "Drink!"',
        "Then sleep a while longer",
    )


def test_a_decimal_point_ends_no_sentence() -> None:
    assert split_text("It costs about 1234.50 in all today", 21) == (
        "It costs about",
        "1234.50 in all today",
    )


def test_without_a_sentence_a_line_ends_a_part() -> None:
    assert split_text("squats: 3 x 10\nbench press: 3 x 8", 20) == (
        "squats: 3 x 10",
        "bench press: 3 x 8",
    )


def test_a_sentence_that_would_leave_a_part_nearly_empty_gives_way_to_words() -> None:
    assert split_text("Yes. Nothing else here ends anywhere at all", 30) == (
        "Yes. Nothing else here ends",
        "anywhere at all",
    )


def test_a_word_longer_than_a_part_is_cut_between_characters() -> None:
    assert split_text("abcdefghijkl", 5) == ("abcde", "fghij", "kl")


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\U0001f1f3\U0001f1f1",
        "\u2764\ufe0f",
    ],
)
def test_grapheme_clusters_are_not_split(character: str) -> None:
    for limit in range(units(character), 3 * units(character)):
        for part in split_text(character * 9, limit):
            assert part == character * (len(part) // len(character))


def test_combined_character_longer_than_a_segment_is_split() -> None:
    zalgo = "z" + "\u0301" * 20
    assert "".join(split_text(zalgo, 4)) == zalgo


def test_long_runs_of_full_stops_take_no_time() -> None:
    assert len(split_text("." * 20_000)) == 13
