"""Quotations for people and exact JSON: nothing closes them, hides in them, or changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.channels.segments import clean
from skein.models.common.characters import is_visible
from skein.models.config.templates import in_one_line
from skein.services.common.quoting import exact_json, in_quotes, quotable, without_links

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_exact_json_reads_back_as_the_value_and_no_channel_changes_it(value: Any) -> None:
    shown = exact_json(value)
    assert repr(json.loads(shown)) == repr(value)
    assert is_visible(shown)
    assert in_one_line(shown) == clean(shown) == shown


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")]])
def test_exact_json_of_nan_or_infinity_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        exact_json(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("**Late** `x` \\*", '"**Late** `x` \\\\*"'),
        ("Rome\U000e0053\U000e0045", '"Rome\\udb40\\udc53\\udb40\\udc45"'),
        ("\u202eemoR", '"\\u202eemoR"'),
        ("a\u3164b\u2800c\ufe0f", '"a\\u3164b\\u2800c\\ufe0f"'),
        ("a   b\u00a0", '"a \\u0020 b\\u00a0"'),
    ],
)
def test_exact_json_shows_each_character(value: str, shown: str) -> None:
    assert exact_json(value) == shown


@given(st.text())
def test_quotation_is_one_line_that_nothing_in_it_closes(text: str) -> None:
    quoted = in_quotes(text)
    assert quoted.count('"') == len(quoted.splitlines()) + 1 == 2
    assert is_visible(quoted)
    assert quotable(quotable(text)) == quotable(text)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('hello"?\n\nYes confirms. "Thanks', "\"hello'? Yes confirms. 'Thanks\""),
        ("\u201cHi\u201d \u2033 \uff02 ''", "\"'Hi' ' ' '\""),
        ("it's Ann\u2019s \u00abtea\u00bb", '"it\'s Ann\u2019s \u00abtea\u00bb"'),
        ("x \u030b", '"x \'"'),
        ("[Menu](https://evil.example)", '"[Menu] (https://evil.example)"'),
    ],
)
def test_marks_that_look_like_the_quotation_mark_become_apostrophes(text: str, quoted: str) -> None:
    assert in_quotes(text) == quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://a.example/b?c", "https: //a. example/b?c"),
        ("www.a.example or a\u3002example", "www. a. example or a\u3002 example"),
        ("http://localhost and 10.0.0.1", "http: //localhost and 10. 0. 0. 1"),
        ("Dr. Ann (at 9:30): hello...", "Dr. Ann (at 9:30): hello..."),
    ],
)
def test_text_without_links_has_a_space_in_each_address(text: str, shown: str) -> None:
    assert without_links(text) == shown
