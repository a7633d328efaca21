"""Whatever a model sends to its tools, it is told so, and the person gets an answer."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.agent.tools import TOOLS
from skein.errors import Correctable
from skein.interface.tool import Tool
from skein.models.common.storage import Query
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage, ToolCall
from skein.models.runs.recordable import MAX_CALLS, NO_NAME, TOOL_NAME
from skein.models.runs.step import Step, ToolResult
from tests.support.agents import COACH, HUSAM, results_of, steps_of, the_run
from tests.support.builders import NOON, TENANT, World
from tests.support.examples import examples
from tests.support.fakes import ScriptedModel

ANSWER = "Sorry, I got lost."

HUGE = 450_000
LONG_TEXTS = ["x" * 129, "x" * 5_000, "\U0001f3b8" * 30_000, "x" * HUGE, '"\\' * 60_000]
PLAIN_TEXTS = [
    *("", " ", "\0", "a\0b", "\n", "a\u2028b", "\u202e", "\ufeff", "#", "%23", "..", "/etc/passwd"),
    *("chat_1", "chat_9", "usr_husam", "thr_1", "goal_1", "mem_1", "doc_1", "run_1_chat_1"),
    *("core", "done", "2 hours", "999999999 weeks", "0 0 30 2 *", "* * * * *", "Europe/Berlin"),
    *("run_" + "0" * 64 + "_chat_" + "0" * 64, "2026-02-30T00:00", "9999-12-31T23:59:59Z"),
]
TEXTS = st.sampled_from([*PLAIN_TEXTS, *LONG_TEXTS]) | st.text(max_size=20)
NUMBERS = st.sampled_from(
    [0, -1, 1, 5, 50, 51, 1.0, 1.5, 10**12, 2**63, 10**400, float("nan"), float("inf"), 1e300]
)
DEEP = st.integers(1, 5).map(lambda deep: "[" * 10**deep + "]" * 10**deep)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
RAW_TEXTS = [
    *("", " ", "{", "[]", "null", "3", "nan", '"text"', "{}x", "{'text': 'Hi'}", "\0", "{\0}"),
    *('{"text": "\\ud800"}', '{"\\udc00": 1}', '{"text": "a\\u0000b"}', '{"limit": NaN}'),
    *('{"text": "One", "text": "Two"}', '{"wait": {"a": 1, "a": 2}}', '{"limit": 1e999}'),
    *('{"limit": ' + "9" * 5_000 + "}", "x" * HUGE, '{"text": "' + "x" * HUGE),
    *(json.dumps({f"made_up_{n}": n for n in range(5_000)}), '{"' + "k" * HUGE + '": 1}'),
]
RAW = st.sampled_from(RAW_TEXTS) | DEEP | DEEP.map(lambda deep: f'{{"text": {deep}}}') | TEXTS
MADE_UP = ["", " ", "send message", "SEND_MESSAGE", "__class__", "x" * HUGE, "\0", "end_run\0"]
NAMES = st.sampled_from(list(TOOLS)) | st.sampled_from(MADE_UP)
IDS = st.sampled_from(["", "call_1", "a b", "\0", "é", "x" * 5_000]) | st.text(max_size=5)


def _of_type(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of the right type, many of which are still wrong."""
    if "anyOf" in schema:
        return st.one_of([_of_type(part) for part in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array":
        return st.lists(TEXTS, max_size=12)
    by_type = {"string": TEXTS, "integer": st.integers(-1, 60), "boolean": st.booleans()}
    return by_type.get(schema["type"], st.none())


def _objects(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for a tool, mostly of the right types."""
    schema = tool.arguments.model_json_schema()
    values = {
        name: st.one_of(_of_type(part), _of_type(part), VALUES)
        for name, part in schema["properties"].items()
    }
    needed = {name: values.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(needed, optional=values)


OBJECTS = {name: _objects(tool) for name, tool in TOOLS.items()}


@st.composite
def hostile_calls(draw: st.DrawFn) -> ToolCall:
    name = draw(NAMES)
    arguments = draw(RAW)
    if name in TOOLS and draw(st.integers(0, 3)):
        arguments = json.dumps(draw(OBJECTS[name]))
    return ToolCall(id=draw(IDS), name=name, arguments=arguments)


@dataclass
class HostileModel(ScriptedModel):
    """Sends its calls first, then gives its answer."""

    answers: list[tuple[str, list[ToolCall]]] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> ModelAnswer:
        answer = super().complete(request)
        if request.answer_schema is not None or not self.answers:
            return answer
        text, tool_calls = self.answers.pop(0)
        return ModelAnswer(
            model=request.model, text=text, tool_calls=tuple(tool_calls), usage=TokenUsage()
        )


def _asked(
    *answers: tuple[str, list[ToolCall]], model: HostileModel | None = None, **chat: Any
) -> World:
    """Husam has asked something, and the agent has answered with these calls, then in words."""
    world = World(model=model or HostileModel(default=ANSWER, answers=list(answers)))
    world.agent(
        reply_mode="text",
        enabled_tools=tuple(TOOLS),
        profile_fields=["goals", "preferences"],
    )
    world.chat(HUSAM, COACH, **chat)
    world.chat(HUSAM, COACH, chat_id="chat_2", title="Sales", respond="manual")
    world.post("Hello", HUSAM)
    world.drain()
    return world


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(TEXTS, st.lists(hostile_calls(), min_size=1, max_size=6)), max_size=3),
    st.booleans(),
)
def test_run_any_tool_calls_ends_done_with_an_answer(
    answers: list[tuple[str, list[ToolCall]]], private: bool
) -> None:
    chat: dict[str, Any] = {"kind": "direct", "visibility": "private"} if private else {}
    world = _asked(*answers, **chat)
    runs = [*world.runs(), *world.runs("chat_2")]
    assert {run.status for run in runs} == {"done"}
    assert world.metrics.counts["RunAttemptsFailed"] == 0
    ended = any(
        result.name in {"end_run", "ask_choice"} and result.status == "done"
        for run in runs
        for result in results_of(world, run)
    )
    last_words = {steps_of(world, run)[-1].text for run in runs}  # mostly ANSWER
    assert ended or last_words & {*world.texts(), *world.texts("chat_2")}
    for run in runs:
        for result in results_of(world, run):
            assert result.status != "correctable" or len(result.content) <= 4_000
    assert all(run.error is None for run in runs)


# ---------------------------------------------------------------------- what is stored and repeated


def _call(name: str, given: Any, call_id: str = "call_1") -> ToolCall:
    arguments = given if isinstance(given, str) else json.dumps(given)
    return ToolCall(id=call_id, name=name, arguments=arguments)


@pytest.mark.parametrize("chat_id", ["", "x" * 129, "x" * 5_000])
@pytest.mark.parametrize("name", ["enter_chat", "read_messages", "borrow_context", "send_message"])
def test_tool_call_bad_chat_id_is_corrected(name: str, chat_id: str) -> None:
    given = {"chat_id": chat_id} | ({"text": "Hi"} if name == "send_message" else {})
    world = _asked(("", [_call(name, given)]))
    [result] = results_of(world, the_run(world))
    optional = chat_id == "" and name == "read_messages"
    assert result.status == ("done" if optional else "correctable")
    assert optional or "chat_id" in result.content
    assert len(result.content) < 400
    assert world.texts()[-1] == ANSWER


def test_tool_call_of_450_kilobytes_is_recorded_cut_and_corrected() -> None:
    arguments = json.dumps({"name": "plan", "text": "x" * HUGE})
    fitting = json.dumps({"name": "short", "text": "y"})
    world = _asked(
        ("", [_call("write_document", arguments), _call("write_document", fitting, "call_2")])
    )
    [step, _] = steps_of(world, the_run(world))
    assert [len(call.arguments) for call in step.tool_calls] == [200, len(fitting)]
    results = step.results or ()
    assert [result.status for result in results] == ["correctable", "done"]
    assert f"{len(arguments):,} characters are too many" in results[0].content
    assert world.texts()[-1] == ANSWER


def test_step_longest_answer_prompt_and_results_fit_into_one_item() -> None:
    texts = [json.dumps({"name": f"d{n}", "text": "\U0001f3b8é" * 2_000}) for n in range(25)]
    reads = [_call("read_messages", {}, f"r{n}") for n in range(15)]
    writes = [_call("append_document", text, f"w{n}") for n, text in enumerate(texts)]
    model = HostileModel(default=ANSWER)
    world = _asked(model=model)
    for _ in range(60):
        world.post("\U0001f3b8" * 3_000, HUSAM, chat_id="chat_2")
    model.answers.append(("\U0001f3b8" * HUGE, [*reads, *writes]))
    world.post("Again", HUSAM)
    world.drain()
    assert {run.status for run in world.runs()} == {"done"}
    assert max(len(json.dumps(item, default=str)) for item in _all_items(world)) > 100_000
    assert world.texts()[-1] == ANSWER


def _all_items(world: World) -> list[dict[str, Any]]:
    page = world.table.query(Query.under(f"{TENANT}#CHAT#chat_1", "RUN#"))
    return list(page.items)


def test_step_thousands_of_calls_records_forty_and_carries_out_twenty() -> None:
    many = [_call("set_goal", {"text": f"Goal {n}"}, f"c{n}") for n in range(5_000)]
    world = _asked(("", many))
    [step, _] = steps_of(world, the_run(world))
    assert len(step.tool_calls) == MAX_CALLS
    done = [result for result in step.results or () if result.status == "done"]
    assert len(done) == 20
    assert world.texts()[-1] == ANSWER


def test_step_huge_text_beside_calls_is_cut_with_a_mark() -> None:
    world = _asked(("x" * HUGE, [_call("get_my_runs", {})]))
    [step, _] = steps_of(world, the_run(world))
    assert step.text == "x" * 20_000 + " [430,000 characters cut]"
    assert world.texts()[-1] == ANSWER


def test_step_stored_earlier_is_repeated_in_a_form_that_providers_take() -> None:
    stored = Step.from_item(
        {
            "tenant": TENANT,
            "run_id": "run_1_chat_1",
            "n": 3,
            "model": "m",
            "text": "",
            "tool_calls": [
                {"id": "", "name": "send mail!", "arguments": "{oops"},
                {"id": "", "name": "", "arguments": ""},
                {"id": "c", "name": "end_run", "arguments": '{"a": 1, "a": 2}'},
                {"id": "c", "name": "end_run", "arguments": " {}"},
            ],
            "results": [
                ToolResult(call_id="", name="x", status="done", content=str(n)).model_dump()
                for n in range(4)
            ],
            "usage": {},
            "started_at": NOON,
            "ended_at": NOON,
        }
    )
    answer, *results = stored.messages()
    assert [(call.id, call.name) for call in answer.tool_calls] == [
        ("call_3_0", "send-mail-"),
        ("call_3_1", NO_NAME),
        ("c", "end_run"),
        ("call_3_3", "end_run"),
    ]
    assert [json.loads(call.arguments) for call in answer.tool_calls] == [
        {"unreadable": "{oops"},
        {},
        {"unreadable": '{"a": 1, "a": 2}'},
        {},
    ]
    assert [result.tool_call_id for result in results] == [call.id for call in answer.tool_calls]
    assert [result.content for result in results] == ["0", "1", "2", "3"]


def test_step_long_arguments_are_repeated_shortened() -> None:
    world = _asked(("", [_call("write_document", {"name": "plan", "text": "x" * 100_000})]))
    repeated = [m for m in world.model.requests[-1].messages if m.role == "assistant"][-1]
    given = json.loads(repeated.tool_calls[0].arguments)
    assert given == {
        "name": "plan",
        "text": "x" * 2_000 + " [98,000 characters are not repeated]",
    }


# ---------------------------------------------------------------------- what every tool takes


every_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)


def _bounded(schema: dict[str, Any]) -> bool:
    """Whether no value that fits a schema can be large."""
    if "anyOf" in schema:
        return all(map(_bounded, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return True
    kind = schema.get("type")
    if kind == "string":
        return "maxLength" in schema
    if kind == "integer":
        return {"minimum", "maximum"} <= schema.keys()
    if kind == "array":
        return "maxItems" in schema and _bounded(schema["items"])
    return kind in {"boolean", "null"}


@every_tool
def test_tool_every_argument_is_typed_and_bounded(tool: Tool) -> None:
    for name, schema in tool.arguments.model_json_schema()["properties"].items():
        assert _bounded(schema), name


@every_tool
def test_tool_required_empty_text_is_missing(tool: Tool) -> None:
    may_be_empty = {"text", "replace"} if "document" in tool.name else set()
    for name, part in tool.arguments.model_fields.items():
        if part.is_required() and name not in may_be_empty:
            with pytest.raises(Correctable, match=rf"\b{name}: Field required"):
                tool.parse(json.dumps({name: ""}))


@every_tool
def test_tool_optional_empty_text_counts_as_not_given(tool: Tool) -> None:
    parts = tool.arguments.model_fields
    schemas = tool.arguments.model_json_schema()["properties"]
    required = {
        name: schemas[name].get("enum", [schemas[name].get("minimum", "core")])[0]
        for name, part in parts.items()
        if part.is_required()
    }
    for name, part in parts.items():
        if not part.is_required() and name != "blocking":
            assert tool.parse(json.dumps({name: ""} | required))[name] == part.default


def test_tool_names_are_never_made_from_other_names() -> None:
    """A name of another form gets hyphens, or is called unknown."""
    assert all(TOOL_NAME.fullmatch(name) and "-" not in name for name in TOOLS)
    assert NO_NAME not in TOOLS
    assert re.fullmatch(r"[a-z_]+", "".join(TOOLS))
