"""Chat completions by the local model, with a prompt and rules that suit such a small model."""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from local.model.small_answer import (
    DEMO_AGENT,
    DESK_TOOL,
    GYM_TOOL,
    NO_PICTURE,
    PICTURE_BACK,
    READS_NOTHING,
    SEES_NOTHING,
    SENDS_BACK,
    emergency_rule,
    gym_day,
    known_answer,
    refusal,
    shaped,
    wants_person,
    wants_picture,
)
from local.model.small_prompt import Conversation, conversation_of
from local.model.tutorial_script import NO_REPLY, ScriptedCall, scripted

SEND = "send_message"  # the tool by which an agent reaches people
ASKED = "They want to talk to a person"
DUE = "A plan of mine is due:"  # the model cannot follow the instruction of a plan
GYM_ANSWER = re.compile(rf"{GYM_TOOL} answered\.[^\n]*\n\| (?P<text>[^\n]+)")
WORD = re.compile(r"\s*\S+")


@dataclass(frozen=True)
class Continuation:
    """What the model wrote after a prompt.

    Attributes:
        text: The text, without the stop sequence that ended it.
        whole: Whether the model ended the text itself.
    """

    text: str
    whole: bool
    prompt_tokens: int = 0
    tokens: int = 0


class SmallModel:
    """Chat completions of the local model, as JSON of OpenAI's API.

    Args:
        continued: Continues a prompt. Many threads call it at the same time.
    """

    def __init__(self, name: str, continued: Callable[[str], Continuation]) -> None:
        self._name = name
        self._continued = continued

    def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a chat completion.

        If the request has a schema, the answer is the smallest value that fits the schema. The
        model itself would only invent a summary or a memory.

        Args:
            request: The request's body, with a list of `messages`.
        """
        schema = _schema_of(request)
        if schema is not None:
            return self._completion({"content": _dumps(_emptiest(schema))}, None)
        messages = list(request["messages"])
        conversation = conversation_of(messages)
        if bool(messages) and messages[-1].get("role") == "tool":
            return self._after_call(request, conversation, str(messages[-1].get("content")))
        asked = conversation.instruction or conversation.question
        if asked is None:
            return self._completion({"content": NO_REPLY}, None)
        return self._answered(request, conversation, asked)

    def _after_call(
        self, request: Mapping[str, Any], conversation: Conversation, result: str
    ) -> dict[str, Any]:
        """Answer with the result of the demo's tool. After any other tool's call, end the run."""
        found = GYM_ANSWER.match(result)
        if found is None:
            return self._completion({"content": NO_REPLY}, None)
        return self._spoken(request, conversation, found["text"], None)

    def _answered(
        self, request: Mapping[str, Any], conversation: Conversation, asked: str
    ) -> dict[str, Any]:
        """Answer a message, or the instruction of a plan that has come due.

        The answer is the first of the following that exists: the agent's own rule, a scripted
        answer, a tool call, or what the model writes.
        """
        due = conversation.instruction is not None
        rule = None if due else emergency_rule(asked, conversation.character)
        known = rule or scripted(
            asked,
            name=conversation.name,
            character=conversation.character,
            prompt=str(request["messages"]),
        )
        if isinstance(known, str):
            return self._spoken(request, conversation, known, None)
        if isinstance(known, ScriptedCall):
            return self._called(_call(known.tool, **known.arguments))
        if due:
            return self._spoken(request, conversation, f"{DUE} {asked}", None)
        call = _call_for(request, conversation)
        if call is not None:
            return self._called(call)
        return self._spoken(request, conversation, *self._said(request, conversation, asked))

    def _called(self, call: dict[str, Any]) -> dict[str, Any]:
        return self._completion({"content": None, "tool_calls": [call]}, None)

    def _spoken(
        self,
        request: Mapping[str, Any],
        conversation: Conversation,
        text: str,
        used: Continuation | None,
    ) -> dict[str, Any]:
        if text != NO_REPLY and conversation.by_tool and _offers(request, SEND):
            return self._completion({"content": None, "tool_calls": [_call(SEND, text=text)]}, used)
        return self._completion({"content": text}, used)

    def _said(
        self, request: Mapping[str, Any], conversation: Conversation, question: str
    ) -> tuple[str, Continuation | None]:
        known = (
            _said_of_files(question, conversation)
            or refusal(question, _offered(request))
            or known_answer(question, name=conversation.name)
        )
        if known is not None:
            return known, None
        continuation = self._continued(conversation.prompt)
        whole, name = continuation.whole, conversation.name
        return shaped(continuation.text, whole=whole, name=name), continuation

    def _completion(self, message: Mapping[str, Any], used: Continuation | None) -> dict[str, Any]:
        sent, received = (used.prompt_tokens, used.tokens) if used else (0, 0)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        return {
            "id": f"chatcmpl-{time.monotonic_ns():x}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self._name,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", **message},
                    "finish_reason": reason,
                }
            ],
            "usage": {
                "prompt_tokens": sent,
                "completion_tokens": received,
                "total_tokens": sent + received,
            },
        }


def chunks_of(completion: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a completion as the chunks of a stream, one for each word.

    The model's sentences are checked before any of them is sent, so all words arrive together.
    """
    head = {key: completion[key] for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    [choice] = completion["choices"]
    message = choice["message"]
    deltas = [{"content": word} for word in WORD.findall(message["content"] or "")]
    calls = message.get("tool_calls", ())
    deltas += [{"tool_calls": [call | {"index": index}]} for index, call in enumerate(calls)]
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    return [
        *(head | {"choices": [{"index": 0, "delta": delta}]} for delta in deltas),
        head | {"choices": [end]},
        head | {"choices": [], "usage": completion["usage"]},
    ]


def _said_of_files(question: str, conversation: Conversation) -> str | None:
    """Return the reply to a message about files, which the model can't see; otherwise None."""
    demo, last = conversation.name == DEMO_AGENT, conversation.last
    if demo and wants_picture(question):
        return NO_PICTURE
    if last is None or not (last.pictures or last.file):
        return None
    if not last.pictures:
        return READS_NOTHING
    return f"{SEES_NOTHING} {SENDS_BACK}" if demo else SEES_NOTHING


def _call_for(request: Mapping[str, Any], conversation: Conversation) -> dict[str, Any] | None:
    """Return the tool call that the last message needs; None if it needs no call."""
    question = conversation.question or ""
    sends_back = conversation.name == DEMO_AGENT and _offers(request, SEND)
    if conversation.picture is not None and sends_back and wants_picture(question):
        return _call(SEND, text=PICTURE_BACK, media=[conversation.picture])
    day = gym_day(question) if _offers(request, GYM_TOOL) else None
    if day is not None:
        return _call(GYM_TOOL, day=day)
    if _offers(request, DESK_TOOL) and wants_person(question):
        return _call(DESK_TOOL, reason=ASKED, summary=f'{ASKED}: "{question}"')
    return None


def _schema_of(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    match request.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return schema
    return None


def _emptiest(schema: Mapping[str, Any]) -> Any:
    """Return the smallest value that fits a JSON schema, for the schemas that Skein uses."""
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _emptiest(properties[name]) for name in schema.get("required", ())}
        case "array":
            return [_emptiest(schema["items"])] * schema.get("minItems", 0)
        case "string":
            return next(iter(schema.get("enum", ())), "")
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
    return None


def _offers(request: Mapping[str, Any], tool: str) -> bool:
    return tool in _offered(request)


def _offered(request: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(one.get("function", {}).get("name") for one in request.get("tools") or ())


def _call(tool: str, **arguments: str | list[str]) -> dict[str, Any]:
    return {
        "id": f"call_{time.monotonic_ns():x}",
        "type": "function",
        "function": {"name": tool, "arguments": _dumps(arguments)},
    }


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
