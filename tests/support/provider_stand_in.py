"""Stand-ins for providers of models, each of which ignores what that provider ignores."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "key-of-the-provider"
JSON_TEXT = '{"summary": "She swims."}'
WORDS = ("She ", "swims.")
TOOL = "look_up"  # which is called whenever it is offered
ARGUMENTS = {"days": "2", "extra": True}  # as a model writes without a strict schema


@dataclass
class StandIn:
    """A provider.

    Attributes:
        path: The path of its base URL.
        model: The name of one of its models.
        ignores: What it ignores: `response_format`, `strict`, `stream_options` or `stream`.
        calls: The bodies of the calls.
        keys: The keys of the calls.
    """

    name: str
    path: str
    model: str
    ignores: frozenset[str] = frozenset()
    url: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the message that answers a call."""
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        if TOOL in names:
            strict = "strict" not in self.ignores
            arguments = json.dumps({"days": 2} if strict else ARGUMENTS)
            call = {"name": TOOL, "arguments": arguments}
            calls = [{"id": "call_1", "type": "function", "function": call}]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        if "response_format" in body:
            free = "response_format" in self.ignores
            text = f"Here it is:\n```json\n{JSON_TEXT}\n```" if free else JSON_TEXT
            return {"role": "assistant", "content": text}
        return {"role": "assistant", "content": "".join(WORDS)}

    def chunks(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the chunks of a streamed answer."""
        for word in WORDS:
            yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": word}}]}
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        if body.get("stream_options") and "stream_options" not in self.ignores:
            yield {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


# What each ignores, by its own documentation.
PROVIDERS = (
    StandIn(
        "bedrock",
        "/openai/v1",
        "openai.gpt-oss-20b-1:0",
        frozenset({"response_format", "strict", "stream_options"}),
    ),
    StandIn("anthropic", "/v1", "claude-sonnet-4-5", frozenset({"response_format", "strict"})),
    StandIn("azure", "/openai/v1", "my-deployment"),
    StandIn("ollama", "/v1", "llama3.2", frozenset({"strict"})),
    StandIn("litellm", "", "bedrock/anthropic.claude-haiku", frozenset({"stream_options"})),
    StandIn("plain", "/v1", "m", frozenset({"response_format", "strict", "stream"})),
)


@contextmanager
def running(provider: StandIn) -> Iterator[StandIn]:
    """Run a stand-in on loopback, with its own list of calls."""
    made = StandIn(provider.name, provider.path, provider.model, provider.ignores)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            made.calls.append(body)
            made.keys.append(self.headers["authorization"].removeprefix("Bearer "))
            if self.path != f"{made.path}/chat/completions" or body["model"] != made.model:
                self._send(404, "application/json", b'{"error": {"message": "not found"}}')
            elif body.get("stream") and "stream" not in made.ignores:
                common = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
                lines = [f"data: {json.dumps(common | each)}\n\n" for each in made.chunks(body)]
                text = "".join([*lines, "data: [DONE]\n\n"])
                self._send(200, "text/event-stream", text.encode())
            else:
                choice = {"index": 0, "finish_reason": "stop", "message": made.message(body)}
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
                answer = json.dumps(whole | {"choices": [choice], "usage": usage})
                self._send(200, "application/json", answer.encode())

        def _send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        made.url = f"http://127.0.0.1:{server.server_port}{made.path}"
        yield made
        server.shutdown()
        thread.join()
