"""Answers of the Converse API, whole or put together from the events of a stream."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skein.adapters.converse.wire import ANSWER_TOOL, unfenced
from skein.models.runs.completion import AnswerFault, ModelAnswer, TokenUsage, ToolCall, well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from skein.models.runs.completion import ModelRequest

FAULTS: dict[str, AnswerFault] = {
    "max_tokens": "cut_off",
    "model_context_window_exceeded": "cut_off",
    "content_filtered": "filtered",
    "guardrail_intervened": "filtered",
    "malformed_model_output": "empty",
    "malformed_tool_use": "empty",
}


def answer_of(response: Mapping[str, Any], request: ModelRequest) -> ModelAnswer:
    """Return the answer in a response of `converse`, or in one that `assembled` made.

    A malformed answer is returned as an empty one, because its text and calls are not what the
    model meant.

    Raises:
        AttributeError, KeyError, TypeError: The response has an unexpected form.
    """
    blocks = response["output"]["message"]["content"]
    fault = FAULTS.get(response["stopReason"])
    text = "".join(block["text"] for block in blocks if "text" in block)
    calls = tuple(_call(block["toolUse"]) for block in blocks if "toolUse" in block)
    if request.answer_schema is not None:
        given = [call.arguments for call in calls if call.name == ANSWER_TOOL]
        text, calls = (given or [text])[0], ()
    if fault == "empty":
        text, calls = "", ()
    return ModelAnswer(
        model=request.model,
        text=unfenced(text),
        tool_calls=calls,
        fault=fault,
        usage=_usage(response["usage"]),
    )


def _call(use: Mapping[str, Any]) -> ToolCall:
    given = use["input"]
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(id=use["toolUseId"], name=use["name"], arguments=unfenced(arguments))


def _usage(usage: Mapping[str, int]) -> TokenUsage:
    """Return the token counts; `inputTokens` excludes tokens that a cache read or wrote."""
    read, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    return TokenUsage(
        input_tokens=usage["inputTokens"] + read + written,
        output_tokens=usage["outputTokens"],
        cached_tokens=read,
        cache_written_tokens=written,
    )


class StreamBroken(Exception):
    """A stream ended before the answer was complete."""


@dataclass
class _Answer:
    """The parts of an answer that have arrived so far."""

    blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    stop_reason: str | None = None
    usage: Mapping[str, int] | None = None

    def add(self, event: Mapping[str, Any]) -> bool:
        """Add an event; return whether it contained text of the answer."""
        if start := event.get("contentBlockStart"):
            if use := start["start"].get("toolUse"):
                self.blocks[start["contentBlockIndex"]] = {"toolUse": {**use, "input": ""}}
        elif stop := event.get("messageStop"):
            self.stop_reason = stop["stopReason"]
        elif metadata := event.get("metadata"):
            self.usage = metadata["usage"]
        elif part := event.get("contentBlockDelta"):
            return self._add_part(part["contentBlockIndex"], part["delta"])
        return False

    def _add_part(self, index: int, delta: Mapping[str, Any]) -> bool:
        if use := delta.get("toolUse"):
            self.blocks[index]["toolUse"]["input"] += use["input"]
        if "text" not in delta:  # the model's reasoning is not kept
            return False
        self.blocks.setdefault(index, {"text": ""})["text"] += delta["text"]
        return bool(delta["text"])

    @property
    def text(self) -> str:
        return "".join(block.get("text", "") for _, block in sorted(self.blocks.items()))

    def whole(self) -> dict[str, Any]:
        """Return the answer in the form of a response of `converse`."""
        content = [block for _, block in sorted(self.blocks.items())]
        for block in content:
            if "toolUse" in block:
                block["toolUse"]["input"] = block["toolUse"]["input"] or "{}"
        message = {"role": "assistant", "content": content}
        return {"output": {"message": message}, "stopReason": self.stop_reason, "usage": self.usage}


def assembled(events: Iterable[Mapping[str, Any]], heard: Callable[[str], None]) -> dict[str, Any]:
    """Read a stream to its end, and return its answer like a response of `converse`.

    Args:
        events: The events of the stream.
        heard: Called with the text so far, after each event that contains text.

    Raises:
        KeyError, TypeError: An event has an unexpected form.
        StreamBroken: The stream ended before the answer was complete, or before its token count
            arrived.
    """
    answer = _Answer()
    for event in events:
        if answer.add(event):
            heard(well_formed(unfenced(answer.text)))
    if answer.stop_reason is None or answer.usage is None:
        raise StreamBroken("the stream ended before the answer")
    return answer.whole()
