"""What holds for every tool: a strict schema, and one list for code, API and document."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from skein.agent.tools import TOOLS, enabled, written
from skein.agent.tools.base import Tool
from skein.errors import Correctable
from skein.models.directory.agent import DEFAULT_TOOLS, ToolName
from tests.support.goldens import agrees

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")

REGISTER = "shared/skein/models/directory/agent.py"

# What strict mode takes: https://platform.openai.com/docs/guides/structured-outputs
ALLOWED = {
    *("type", "description", "enum", "const", "anyOf"),
    *("properties", "required", "additionalProperties", "items"),
    *("pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minItems", "maxItems"),
}
MAX_PROPERTIES = 5_000
DEEPEST = 10

every_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)


def _parts(schema: dict[str, Any], depth: int = 1) -> Iterator[tuple[dict[str, Any], int]]:
    yield schema, depth
    for part in schema.get("properties", {}).values():
        yield from _parts(part, depth + 1)
    for part in schema.get("anyOf", ()):
        yield from _parts(part, depth)
    if "items" in schema:
        yield from _parts(schema["items"], depth + 1)


def _rows() -> dict[str, list[str]]:
    table = DOCUMENT.split("## What comes back", maxsplit=1)[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}


# ---------------------------------------------------------------------- schemas


@every_tool
def test_a_schema_is_one_that_strict_mode_takes(tool: Tool) -> None:
    schema = tool.spec.parameters
    for part, depth in _parts(schema):
        assert part.keys() <= ALLOWED, part
        assert depth <= DEEPEST
        if "anyOf" not in part:
            assert "type" in part, part
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
    assert len(list(_parts(schema))) < MAX_PROPERTIES
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)


@every_tool
def test_everything_is_described(tool: Tool) -> None:
    assert len(tool.description) > 20
    assert tool.description.endswith(".")
    for name, part in _properties(tool).items():
        assert part.get("description", "").endswith("."), name


@every_tool
def test_what_may_be_left_out_may_be_null_and_nothing_else(tool: Tool) -> None:
    needed = set(tool.arguments.model_json_schema().get("required", ()))
    for name, part in _properties(tool).items():
        nullable = {"type": "null"} in part.get("anyOf", ())
        assert nullable == (name not in needed), name


@every_tool
def test_nulls_count_as_not_given(tool: Tool) -> None:
    needed = tool.arguments.model_json_schema().get("required", ())
    samples = {name: _properties(tool)[name].get("enum", ["x"])[0] for name in needed}
    nulls = dict.fromkeys(_properties(tool)) | samples
    assert tool.parse(json.dumps(nulls)) == tool.parse(json.dumps(samples))


@every_tool
@pytest.mark.parametrize(
    "arguments", ["[]", "null", "3", '"text"', "{", "not json", '{"surely_no_such_name": 1}', "{}x"]
)
def test_arguments_of_wrong_type_are_correctable(tool: Tool, arguments: str) -> None:
    with pytest.raises(Correctable) as refused:
        tool.parse(arguments)
    assert str(refused.value)


@every_tool
def test_a_schema_changes_only_on_purpose(tool: Tool) -> None:
    text = json.dumps(tool.spec.model_dump(), indent=1, ensure_ascii=False)
    assert agrees(f"tools/{tool.name}", text)


# ---------------------------------------------------------------------- names


def test_code_and_api_know_the_same_tools() -> None:
    names = get_args(ToolName)
    for name in written():
        assert name in names, f'add this line to ToolName in {REGISTER}: "{name}",'
    for name in names:
        assert name in written(), f'delete "{name}" from ToolName in {REGISTER}'
    assert list(TOOLS) == list(names)
    assert set(DEFAULT_TOOLS) <= TOOLS.keys()


def test_the_document_lists_every_tool_with_its_arguments_and_no_other() -> None:
    rows = _rows()
    for name, tool in TOOLS.items():
        optional = [
            f"`{argument}?`" if {"type": "null"} in part.get("anyOf", ()) else f"`{argument}`"
            for argument, part in _properties(tool).items()
        ]
        given = "yes" if name in DEFAULT_TOOLS else "no"
        line = f"| `{name}` | {', '.join(optional)} | ... | {given} |"
        assert name in rows, f"add this row to the first table of docs/tools.md: {line}"
        arguments, _, told = rows[name]
        fits = (set(re.findall(r"`[^`]+`", arguments)), told) == (set(optional), given)
        assert fits, f"write this row in the first table of docs/tools.md: {line}"
    assert list(rows) == list(TOOLS), "docs/tools.md lists the tools in the order of ToolName"


def test_an_agent_keeps_the_tools_that_still_exist() -> None:
    assert [tool.name for tool in enabled(["end_run", "gone", "send_message"])] == [
        "send_message",
        "end_run",
    ]


def _properties(tool: Tool) -> dict[str, dict[str, Any]]:
    properties = tool.spec.parameters["properties"]
    assert isinstance(properties, dict)
    return properties


def test_the_order_in_which_tools_were_enabled_changes_nothing_of_what_is_sent() -> None:
    """They open the prompt: in another order, or worded anew, none of it could be cached."""
    names = get_args(ToolName)
    sent = [
        json.dumps([tool.spec.model_dump() for tool in enabled(ordered)])
        for ordered in (names, names[::-1], sorted(names), (*names, *names))
    ]
    assert len(set(sent)) == 1
