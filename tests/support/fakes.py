"""A scripted model, a rival in every race, and a death or an error that can strike at any call."""

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from skein.models.common.storage import Query, Write
from skein.models.runs.completion import (
    AnswerFault,
    ModelAnswer,
    ModelRequest,
    TokenUsage,
    ToolCall,
)
from tests.fakes.table import MemoryTable

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Calls:
    """An answer that calls tools: each a name and its arguments, as a mapping or as raw text.

    Attributes:
        fault: How the provider says that the answer is not whole.
        reasoning: The tokens of the model's reasoning.
    """

    tools: tuple[tuple[str, Mapping[str, Any] | str], ...]
    text: str = ""
    fault: AnswerFault | None = None
    reasoning: int = 0


def calls(*tools: str | tuple[str, Mapping[str, Any] | str], text: str = "") -> Calls:
    """Script an answer: `calls(("send_message", {"text": "Hi"}), "end_run")`."""
    named = ((tool, {}) if isinstance(tool, str) else tool for tool in tools)
    return Calls(tuple(named), text)


def says(text: str, **arguments: Any) -> Calls:
    """Script an answer that sends one message."""
    return calls(("send_message", {"text": text, **arguments}))


def faulty(fault: AnswerFault, text: str = "", *, reasoning: int = 0) -> Calls:
    """Script an answer in words that is not whole."""
    return Calls((), text, fault, reasoning)


NOTHING_NEW = '{"lines": ["All is quiet.", "Nothing is open."], "summary": "They have spoken."}'
NO_TITLE = '{"title": ""}'
NO_DESCRIPTION = '{"shows": "A picture."}'
NOTHING_TO_KEEP = '{"promote": []}'
NO_OWN_WORDS = '{"memories": []}'
NOTHING_TO_REMEMBER = '{"journal": [], "core": []}'
Said = str | Calls
Script = Said | Exception | Callable[[ModelRequest], Said]


@dataclass
class ScriptedModel:
    """Answers what a test scripted, in order; then `default`, and without one it fails the test.

    It refuses, as a provider does, a request in which a tool call and its result are not paired.

    Attributes:
        requests: Everything it was asked, but for answers by a schema.
        summaries: What it says when an answer by a schema is asked for; then `NOTHING_NEW`.
        summary_requests: Those questions.
        memories: What it says when it is asked what to remember; then `NOTHING_TO_REMEMBER`.
        memory_requests: Those questions.
        titles: What it says when it is asked for a title; then an answer without one.
        title_requests: Those questions.
        own_words: What it says when it is asked for memories of a person's own words; then
            `NO_OWN_WORDS`.
        own_words_requests: Those questions.
        reflections: What it says when it is asked what not to forget; then `NOTHING_TO_KEEP`.
        reflection_requests: Those questions.
        descriptions: What it says when it is asked what a picture shows; then "A picture."
        description_requests: Those questions.
        ids: Of its calls of tools.
        between: What happens after each word of a streamed answer, given the words so far.
        used: The tokens of each answer, but for its reasoning.
    """

    script: deque[Script] = field(default_factory=deque)
    default: Script | None = None
    requests: list[ModelRequest] = field(default_factory=list)
    summaries: deque[Script] = field(default_factory=deque)
    summary_requests: list[ModelRequest] = field(default_factory=list)
    memories: deque[Script] = field(default_factory=deque)
    memory_requests: list[ModelRequest] = field(default_factory=list)
    own_words: deque[Script] = field(default_factory=deque)
    own_words_requests: list[ModelRequest] = field(default_factory=list)
    titles: deque[Script] = field(default_factory=deque)
    title_requests: list[ModelRequest] = field(default_factory=list)
    reflections: deque[Script] = field(default_factory=deque)
    reflection_requests: list[ModelRequest] = field(default_factory=list)
    descriptions: deque[Script] = field(default_factory=deque)
    description_requests: list[ModelRequest] = field(default_factory=list)
    ids: "count[int]" = field(default_factory=lambda: count(1))
    between: Callable[[str], object] = field(default=lambda said: None)
    used: TokenUsage = field(default_factory=lambda: TokenUsage(input_tokens=10, output_tokens=5))

    @classmethod
    def saying(cls, *script: Script, default: Script | None = None) -> "ScriptedModel":
        return cls(deque(script), default)

    def complete(self, request: ModelRequest) -> ModelAnswer:
        said: Script | None
        if request.answer_schema is not None and "journal" in str(request.answer_schema):
            self.memory_requests.append(request)
            said = self.memories.popleft() if self.memories else NOTHING_TO_REMEMBER
        elif request.answer_schema is not None and "'memories'" in str(request.answer_schema):
            self.own_words_requests.append(request)
            said = self.own_words.popleft() if self.own_words else NO_OWN_WORDS
        elif request.answer_schema is not None and "promote" in str(request.answer_schema):
            self.reflection_requests.append(request)
            said = self.reflections.popleft() if self.reflections else NOTHING_TO_KEEP
        elif request.answer_schema is not None and "'shows'" in str(request.answer_schema):
            self.description_requests.append(request)
            said = self.descriptions.popleft() if self.descriptions else NO_DESCRIPTION
        elif request.answer_schema is not None and "title" in str(request.answer_schema):
            self.title_requests.append(request)
            said = self.titles.popleft() if self.titles else NO_TITLE
        elif request.answer_schema is not None and "'times'" not in str(request.answer_schema):
            self.summary_requests.append(request)
            said = self.summaries.popleft() if self.summaries else NOTHING_NEW
        else:
            self.requests.append(request)
            check_paired(request)
            said = self.script.popleft() if self.script else self.default
        if said is None:
            raise AssertionError("the model was asked more often than the test scripted")
        if isinstance(said, Exception):
            raise said
        answer = Context().run(said, request) if callable(said) else said  # by no function
        if isinstance(answer, str):
            answer = Calls((), answer)
        return ModelAnswer(
            model=request.model,
            text=answer.text,
            tool_calls=tuple(
                ToolCall(
                    id=f"call_{next(self.ids)}",
                    name=name,
                    arguments=given if isinstance(given, str) else json.dumps(given),
                )
                for name, given in answer.tools
            ),
            fault=answer.fault,
            usage=self.used.model_copy(update={"reasoning_tokens": answer.reasoning}),
        )

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """Answer as `complete` does, word by word."""
        answer = self.complete(request)
        for piece in re.finditer(r"\S+\s*", answer.text):
            heard(answer.text[: piece.end()])
            Context().run(self.between, answer.text[: piece.end()])
        return answer

    @property
    def prompt(self) -> str:
        """The newest request's system messages, as one text."""
        return "\n".join(m.content for m in self.requests[-1].messages if m.role == "system")

    @property
    def told(self) -> list[str]:
        """What the newest request repeats of the results of tools, in order."""
        return [m.content for m in self.requests[-1].messages if m.role == "tool"]


def check_paired(request: ModelRequest) -> None:
    """Fail unless tool calls have the form that providers ask for, each followed by its result."""
    open_calls: list[str] = []
    for message in request.messages:
        if message.role == "tool":
            assert message.tool_call_id in open_calls, "a result without its call"
            open_calls.remove(message.tool_call_id)
            continue
        assert not open_calls, f"calls without results: {open_calls}"
        for call in message.tool_calls:
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call.name), "a name of another form"
            assert isinstance(json.loads(call.arguments), dict), "arguments that are no object"
            assert call.id, "a call without an id"
        open_calls = [call.id for call in message.tool_calls]
        assert len(set(open_calls)) == len(open_calls), "two calls of one id"
    assert not open_calls, f"calls without results: {open_calls}"


class MeanwhileTable(MemoryTable):
    """Lets something happen just before the next transaction that writes a certain key."""

    def __init__(self) -> None:
        super().__init__()
        self.before: tuple[str, Callable[[], object]] | None = None

    def transact(self, writes: Sequence[Write]) -> None:
        if self.before and any(self.before[0] in write.key.sk for write in writes):
            (_, happen), self.before = self.before, None
            happen()
        super().transact(writes)


def in_turn(function: Callable[[A], B], over: Sequence[A]) -> list[B]:
    """An `ParallelMap` of one thread, which is quicker where no call takes any time."""
    return [function(one) for one in over]


class Killed(BaseException):
    """The process is gone; no handler of exceptions may notice."""


class Fuse:
    """Strikes at the n-th call to the outside, before or after it takes effect.

    It kills the process, which then reaches nothing more outside; or, armed with an error, it lets
    that one call fail; or, armed with something that happens meanwhile, it holds that call up. One
    fuse is shared by all ports of a world, so that `n` counts the calls to any of them.

    Attributes:
        calls: The names of the calls since it was armed.
        first_calls: The numbers of the calls that were the first of their invocation.
        dead: The process has been killed.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.first_calls: set[int] = set()
        self.strike: int | None = None
        self.after = False
        self.error: type[Exception] | None = None
        self.meanwhile: Callable[[], None] | None = None
        self.dead = False
        self._begins = False
        self._lock = threading.Lock()  # some reads are parallel

    def arm(
        self,
        strike: int,
        *,
        after: bool,
        error: type[Exception] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self.disarm()
        self.meanwhile = meanwhile
        self.strike = strike
        self.after = after
        self.error = error

    def begin_invocation(self) -> None:
        """Note that the next call is the first of an invocation."""
        self._begins = True

    def disarm(self) -> None:
        self.calls.clear()
        self.first_calls.clear()
        self.strike = None
        self.error = None
        self.meanwhile = None
        self.dead = False

    def guard(self, port: object, name: str, methods: Sequence[str]) -> "Fused":
        return Fused(self, port, name, frozenset(methods))

    def carry(self, what: str, call: Callable[[], Any]) -> Any:
        with self._lock:
            if self.dead:
                raise Killed(what)
            self.calls.append(what)
            if self._begins:
                self.first_calls.add(len(self.calls))
                self._begins = False
            struck = len(self.calls) == self.strike
            self.dead = struck and self.error is None and self.meanwhile is None
        if struck and not self.after:
            self._strike(what)
        result = call()
        if struck and self.after:
            self._strike(what)
        return result

    def _strike(self, what: str) -> None:
        if self.meanwhile is None:
            raise (self.error or Killed)(what)
        self.meanwhile()


class Fused:
    """A port whose calls go through a fuse."""

    def __init__(self, fuse: Fuse, port: object, name: str, methods: frozenset[str]) -> None:
        self._fuse = fuse
        self._port = port
        self._name = name
        self._methods = methods

    def __getattr__(self, method: str) -> Any:
        target = getattr(self._port, method)
        if method not in self._methods:
            return target
        return lambda *args, **kwargs: self._fuse.carry(
            f"{self._name}.{_call_name(method, args)}", lambda: target(*args, **kwargs)
        )


def _call_name(method: str, args: tuple[Any, ...]) -> str:
    return "query_index" if args and isinstance(args[0], Query) and args[0].index else method
