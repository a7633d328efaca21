"""Base of the tools: typed functions, from which short JSON schemas are generated."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from skein.errors import Correctable, Failed, Invalid, Rejected, TooLarge, Unprocessable
from skein.interface.arguments import MAY_BE_EMPTY, NOT_SHOWN
from skein.models.common.json_types import JsonBool
from skein.models.runs.completion import ToolSpec
from skein.models.runs.reduced_schema import OF_FUNCTION, reduced
from skein.models.runs.strict_schema import closed_if_strict
from skein.models.runs.tool_arguments import json_object
from skein.services.common.quoting import quoted

MAX_REASON = 300  # characters of the error for one argument
MAX_LOCATION = 60  # characters of an argument's name in an error
MAX_REASONS = 5  # arguments that one error names

ToolEffect = Literal["read", "send", "save", "end"]
"""The effect of a tool: `read` returns content to the model, `send` posts in chats, `save` changes
stored data, and `end` ends the run. The model waits only for the result of `read`."""

CONTINUE = "continue"
"""The argument with which the model asks to go on after a call that sends or saves."""


HIDDEN_CONTINUE = Annotated[JsonBool | None, Field(json_schema_extra={NOT_SHOWN: True})]


class OfferedTool(Protocol):
    """A tool that a model may call, either built-in or defined by the tenant."""

    @property
    def name(self) -> str: ...

    @property
    def spec(self) -> ToolSpec:
        """The description and schema of the tool, for a model."""


@dataclass(frozen=True)
class Tool:
    """A built-in tool: a function with its name, description, effect and arguments.

    Attributes:
        groups_only: Whether the tool is offered only in groups.
        announced: How the tool's result begins if Skein itself has posted a message about the call
            in the chat. The run may then end without a message of the agent. "" if Skein never
            posts such a message for this tool.
    """

    name: str
    description: str
    effect: ToolEffect
    arguments: type[BaseModel]
    function: Callable[..., str]
    groups_only: bool = False
    announced: str = ""

    @cached_property  # takes a millisecond, and each request to a model has the specs of all tools
    def spec(self) -> ToolSpec:
        """The description and schema of the tool, for a model."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=schema_for_models(self.arguments.model_json_schema()),
            saves=self.effect == "save",
        )

    def parse(self, arguments: str) -> dict[str, Any]:
        """Parse and validate the arguments that a model wrote.

        An argument with the value null counts as not given. The same applies to "", unless the
        argument is marked `MAY_BE_EMPTY`.

        Raises:
            Correctable: The arguments are not a JSON object, or do not fit the schema.
        """
        try:
            given = json_object(arguments)
        except ValueError as error:
            raise Correctable(f"arguments: Invalid JSON: {error}"[:MAX_REASON]) from None
        known = {name: value for name, value in given.items() if self._is_given(name, value)}
        try:
            return dict(self.arguments.model_validate(known))
        except ValidationError as error:
            raise Correctable(_reasons(error)) from None

    def _is_given(self, name: str, value: object) -> bool:
        """Return whether a value counts as given; see `parse`."""
        if value is None or value == "":
            field = self.arguments.model_fields.get(name)
            return value == "" and field is not None and MAY_BE_EMPTY in field.metadata
        return True


def _reasons(error: ValidationError) -> str:
    """Describe which arguments are invalid and why, in limited length and without their values."""
    problems = error.errors(include_url=False, include_input=False)
    reasons = [
        f"{_location(problem['loc'])}: {_words(problem)}"[:MAX_REASON]
        for problem in problems[:MAX_REASONS]
    ]
    more = len(problems) - len(reasons)
    return "; ".join([*reasons, *([f"and {more} more"] if more else [])])


def _location(location: tuple[str | int, ...]) -> str:
    """Return the path of an argument; a name that the model invented is quoted and cut."""
    name = str(location[0]) if location else "arguments"
    if not name.isidentifier() or len(name) > MAX_LOCATION:
        name = quoted(name[:MAX_LOCATION])
    return ".".join([name, *(str(part) for part in location[1:] if isinstance(part, int))])


def _words(problem: ErrorDetails) -> str:
    if problem["type"] == "string_too_long":
        return f"at most {problem['ctx']['max_length']:,} characters"
    return problem["msg"]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


def tool(
    *, effect: ToolEffect, groups_only: bool = False, announced: str = ""
) -> Callable[[Callable[..., str]], Tool]:
    """Return a decorator that turns a function into a tool.

    The function's first parameter is a `ToolContext`. The other parameters become the tool's
    arguments, with the descriptions of their `Annotated` fields. The first paragraph of the
    docstring is the tool's description for the model.

    A tool that sends or saves also accepts the argument `CONTINUE`, which is not passed to the
    function. The schema of a tool that saves does not show `CONTINUE` to the model. The schema of a
    tool that sends shows it only if the instructions explain it (`without_continue`).
    """

    def decorate(function: Callable[..., str]) -> Tool:
        _, *parameters = inspect.signature(function).parameters.values()
        fields: dict[str, Any] = {
            parameter.name: (
                parameter.annotation,
                ... if parameter.default is parameter.empty else parameter.default,
            )
            for parameter in parameters
        }
        if effect in ("send", "save"):
            fields[CONTINUE] = (JsonBool | None if effect == "send" else HIDDEN_CONTINUE, None)
        name = function.__name__
        model = create_model(name, __base__=_Arguments, **fields)
        summary = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
        described = " ".join(summary.split())
        return Tool(name, described, effect, model, function, groups_only, announced)

    return decorate


@cache
def without_continue(tool: Tool) -> Tool:
    """Return a tool whose schema does not show `CONTINUE`."""
    if CONTINUE not in tool.arguments.model_fields:
        return tool
    hidden: dict[str, Any] = {CONTINUE: (HIDDEN_CONTINUE, None)}
    return replace(tool, arguments=create_model(tool.name, __base__=tool.arguments, **hidden))


def schema_for_models(schema: dict[str, Any]) -> dict[str, Any]:
    """Shorten the JSON schema of a tool's arguments, because each of its tokens costs money.

    Bounds and defaults are left out, because `Tool.parse` checks them. Arguments marked `NOT_SHOWN`
    are left out, but still accepted. The model may omit optional arguments.
    """
    parts: dict[str, Any] = schema.get("properties", {})
    properties = {name: part for name, part in parts.items() if NOT_SHOWN not in part}
    return closed_if_strict(reduced({**schema, "properties": properties}, words=OF_FUNCTION))


@contextmanager
def refusals_as_tool_errors() -> Iterator[None]:
    """Convert a service's errors to tool errors, which are shown to the model.

    Raises:
        Correctable: The call may succeed with other arguments.
        Failed: The call cannot succeed.
    """
    try:
        yield
    except (Invalid, Unprocessable, TooLarge) as error:
        raise Correctable(str(error)) from None
    except Rejected as error:
        raise Failed(str(error)) from None
