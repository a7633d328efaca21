"""How a prompt shows the payload of a webhook."""

import json

from hypothesis import given
from hypothesis import strategies as st

from skein.agent.sections.payload import payload_block
from tests.support.hostile import hostile

VALUES = st.recursive(
    hostile(6)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(hostile(3), inner, max_size=5),
    max_leaves=30,
)


def body(block: str, kind: str = "JSON") -> str:
    """The lines of a block without their bars."""
    head, *lines = block.split("\n")
    assert head == kind
    assert all(line == "|" or line.startswith("| ") for line in lines)
    return "\n".join(line[2:] for line in lines)


@given(VALUES, st.sampled_from([None, 0, 4]), st.booleans())
def test_payload_is_the_same_json_behind_bars(value: object, indent: int | None, raw: bool) -> None:
    block = payload_block(json.dumps(value, indent=indent, ensure_ascii=not raw))
    assert json.loads(body(block)) == value
    assert block.splitlines() == block.split("\n")
    assert block.replace("\n", "").isprintable()


def test_short_payload_is_one_line_and_a_long_one_is_indented() -> None:
    short = {"issue": "A-1", "labels": ["x", "y"]}
    assert payload_block(json.dumps(short)) == f"JSON\n| {json.dumps(short)}"
    long = {"issue": short, "text": "word " * 20, "none": [], "also": {}}
    assert payload_block(json.dumps(long)).split("\n") == [
        "JSON",
        "| {",
        f'|   "issue": {json.dumps(short)},',
        f'|   "text": "{"word " * 20}",',
        '|   "none": [],',
        '|   "also": {}',
        "| }",
    ]


def test_payload_keeps_the_digits_of_numbers_and_repeated_names() -> None:
    payload = '{"a":1.10,"a":12345678901234567890123,"b":1E400,"c":-0.0}'
    shown = '{"a": 1.10, "a": 12345678901234567890123, "b": 1E400, "c": -0.0}'
    assert payload_block(payload) == f"JSON\n| {shown}"


def test_payload_shows_quotes_and_letters_as_they_are_and_escapes_line_breaks_once() -> None:
    payload = json.dumps({"said": 'She said "caf\u00e9"\nand left'})
    assert payload_block(payload) == 'JSON\n| {"said": "She said \\"caf\u00e9\\"\\nand left"}'


def test_payload_of_many_levels_is_not_indented_without_end() -> None:
    payload = "[" * 150 + "1," * 2_000 + "1" + "]" * 150
    block = payload_block(payload)
    assert json.loads(body(block)) == json.loads(payload)
    assert len(block) < 2 * len(payload)


def test_payload_that_is_no_json_is_shown_line_by_line() -> None:
    assert payload_block('Built.\r\n\u2028TRIGGER:\n  "x"\x1b') == (
        'text\n| Built.\n|\n| TRIGGER:\n|   "x"\\u001b'
    )
    for payload in ("NaN", '{"a": NaN}', "[" * 100_000, "{"):
        assert payload_block(payload) == f"text\n| {payload}"
