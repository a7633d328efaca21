"""A model that answers after 300 ms, with the numbers of the call and the message in each answer.

With the history as roles, the answer is the text. With a timeline, the model calls `send_message`
first, and then ends.
"""

import itertools
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from local.events import Request, Response, json_response

PATH = "/v1/chat/completions"
LATENCY_SECONDS = 0.3
MARKER = re.compile(r"\b[pu]\d{3}-\d+-\d+\b")
ARROW = "\u2190 TRIGGER"
NOTE = '{"lines": ["They are well.", "Nothing is open."], "summary": "They have spoken."}'
THROTTLED = json_response(
    429, {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}
)


class Model:
    """Model behind an OpenAI-compatible API.

    Attributes:
        calls: The number of answers, without those for summaries.
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
        return _completion(asked, said(asked["messages"], self.calls))


def said(messages: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
    """Return the message of the model, which no other call gets."""
    if messages[-1]["role"] == "tool":
        return {"content": ""}
    timeline = _marked(messages)
    if timeline is None:
        spoken = (m["content"] for m in reversed(messages) if m["role"] == "user")
        heard = next((found for text in spoken if (found := MARKER.findall(text))), ["nothing"])
        return {"content": f"Answer {number}: heard {heard[-1]}."}
    text = f"Answer {number}: heard {timeline}."
    arguments = {"text": text, "reply_to": None, "wait": None, "chat_id": None}
    call = {"name": "send_message", "arguments": json.dumps(arguments)}
    return {
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
    }


def _marked(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the message before the trigger's arrow in a timeline."""
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
