"""YAML of agents' files holds any values of JSON, whatever people write into texts."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from skein.agent_files.yaml_text import json_of, parsed, written

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=8,
)


@given(VALUES)
@example({"text": "  indented\n\nlast \n\n"})
@example({"text": "\nfirst", "again": ["  a\n b", "- c\n# d"]})
@example({"1e3": "1e3", "no": "no", "0123": "0123", "": "2026-11-29", "<<": "~", "a: b": "1_0"})
def test_values_are_read_as_they_were_written(values: Any) -> None:
    text = written({"values": values})
    assert parsed(text) == {"values": values}
    assert json.loads(json_of(text)) == {"values": values}
    assert yaml.safe_load(text) == {"values": values}  # as other tools read it


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("0123", "0123"), ("2026-11-29", "2026-11-29"), ("12:30", "12:30"),
        ("1_000", "1_000"), (".inf", ".inf"), ("true", True), ("~", None), ("", None),
        ("-7", -7), ("1.5e3", 1500.0),
    ],
)  # fmt: skip
def test_only_values_of_json_are_no_texts(text: str, value: Any) -> None:
    assert parsed(f"a: {text}") == {"a": value}
