"""Requests in the form of the Converse API.

Converse has one system prompt, and roles alternate. A system message inside the history becomes a
block of the next user message, between marks that no other text can contain.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from skein.adapters.converse.families import CALLS_NAMED_TOOL
from skein.adapters.template_tokens import BREAK, harmless, restored
from skein.models.common.prompt_caches import CHARACTERS_OF_A_TOKEN, NO_CACHE, CacheRule, block_ends
from skein.models.runs.strict_schema import is_strict
from skein.models.runs.tool_arguments import repeatable
from skein.prompts import render

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from skein.models.common.prompt_caches import CachePlace
    from skein.models.runs.completion import ModelMessage, ModelRequest, ToolSpec

    Block = dict[str, Any]

OPENING, CLOSING = "<skein-context>", "</skein-context>"
MARK = re.compile(r"<(?=/?skein-context)", re.IGNORECASE)
BROKEN_MARK = re.compile(rf"<{BREAK}(?=/?skein-context)", re.IGNORECASE)
NOTHING = "(nothing)"  # Converse refuses blank texts
ANSWER_TOOL = "answer"
POINT: Block = {"cachePoint": {"type": "default"}}
IMAGES = ("png", "jpeg", "gif", "webp")


class Form(NamedTuple):
    """How the requests to a model are built, which depends on what the model accepts.

    Attributes:
        cache: The places where the model accepts cache points.
        left_out: The places where the model has refused cache points.
        text_format: Whether the schema of an answer is sent as the format of its text. Otherwise
            the model is made to call a tool with this schema.
        max_tokens: The limit of output tokens.
    """

    cache: CacheRule = NO_CACHE
    left_out: Collection[CachePlace] = ()
    text_format: bool = False
    max_tokens: int = 0

    def has_point(self, place: CachePlace, characters: int) -> bool:
        """Return whether a cache point is set after this many characters of the request."""
        long_enough = characters >= self.cache.least_tokens * CHARACTERS_OF_A_TOKEN
        return place in self.cache.places and place not in self.left_out and long_enough


def fenced(text: str) -> str:
    """Return a text in which chat-template tokens and the block's marks are broken."""
    return MARK.sub(f"<{BREAK}", harmless(text))


def unfenced(text: str) -> str:
    """Undo `fenced` in a model's text."""
    return BROKEN_MARK.sub("<", restored(text))


def parameters_of(request: ModelRequest, form: Form) -> dict[str, Any]:
    """Return the parameters of `converse` and `converse_stream` for a request."""
    tools = _tool_config(request, form)
    before = len(json.dumps(tools)) if tools else 0
    pays = request.stable_end is not None and form.cache.pays(request.gaps)
    points = form.cache.most_points if pays else 0
    if tools and points and form.has_point("tools", before):
        tools["tools"].append(POINT)
        points -= 1
    system, messages = _prompt(request, form, before, points)
    parameters: dict[str, Any] = {
        "modelId": request.model,
        "messages": messages,
        "inferenceConfig": {"maxTokens": form.max_tokens},
    }
    parameters |= {"system": system} if system else {}
    parameters |= {"toolConfig": tools} if tools else {}
    if request.answer_schema is not None and form.text_format:
        schema = {"name": ANSWER_TOOL, "schema": json.dumps(request.answer_schema)}
        text_format = {"type": "json_schema", "structure": {"jsonSchema": schema}}
        parameters["outputConfig"] = {"textFormat": text_format}
    return parameters


def _tool_config(request: ModelRequest, form: Form) -> Block:
    if request.answer_schema is not None and not form.text_format:
        named = CALLS_NAMED_TOOL.search(request.model)
        choice = {"tool": {"name": ANSWER_TOOL}} if named else {"any": {}}
        description = "Give your answer with this tool."
        tool = _tool(ANSWER_TOOL, description, request.answer_schema)
        return {"tools": [tool], "toolChoice": choice}
    tools = [_tool_of(tool, strict=form.text_format) for tool in request.tools]
    if not tools:  # Converse refuses calls and results in the history without any tool
        called = {call.name: None for each in request.messages for call in each.tool_calls}
        tools = [_tool(name, "No longer offered.", {"type": "object"}) for name in called]
    return {"tools": tools} if tools else {}


def _tool_of(tool: ToolSpec, *, strict: bool) -> Block:
    spec = _tool(tool.name, tool.description or tool.name, tool.parameters)
    if strict and is_strict(tool.parameters):
        spec["toolSpec"]["strict"] = True
    return spec


def _tool(name: str, description: str, schema: dict[str, object]) -> Block:
    return {"toolSpec": {"name": name, "description": description, "inputSchema": {"json": schema}}}


def _prompt(
    request: ModelRequest, form: Form, before: int, points: int
) -> tuple[list[Block], list[Block]]:
    """Return the system prompt and the messages, with their cache points.

    Args:
        before: The number of characters of the tools, which come first in the request.
        points: How many cache points the request may still have.
    """
    first, rest = request.messages[:1], request.messages[1:]
    if first and first[0].role != "system":
        first, rest = (), request.messages
    fences = any(message.role == "system" for message in rest)
    note: list[Block] = [{"text": render("context_block")}] if fences else []
    stable, cut, appended = request.stable_end or (0, 0, 0)
    system: list[Block] = []
    for text in (message.content for message in first):
        ends = [len(text)] if stable else [cut, *block_ends(text, cut, appended)]
        # Of a timeline, the last two ends get points, because one of them was the last a turn ago.
        pointed = {ends[0], *ends[1:][-2:]}
        for begin, end in pairwise([0, *ends]):
            system += [*_texts(text[begin:end]), *note]
            if end in pointed and end and points and form.has_point("system", before + end):
                system.append(POINT)
                points -= 1
        before += ends[-1]
        system += _texts(text[ends[-1] :])
    history = _Turns(request)
    for position, message in enumerate(rest, start=len(first)):
        if position == stable and history.blocks and points:
            before += sum(len(each.content) for each in rest[: stable - len(first)])
            if form.has_point("messages", before):
                history.mark()
        history.add(message)
    return system, history.finished()


def _texts(text: str) -> list[Block]:
    return [{"text": fenced(text)}] if text.strip() else []


class _Turns:
    """The messages of a request, whose roles alternate.

    Attributes:
        blocks: True once a content block was added.
    """

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._turns: list[Block] = []

    @property
    def blocks(self) -> bool:
        return bool(self._turns)

    def add(self, message: ModelMessage) -> None:
        """Add a message to the last turn, or as a new turn."""
        content = self._content(message)
        if content:
            role = "assistant" if message.role == "assistant" else "user"
            self._append(role, content)

    def mark(self) -> None:
        """Add a cache point after the last block."""
        self._turns[-1]["content"].append(POINT)

    def finished(self) -> list[Block]:
        """Return the turns; the first and the last are the user's."""
        if not self._turns or self._turns[0]["role"] != "user":
            self._turns.insert(0, {"role": "user", "content": [{"text": NOTHING}]})
        if self._turns[-1]["role"] != "user":
            self._append("user", [{"text": NOTHING}])
        return self._turns

    def _append(self, role: str, content: list[Block]) -> None:
        if self._turns and self._turns[-1]["role"] == role:
            self._turns[-1]["content"] += content
        else:
            self._turns.append({"role": role, "content": content})

    def _content(self, message: ModelMessage) -> list[Block]:
        if message.role == "system":
            return [{"text": f"{OPENING}\n{fenced(message.content)}\n{CLOSING}"}]
        if message.role == "tool":
            text = message.content if message.content.strip() else NOTHING
            result = {"toolUseId": message.tool_call_id, "content": [{"text": fenced(text)}]}
            return [{"toolResult": result}]
        return [*_texts(message.content), *self._images(message), *_calls(message)]

    def _images(self, message: ModelMessage) -> Iterable[Block]:
        for image in message.images:
            data = self._request.image_bytes.get(image.media_id)
            kind = image.content_type.removeprefix("image/")
            if data is not None and kind in IMAGES:
                yield {"image": {"format": kind, "source": {"bytes": data}}}


def _calls(message: ModelMessage) -> Iterable[Block]:
    for call in message.tool_calls:
        given = _each_text(json.loads(repeatable(call.arguments)), fenced)
        yield {"toolUse": {"toolUseId": call.id, "name": call.name, "input": given}}


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with `change` applied to each of its texts."""
    if isinstance(value, dict):
        return {name: _each_text(part, change) for name, part in value.items()}
    if isinstance(value, list):
        return [_each_text(part, change) for part in value]
    return change(value) if isinstance(value, str) else value
