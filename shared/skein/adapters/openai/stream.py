"""Streamed chat completions, put together from their chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from skein.models.runs.completion import well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openai.types.chat import ChatCompletion, ChatCompletionChunk


FIRST_HALVES = ("\ud800", "\udbff")  # the range of high surrogates in UTF-16


@dataclass
class _Answer:
    """The parts of an answer that have arrived so far."""

    model: str = ""
    content: str = ""
    refusal: str = ""
    calls: dict[Any, SimpleNamespace] = field(default_factory=dict)
    finish_reason: str | None = None
    usage: Any = None

    def add(self, chunk: ChatCompletionChunk) -> bool:
        """Add a chunk; return whether it contained text of the answer."""
        self.model = chunk.model or self.model
        self.usage = getattr(chunk, "usage", None) or self.usage
        if not chunk.choices:  # the usage, or the result of a content filter
            return False
        choice = chunk.choices[0]
        self.finish_reason = choice.finish_reason or self.finish_reason
        delta = choice.delta
        if delta is None:
            return False
        self.refusal += getattr(delta, "refusal", None) or ""
        for call in getattr(delta, "tool_calls", None) or ():
            self._add_call(call)
        words = getattr(delta, "content", None) or ""
        self.content += words
        return bool(words)

    def _add_call(self, call: Any) -> None:
        """Add a part of a tool call; if a part has no index, its id or name begins a new call."""
        number = call.index
        if number is None:
            begins = call.id or (call.function is not None and call.function.name)
            number = f"call {len(self.calls)}" if begins else next(reversed(self.calls), "call 0")
        made = self.calls.setdefault(
            number,
            SimpleNamespace(
                id="", type="function", function=SimpleNamespace(name="", arguments="")
            ),
        )
        made.id = call.id or made.id
        made.type = getattr(call, "type", None) or made.type
        if call.function is not None:
            made.function.name += call.function.name or ""
            made.function.arguments += call.function.arguments or ""

    def whole(self) -> SimpleNamespace:
        """Return the answer in the form of a response that was not streamed."""
        message = SimpleNamespace(
            content=merged(self.content),
            refusal=merged(self.refusal),
            tool_calls=list(self.calls.values()),
        )
        choice = SimpleNamespace(message=message, finish_reason=self.finish_reason)
        return SimpleNamespace(model=self.model, choices=[choice], usage=self.usage)


def streamed_completion(
    chunks: Iterable[ChatCompletionChunk], heard: Callable[[str], None]
) -> ChatCompletion | None:
    """Read a stream to its end, and return its answer like a response that was not streamed.

    Args:
        chunks: The chunks, as the SDK parsed them without validating them.
        heard: Called with the text so far, after each chunk that contains text.

    Returns:
        The answer; None if there was no chunk.

    Raises:
        AttributeError, TypeError: A chunk has an unexpected form.
        ValueError: The stream ended before the answer was complete.
    """
    answer = None
    for chunk in chunks:
        answer = answer or _Answer()
        if answer.add(chunk):
            heard(_whole_characters(answer.content))
    if answer is None:
        return None
    if answer.finish_reason is None:
        raise ValueError("the stream ended before the answer")
    return cast("ChatCompletion", answer.whole())


def merged(text: str) -> str:
    """Join the halves of characters that were split between two chunks."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _whole_characters(text: str) -> str:
    """Return an unfinished text; if it ends with half a character, leave that out."""
    first, last = FIRST_HALVES
    if text and first <= text[-1] <= last:
        text = text[:-1]
    return well_formed(merged(text))
