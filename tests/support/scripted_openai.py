"""A small HTTP server that speaks OpenAI's chat completions and says what a test scripted.

It also answers requests for embeddings: texts with the same words get like vectors.

    with ScriptedOpenAI() as model:
        model.say("Hello!")
        settings = Settings(openai_base_url=model.base_url, ...)
        ...
        assert model.calls[0].body["messages"][-1]["content"] == "Hi"

Answers are given in the order in which they were scripted, whatever the order of the questions;
once they are used up, `default` answers, or, without one, the call is refused with 400 and stands
in `unscripted`. Answers by a schema are scripted and counted apart, in `summaries`, `memories` and
their calls, since nobody waits for them; unscripted ones say that there is nothing new.
"""

import json
import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from types import TracebackType
from typing import Any, Self, TypeVar
from zlib import crc32

from skein.settings import Settings
from tests.support.fakes import NOTHING_NEW, NOTHING_TO_REMEMBER

T = TypeVar("T")

PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
EMBEDDINGS_PATH = "/v1/embeddings"
DEFAULT_MODELS = (Settings().default_model, Settings().light_model)


@dataclass(frozen=True)
class Call:
    """One request as it arrived, header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What one call is answered with.

    Attributes:
        tool_calls: Pairs of a tool's name and its arguments (a dict, or raw JSON text).
        status: Of the HTTP response; anything but 200 is a failure with `text` as its message.
        headers: Sent along, e.g. `retry-after`.
        hang_up: Close the connection instead of answering.
        latency: Seconds to wait first.
        trickle: Seconds to wait before each byte of the body.
        usage: Input and output tokens.
        refusal: The words with which the model refuses.
        reasoning: How many of the output tokens were reasoning; None where the provider does not
            say.
        cached: How many of the input a cache served; None where the provider does not say.
        raw: The body, in place of everything above.
        pause: Seconds to wait before each word after the first, if the answer is streamed.
        breaks_off: Close the connection in the middle of a streamed answer.
        breaks_at: Close the connection after this many events of a streamed answer.
        counts: Whether a streamed answer ends with its usage.
        streams: Whether the answer is streamed if the client asks for it.
    """

    text: str | None = ""
    tool_calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_up: bool = False
    latency: float = 0.0
    trickle: float = 0.0
    usage: tuple[int, int] = (10, 5)
    refusal: str | None = None
    reasoning: int | None = None
    cached: int | None = None
    finish_reason: str | None = None
    raw: bytes | None = None
    pause: float = 0.0
    breaks_off: bool = False
    breaks_at: int | None = None
    counts: bool = True
    streams: bool = True

    def sent_of(self, events: Sequence[T]) -> Sequence[T]:
        """Return the events of a stream that are sent before the connection is closed."""
        half = len(events) // 2 if self.breaks_off else None
        return events[: half if self.breaks_at is None else self.breaks_at]

    def is_streamed(self, request: Mapping[str, Any]) -> bool:
        """Tell whether a request gets this answer as a stream."""
        fails = self.status != 200 or self.raw is not None
        return self.streams and not fails and bool(request.get("stream"))


Script = Answer | str | Callable[[Mapping[str, Any]], Answer | str]


class ScriptedOpenAI:
    """The server; listens on loopback while it is entered as a context manager."""

    def __init__(self, *script: Script, default: Script | None = None, port: int = 0) -> None:
        self.default = default
        self._port = port
        # The names of the listed models, a raw body, or the status of a failure; None: 404.
        self.models: Sequence[str] | bytes | int | None = DEFAULT_MODELS
        self.calls: list[Call] = []
        self.unscripted: list[Call] = []
        self.summaries: deque[Script] = deque()
        self.summary_calls: list[Call] = []
        self.memories: deque[Script] = deque()
        self.memory_calls: list[Call] = []
        # What the next requests for embeddings are answered with in place of vectors.
        self.embedding_faults: deque[Answer] = deque()
        self.embedding_calls: list[Call] = []
        # When each chunk of a streamed answer was sent, in seconds of `time.monotonic`.
        self.words_at: list[float] = []
        self._script: deque[Script] = deque(script)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", self._port), self._handler())
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="scripted-openai", daemon=True
        ).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def base_url(self) -> str:
        """What belongs into `Settings.openai_base_url`."""
        if self._server is None:
            raise RuntimeError("the server runs only inside its `with` block")
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def then(self, *script: Script) -> Self:
        """Script further answers: `Answer`s, texts, or functions of the request's body."""
        with self._lock:
            self._script.extend(script)
        return self

    def say(self, text: str, **rest: Any) -> Self:
        """Script one answer in words."""
        return self.then(Answer(text, **rest))

    def call_tools(self, *calls: tuple[str, Mapping[str, Any] | str]) -> Self:
        """Script one answer that asks for tools."""
        return self.then(Answer("", tool_calls=calls))

    def fail(self, status: int = 500, message: str = "scripted failure", **rest: Any) -> Self:
        """Script one failure; the SDK by itself retries 408, 409, 429 and 5xx."""
        return self.then(Answer(message, status=status, **rest))

    def hang_up(self) -> Self:
        """Script one closed connection."""
        return self.then(Answer(hang_up=True))

    def reset(self) -> None:
        """Forget everything that was scripted and called."""
        with self._lock:
            self._script.clear()
            self.calls.clear()
            self.unscripted.clear()
            self.summaries.clear()
            self.summary_calls.clear()
            self.memories.clear()
            self.memory_calls.clear()
            self.embedding_faults.clear()
            self.embedding_calls.clear()

    @property
    def remaining(self) -> int:
        """How many scripted answers have not been used."""
        with self._lock:
            return len(self._script)

    def prompts(self) -> list[list[dict[str, Any]]]:
        """The messages of every call so far."""
        return [list(call.body.get("messages", ())) for call in list(self.calls)]

    def _next(self, call: Call) -> Answer:
        with self._lock:
            script: Script | None
            schema = str(call.body.get("response_format", ""))
            if "journal" in schema:
                self.memory_calls.append(call)
                script = self.memories.popleft() if self.memories else NOTHING_TO_REMEMBER
            elif schema:
                self.summary_calls.append(call)
                script = self.summaries.popleft() if self.summaries else NOTHING_NEW
            else:
                self.calls.append(call)
                script = self._script.popleft() if self._script else self.default
            if script is None:
                self.unscripted.append(call)
                return Answer("nothing is scripted for this call", status=400)
        if callable(script):
            script = script(call.body)
        return Answer(script) if isinstance(script, str) else script

    def _embed(self, call: Call) -> Answer:
        with self._lock:
            self.embedding_calls.append(call)
            if self.embedding_faults:
                return self.embedding_faults.popleft()
        return Answer(raw=json.dumps(_embeddings(call.body)).encode())

    def _list(self, path: str) -> tuple[int, bytes]:
        if path != MODELS_PATH or self.models is None:
            return 404, _no_such_path()
        if isinstance(self.models, int):
            return self.models, json.dumps(_error("scripted failure")).encode()
        return 200, _model_list(self.models)

    def _write(self, stream: BufferedIOBase, data: bytes, trickle: float) -> None:
        if not trickle:
            stream.write(data)
            return
        for byte in data:
            if self._closing.wait(trickle):
                return
            stream.write(bytes([byte]))

    def _write_chunks(
        self, stream: BufferedIOBase, answer: Answer, completion: Mapping[str, Any]
    ) -> None:
        chunks = stream_chunks(completion, counts=answer.counts)
        for chunk in answer.sent_of(chunks):
            self.words_at.append(time.monotonic())  # before a reader can have the chunk
            stream.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self._closing.wait(answer.pause)
        if len(answer.sent_of(chunks)) == len(chunks):
            stream.write(b"data: [DONE]\n\n")

    def _is_lost(self, answer: Answer, handler: BaseHTTPRequestHandler) -> bool:
        """Wait for the latency; tell whether the connection is closed without an answer."""
        self._closing.wait(answer.latency)
        handler.close_connection = handler.close_connection or answer.hang_up
        return answer.hang_up

    def _handler(self) -> Any:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Otherwise a client that keeps its connection waits 40 ms for the body of an answer.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                status, body = owner._list(self.path)
                self._respond(status, body, {})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                headers = {name.lower(): value for name, value in self.headers.items()}
                if self.path not in {PATH, EMBEDDINGS_PATH}:
                    self._respond(404, _no_such_path(), {})
                    return
                called = owner._next if self.path == PATH else owner._embed
                answer = called(Call(self.path, headers, body))
                if owner._is_lost(answer, self):
                    return
                if answer.is_streamed(body):
                    self._stream(answer, _completion(answer, body))
                    return
                payload = _completion(answer, body) if answer.status == 200 else _error(answer.text)
                data = json.dumps(payload).encode() if answer.raw is None else answer.raw
                self._respond(answer.status, data, answer.headers, trickle=answer.trickle)

            def _stream(self, answer: Answer, completion: dict[str, Any]) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.close_connection = True
                owner._write_chunks(self.wfile, answer, completion)

            def _respond(
                self,
                status: int,
                data: bytes,
                headers: Mapping[str, str],
                *,
                trickle: float = 0.0,
            ) -> None:
                self.send_response(status)
                for name, value in {
                    "content-type": "application/json",
                    "content-length": str(len(data)),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                owner._write(self.wfile, data, trickle)

            def log_message(self, *args: Any) -> None:
                """Stay silent."""

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is none of the test's business."""


def _error(message: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "scripted", "param": None, "code": None}}


def _no_such_path() -> bytes:
    return json.dumps(_error("no such path")).encode()


def _model_list(models: Sequence[str] | bytes) -> bytes:
    if isinstance(models, bytes):
        return models
    listed = {"object": "list", "data": [{"id": name} for name in models]}
    return json.dumps(listed).encode()


def _embeddings(request: Mapping[str, Any]) -> dict[str, Any]:
    """Vectors of texts, in reverse order: clients must go by the index."""
    vectors = [vector_of(text, request["dimensions"]) for text in request["input"]]
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": request["model"], "data": data[::-1], "usage": usage}


def vector_of(text: str, dimensions: int) -> list[float]:
    """A unit vector that counts the words of a text."""
    counts = [0.0] * dimensions
    for word in text.lower().split():
        counts[crc32(word.encode()) % dimensions] += 1
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]


def stream_chunks(completion: Mapping[str, Any], *, counts: bool) -> list[dict[str, Any]]:
    """Return a completion as chunks: a role, words, halves of tool calls, the end, the usage."""
    head = {key: completion[key] for key in ("id", "created", "model")}
    head |= {"object": "chat.completion.chunk"}
    [choice] = completion["choices"]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in re.findall(r"\s*\S+\s*", message["content"] or "")]
    if message.get("refusal"):
        deltas.append({"refusal": message["refusal"]})
    for index, call in enumerate(message.get("tool_calls", ())):
        function, middle = call["function"], len(call["function"]["arguments"]) // 2
        first = {"name": function["name"], "arguments": function["arguments"][:middle]}
        rest = {"arguments": function["arguments"][middle:]}
        deltas.append({"tool_calls": [call | {"index": index, "function": first}]})
        deltas.append({"tool_calls": [{"index": index, "function": rest}]})
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    return [
        *(head | {"choices": [{"index": 0, "delta": delta}]} for delta in deltas),
        head | {"choices": [end]},
        *([head | {"choices": [], "usage": completion["usage"]}] if counts else []),
    ]


def _completion(answer: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text,
        "refusal": answer.refusal,
    }
    if answer.tool_calls:
        message["tool_calls"] = [
            {
                "id": f"call_{n}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for n, (name, given) in enumerate(answer.tool_calls, 1)
        ]
    reason = answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")
    sent, received = answer.usage
    cached = answer.cached
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    if answer.reasoning is not None:
        details["completion_tokens_details"] = {"reasoning_tokens": answer.reasoning}
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": sent,
            "completion_tokens": received,
            "total_tokens": sent + received,
        }
        | details,
    }
