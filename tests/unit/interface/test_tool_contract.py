"""What holds for every tool: a short schema, and one list for code, API and document."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from skein.adapters.openai.model import tools_on_wire
from skein.agent.tools import TOOLS, enabled, written
from skein.errors import Correctable
from skein.interface.tool import Tool
from skein.models.directory.agent import DEFAULT_TOOLS, ToolName
from tests.support.builders import tokens
from tests.support.each import check_each
from tests.support.goldens import agrees

ROOT = Path(__file__).resolve().parents[3]

REGISTER = "shared/skein/models/directory/agent.py"

# All of it is in what strict mode accepts, too:
# https://platform.openai.com/docs/guides/structured-outputs
ALLOWED = {
    *("type", "description", "enum", "anyOf"),
    *("properties", "required", "additionalProperties", "items"),
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


# ---------------------------------------------------------------------- schemas


@every_tool
def test_schema_holds_only_what_a_model_needs(tool: Tool) -> None:
    schema = tool.spec.parameters
    for part, depth in _parts(schema):
        assert part.keys() <= ALLOWED, part
        assert depth <= DEEPEST
        if "anyOf" not in part:
            assert "type" in part, part
        assert part != {"type": "null"}
    assert len(list(_parts(schema))) < MAX_PROPERTIES
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)


@every_tool
def test_schema_is_strict_if_all_arguments_are_required(tool: Tool) -> None:
    schema = tool.spec.parameters
    strict = bool(_properties(tool)) and _required(tool) == set(_properties(tool))
    assert (schema.get("additionalProperties") is False) == strict
    assert tool.spec.function.get("strict", False) == strict


@pytest.mark.parametrize(
    "name", ["enter_chat", "read_messages", "get_my_runs", "search_memories", "list_documents"]
)
def test_limit_is_accepted_but_not_shown(name: str) -> None:
    required = {"chat_id": "chat_a", "query": "Rex"}
    given = {key: value for key, value in required.items() if key in _required(TOOLS[name])}
    assert "limit" not in json.dumps(TOOLS[name].spec.parameters)
    assert TOOLS[name].parse(json.dumps(given | {"limit": 3}))["limit"] == 3
    with pytest.raises(Correctable):
        TOOLS[name].parse(json.dumps(given | {"limit": 51}))


@every_tool
def test_descriptions_are_sentences(tool: Tool) -> None:
    assert len(tool.description) > 20
    assert tool.description.endswith(".")
    for name, part in _properties(tool).items():
        assert part.get("description", ".").endswith("."), name


@every_tool
def test_schema_requires_what_the_function_requires(tool: Tool) -> None:
    assert _required(tool) == set(tool.arguments.model_json_schema().get("required", ()))


@every_tool
def test_nulls_count_as_not_given(tool: Tool) -> None:
    needed = tool.arguments.model_json_schema().get("required", ())
    samples = {
        name: 1 if each.get("type") == "integer" else each.get("enum", ["x"])[0]
        for name in needed
        for each in [_properties(tool)[name]]
    }
    nulls = dict.fromkeys(_properties(tool)) | samples
    assert tool.parse(json.dumps(nulls)) == tool.parse(json.dumps(samples))


@pytest.mark.parametrize(
    "arguments", ["[]", "null", "3", '"text"', "{", "not json", '{"surely_no_such_name": 1}', "{}x"]
)
def test_arguments_of_wrong_type_are_correctable(arguments: str) -> None:
    def check(tool: Tool) -> None:
        try:
            parsed = tool.parse(arguments)
        except Correctable as refused:
            assert str(refused)  # noqa: PT017 - `check_each` names the tool
        else:
            raise AssertionError(f"parsed as {parsed}")

    check_each(TOOLS, check)


@every_tool
def test_a_schema_changes_only_on_purpose(tool: Tool) -> None:
    text = json.dumps(tool.spec.function, indent=1, ensure_ascii=False)
    assert agrees(f"tools/{tool.name}", text)


# ---------------------------------------------------------------------- names


def test_tool_registry_and_tool_name_type_agree() -> None:
    names = get_args(ToolName)
    for name in written():
        assert name in names, f'add this line to ToolName in {REGISTER}: "{name}",'
    for name in names:
        assert name in written(), f'delete "{name}" from ToolName in {REGISTER}'
    assert list(TOOLS) == list(names)
    assert set(DEFAULT_TOOLS) <= TOOLS.keys()


def test_default_tools_take_at_most_900_tokens_without_a_plan_to_cancel() -> None:
    offered = [tool.spec for tool in enabled(DEFAULT_TOOLS) if tool.name != "cancel_plan"]
    assert len(offered) == len(DEFAULT_TOOLS) - 1
    assert tokens().count(json.dumps(tools_on_wire(offered))) <= 900


# ---------------------------------------------------------------------- unit tests


def _called_in(source: str) -> Iterator[str]:
    """Yield the texts that a test module may call tools by: `"x"` in a call, or `("x", ...)`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Tuple | ast.Call):
            first = node.elts[:1] if isinstance(node, ast.Tuple) else node.args
            for each in first:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def test_every_tool_has_a_unit_test_that_calls_it() -> None:
    generic = {"test_base_contract.py", "test_arguments_hostile.py"}
    modules = [m for m in (ROOT / "tests" / "unit").rglob("test_*.py") if m.name not in generic]
    sources = [module.read_text("utf-8") for module in modules]
    called = {name for source in sources if "calls(" in source for name in _called_in(source)}
    for name, tool in TOOLS.items():
        module = tool.function.__module__.rpartition(".")[2]
        assert name in called, (
            f"no unit test calls the tool {name}: write tests of what it does and of what it "
            f'refuses in tests/unit/tools/test_{module}.py, with calls("{name}") or '
            f'calls(("{name}", {{...}})) from tests/support/fakes.py'
        )


def test_texts_that_are_not_called_are_no_unit_test() -> None:
    assert list(_called_in('x = ["fly"]\nstep = calls("swim", ("run", {"fly": 1}))')) == [
        *("swim", "run")
    ]


# ---------------------------------------------------------------------- order


def test_an_agent_keeps_the_tools_that_still_exist() -> None:
    assert [tool.name for tool in enabled(["end_run", "gone", "send_message"])] == [
        "send_message",
        "end_run",
    ]


def _required(tool: Tool) -> set[str]:
    required = tool.spec.parameters.get("required", [])
    assert isinstance(required, list)
    return set(required)


def _properties(tool: Tool) -> dict[str, dict[str, Any]]:
    properties = tool.spec.parameters["properties"]
    assert isinstance(properties, dict)
    return properties


def test_order_of_enabled_tools_does_not_change_the_request() -> None:
    """They open the prompt: in another order, or worded anew, none of it could be cached."""
    names = get_args(ToolName)
    sent = [
        json.dumps(tools_on_wire(tool.spec for tool in enabled(ordered)))
        for ordered in (names, names[::-1], sorted(names), (*names, *names))
    ]
    assert len(set(sent)) == 1
