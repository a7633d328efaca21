"""Arguments of tool calls: strict JSON objects, and what the next request repeats of them."""

import json

import pytest

from skein.models.runs.tool_arguments import (
    MAX_REPEATED,
    MAX_REPEATED_TEXT,
    json_object,
    repeatable,
)


@pytest.mark.parametrize(("text", "value"), [("", {}), (" \n", {}), ('{"a": [1]}', {"a": [1]})])
def test_arguments_are_parsed_as_object(text: str, value: dict[str, object]) -> None:
    assert json_object(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("[1]", "null", '"a"', "{", '{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 2}}'),
        *('{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}', '{"a": [{"b": -1e999}]}'),
    ],
)
def test_arguments_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the messages are the parser's
        json_object(text)
    assert json.loads(repeatable(text)) == {"unreadable": text}


def test_arguments_nested_too_deep_are_refused() -> None:
    text = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
    with pytest.raises(ValueError):  # noqa: PT011 - the messages are the parser's
        json_object(text)


def test_short_arguments_are_repeated_as_they_are() -> None:
    assert repeatable('{"b": 1,  "a": 2}') == '{"b": 1,  "a": 2}'
    assert repeatable(" ") == "{}"


def test_long_arguments_are_repeated_with_their_strings_cut() -> None:
    long = "x" * (MAX_REPEATED + 1)
    repeated = json.loads(repeatable(json.dumps({"n": 1, "text": long, "list": ["y", long]})))
    cut = (
        long[:MAX_REPEATED_TEXT]
        + f" [{len(long) - MAX_REPEATED_TEXT:,} characters are not repeated]"
    )
    assert repeated == {"n": 1, "text": cut, "list": ["y", cut]}


def test_many_long_arguments_are_repeated_as_one_cut_text() -> None:
    repeated = json.loads(repeatable(json.dumps({f"n{n}": "x" * 1_900 for n in range(20)})))
    assert list(repeated) == ["shortened"]
    assert repeated["shortened"].endswith("characters are not repeated]")
