"""A model that answers after 300 ms.

Each answer contains the numbers of the model call and of the message that it answers. If the prompt
has the history as roles, the answer is a text. If it has a timeline, the model first calls
`send_message`, and then ends. For a share of the people in direct chats, the model calls the tools
of `services.py` before it answers.
"""

import itertools
import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bench.load.services import READ, WRITE, calls_tools
from local.events import Request, Response, json_response

PATH = "/v1/chat/completions"
LATENCY_SECONDS = 0.3
MARKER = re.compile(r"\b[pu]\d{3}-\d+-\d+\b")
ARROW = "\u2190 TRIGGER"
NOTE = json.dumps(
    {
        "lines": ["They are well.", "Nothing is open."],
        "summary": "They have spoken.",
        "shows": "A red square.",
    }
)
THROTTLED = json_response(
    429, {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}
)


class Model:
    """The model, behind an OpenAI-compatible API.

    Attributes:
        calls: The number of answers, not counting answers for summaries.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._numbers = itertools.count(1)

    def answer(self, request: Request) -> Response:
        """Answer one completion request after 300 ms."""
        if request.path != PATH or request.method != "POST":
            return json_response(404, {"error": {"message": "no such path"}})
        asked: dict[str, Any] = json.loads(request.body)
        time.sleep(LATENCY_SECONDS)
        if "response_format" in asked:
            return _completion(asked, {"content": NOTE})
        self.calls = next(self._numbers)
        tools = {each["function"]["name"] for each in asked.get("tools", ())}
        return _completion(asked, said(asked["messages"], self.calls, tools))


def said(
    messages: Sequence[Mapping[str, Any]], number: int, tools: Collection[str] = ()
) -> dict[str, Any]:
    """Return the model's answer. It contains the number of the call, so no two answers are equal.

    Args:
        tools: The names of the tools that the model may call.
    """
    after_tools, timeline = messages[-1]["role"] == "tool", _marked(messages)
    if timeline is None:
        spoken = (_text(m["content"]) for m in reversed(messages) if m["role"] == "user")
        heard = next((found for text in spoken if (found := MARKER.findall(text))), ["nothing"])
        if not after_tools and WRITE in tools and calls_tools(heard[-1]):
            marked = {"marker": heard[-1]}
            return _calls(number, (READ, marked), (WRITE, marked))
        return {"content": f"Answer {number}: heard {heard[-1]}."}
    if after_tools:
        return {"content": ""}
    text = f"Answer {number}: heard {timeline}."
    arguments = {"text": text, "reply_to": None, "wait": None, "chat_id": None}
    return _calls(number, ("send_message", arguments))


def _text(content: object) -> str:
    """Return the text of a message. If the message has pictures, its content is a list of parts."""
    parts = content if isinstance(content, list) else [{"text": content}]
    return " ".join(str(part.get("text", "")) for part in parts)


def _calls(number: int, *calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a message that calls tools."""
    functions = [{"name": name, "arguments": json.dumps(given)} for name, given in calls]
    return {
        "content": None,
        "tool_calls": [
            {"id": f"call_{number}_{n}", "type": "function", "function": function}
            for n, function in enumerate(functions)
        ],
    }


def _marked(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the marker of the message to which a timeline's arrow points; None without one."""
    for message in messages:
        if message["role"] != "system":
            continue
        for line in str(message["content"]).splitlines():
            if line.endswith(ARROW) and (found := MARKER.search(line)):
                return found[0]
    return None


def _completion(asked: Mapping[str, Any], message: Mapping[str, Any]) -> Response:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    whole = {"role": "assistant", "refusal": None, **message}
    return json_response(
        200,
        {
            "id": "chatcmpl-load",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": asked["model"],
            "choices": [{"index": 0, "message": whole, "finish_reason": reason, "logprobs": None}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        },
    )
