"""The model of the recorded day. It answers real prompts with answers written in the story."""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage, ToolCall

NAME = "scripted"
NOTHING_TO_REMEMBER: Mapping[str, object] = {"journal": [], "core": []}
EMPTY: Mapping[str, object] = {
    "title": {"title": ""},
    "promote": {"promote": []},
    "memories": {"memories": []},
}


@dataclass(frozen=True)
class Call:
    """A scripted call of a tool."""

    tool: str
    arguments: Mapping[str, object]


Scripted = str | Call


@dataclass
class ScriptedModel:
    """Language model (see `skein.ports.LanguageModel`) with the answers of the story.

    Attributes:
        memories: The memories to make from a conversation, by a word that occurs in the
            conversation's messages.
        count: Returns the number of tokens of a text, so that the recorded usage matches the
            prompts.
    """

    memories: Mapping[str, Mapping[str, object]]
    count: Callable[[str], int]
    _answers: deque[Scripted] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _calls: int = 0

    def say(self, *answers: Scripted) -> None:
        """Add answers for the next requests."""
        with self._lock:
            self._answers.extend(answers)

    @property
    def left(self) -> int:
        """The number of answers that were not used."""
        with self._lock:
            return len(self._answers)

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Return the next scripted answer (see `skein.ports.LanguageModel`).

        Raises:
            LookupError: The story has no answer to this request.
        """
        prompt = "\n".join(message.content for message in request.messages)
        calls: tuple[ToolCall, ...] = ()
        if request.answer_schema is not None:
            text = json.dumps(self._by_schema(str(request.answer_schema), prompt))
        else:
            text, calls = self._next()
        words = "".join([text, *(call.arguments for call in calls)])
        return ModelAnswer(
            model=request.model,
            text=text,
            tool_calls=calls,
            usage=TokenUsage(input_tokens=self.count(prompt), output_tokens=self.count(words)),
        )

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """Return the next scripted answer at once, without streaming its words."""
        del heard
        return self.complete(request)

    def _next(self) -> tuple[str, tuple[ToolCall, ...]]:
        with self._lock:
            if not self._answers:
                raise LookupError("the story has no answer to this request")
            said = self._answers.popleft()
            self._calls += 1
            if isinstance(said, str):
                return said, ()
            call_id = f"call_{self._calls}"
        return "", (ToolCall(id=call_id, name=said.tool, arguments=json.dumps(said.arguments)),)

    def _by_schema(self, schema: str, prompt: str) -> object:
        if "journal" not in schema:
            return next((empty for name, empty in EMPTY.items() if name in schema), {})
        found = (memory for word, memory in self.memories.items() if word in prompt)
        return next(found, NOTHING_TO_REMEMBER)
