"""Translate between Bedrock's Converse API and chat completions, as a stand-in for Bedrock does.

So every model that a test or a benchmark scripts for chat completions can also answer as a model of
Bedrock. Requests that Bedrock refuses are refused with its errors.
"""

import base64
import json
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from itertools import takewhile
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote
from zlib import crc32

import botocore.session
from botocore.validate import ParamValidator

from local.events import Request, Response, json_response
from skein.adapters.converse.wire import ANSWER_TOOL, CLOSING, NOTHING, OPENING

PATH = re.compile(r"/model/(.+)/converse(-stream)?")
CHAT_PATH = "/v1/chat/completions"
CONTENT_TYPE = "application/vnd.amazon.eventstream"
MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
ENDPOINT = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_SESSION_TOKEN": "session",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
MOST_POINTS = 4
STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filtered",
}
ERRORS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
SERVICE = botocore.session.get_session().get_service_model("bedrock-runtime")


@contextmanager
def called_at(url: str) -> Iterator[None]:
    """Let this process and its children call a stand-in for Bedrock."""
    with patch.dict(os.environ, {ENDPOINT: url, **CREDENTIALS}):
        yield


class RefusedError(Exception):
    """Bedrock refuses a request with `ValidationException`."""


def asked_for(path: str) -> tuple[str, bool] | None:
    """Return the model that a path names, and whether its answer is streamed; None if neither."""
    found = PATH.fullmatch(path)
    return (unquote(found[1]), bool(found[2])) if found else None


def chat_request(model: str, body: Mapping[str, Any], *, stream: bool = False) -> dict[str, Any]:
    """Return a request of Converse as one for chat completions.

    Raises:
        RefusedError: Bedrock would refuse the request.
    """
    _check_shape("Converse", {"modelId": model, **body})
    messages, tools = body.get("messages", []), body.get("toolConfig", {}).get("tools", [])
    check(model, body)
    asked: dict[str, Any] = {
        "model": model,
        "messages": [*_system(body.get("system", [])), *_messages(messages)],
        "max_completion_tokens": body["inferenceConfig"]["maxTokens"],
    }
    specs = [tool["toolSpec"] for tool in tools if "toolSpec" in tool]
    forced = "toolChoice" in body.get("toolConfig", {})
    if "outputConfig" in body or forced:
        schema = body.get("outputConfig", {}).get("textFormat") or specs[0]["inputSchema"]["json"]
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif specs:
        asked["tools"] = [{"type": "function", "function": _function(spec)} for spec in specs]
    return asked | ({"stream": True} if stream else {})


def check(model: str, body: Mapping[str, Any]) -> None:
    """Apply the rules of Bedrock and its models that the description of the API does not have.

    Raises:
        RefusedError: A rule is broken.
    """
    messages = body.get("messages", [])
    roles = [message["role"] for message in messages]
    if roles != [("user", "assistant")[n % 2] for n in range(len(roles))] or len(roles) % 2 == 0:
        raise RefusedError("A conversation must alternate, begin and end with a user message.")
    blocks = [block for message in messages for block in message["content"]]
    blocks += body.get("system", [])
    if any(not block["text"].strip() for block in blocks if "text" in block):
        raise RefusedError("The text field in the ContentBlock object is blank.")
    if any("toolUse" in b or "toolResult" in b for b in blocks) and "toolConfig" not in body:
        raise RefusedError("The toolConfig field must be defined when using toolUse content blocks")
    _check_results(messages)
    _check_points(model, body)


def _check_results(messages: Sequence[Mapping[str, Any]]) -> None:
    called: list[str] = []
    for message in messages:
        given = [b["toolResult"]["toolUseId"] for b in message["content"] if "toolResult" in b]
        if given != called:
            raise RefusedError("Expected toolResult blocks for the toolUse blocks before them.")
        called = [b["toolUse"]["toolUseId"] for b in message["content"] if "toolUse" in b]


def _check_points(model: str, body: Mapping[str, Any]) -> None:
    tools = body.get("toolConfig", {}).get("tools", [])
    named = {
        "toolConfig/tools": [n for n, one in enumerate(tools) if "cachePoint" in one],
        "system": [n for n, one in enumerate(body.get("system", [])) if "cachePoint" in one],
        "messages": [
            n
            for n, one in enumerate(body.get("messages", []))
            for block in one["content"]
            if "cachePoint" in block
        ],
    }
    nova, claude = "amazon.nova-" in model, "anthropic.claude-" in model
    taken = {"toolConfig/tools": claude, "system": claude, "messages": claude}
    if nova and "-v1" in model:
        taken |= {"system": True, "messages": True}
    for place, found in named.items():
        if found and not taken[place]:
            raise RefusedError(
                f"Malformed input request: #/{place}/{found[0]}: extraneous key [cachePoint] is "
                "not permitted, please reformat your input and try again."
            )
    if sum(map(len, named.values())) > MOST_POINTS:
        raise RefusedError("Too many cachePoint blocks.")


def _check_shape(operation: str, value: Mapping[str, Any]) -> None:
    shape: Any = SERVICE.operation_model(operation).input_shape
    report = ParamValidator().validate(_with_bytes(value), shape).generate_report()
    if report:
        raise RefusedError(report)


def _with_bytes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: base64.b64decode(part) if name == "bytes" else _with_bytes(part)
            for name, part in value.items()
        }
    return [_with_bytes(part) for part in value] if isinstance(value, list) else value


def _function(spec: Mapping[str, Any]) -> dict[str, Any]:
    strict = {"strict": True} if spec.get("strict") else {}
    return {
        "name": spec["name"],
        "description": spec["description"],
        "parameters": spec["inputSchema"]["json"],
        **strict,
    }


def _system(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    text = "".join(block.get("text", "") for block in blocks)
    return [{"role": "system", "content": text}] if text else []


def _messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        content = message["content"]
        if message["role"] == "assistant":
            yield _assistant(content)
            continue
        for position, block in enumerate(content):
            if "toolResult" in block:
                result = block["toolResult"]
                text = "".join(part["text"] for part in result["content"])
                yield {"role": "tool", "tool_call_id": result["toolUseId"], "content": text}
            elif "text" in block and block["text"] != NOTHING:
                after = takewhile(lambda one: "image" in one, content[position + 1 :])
                yield _said(block["text"], [_image(one["image"]) for one in after])


def _said(text: str, pictures: list[dict[str, Any]]) -> dict[str, Any]:
    if text.startswith(OPENING):
        inner = text.removeprefix(OPENING).removesuffix(CLOSING).strip("\n")
        return {"role": "system", "content": inner}
    parts = [{"type": "text", "text": text}, *pictures]
    return {"role": "user", "content": parts if pictures else text}


def _image(image: Mapping[str, Any]) -> dict[str, Any]:
    url = f"data:image/{image['format']};base64,{image['source']['bytes']}"
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant(content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    text = "".join(block.get("text", "") for block in content)
    calls = [
        {
            "id": block["toolUse"]["toolUseId"],
            "type": "function",
            "function": {
                "name": block["toolUse"]["name"],
                "arguments": json.dumps(block["toolUse"]["input"]),
            },
        }
        for block in content
        if "toolUse" in block
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def converse_response(
    completion: Mapping[str, Any], body: Mapping[str, Any], *, written: int = 0
) -> dict[str, Any]:
    """Return the answer of a chat completion as a response of Converse.

    Args:
        completion: The chat completion.
        body: The request of Converse.
        written: How many of the input tokens were written to the cache.
    """
    [choice] = completion["choices"]
    said, usage = choice["message"], completion["usage"]
    cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    text = said.get("content") or said.get("refusal") or ""
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    for call in said.get("tool_calls", ()):
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        content.append({"toolUse": {"toolUseId": call["id"], "name": name, "input": arguments}})
    reason = STOP_REASONS.get(choice["finish_reason"], choice["finish_reason"])
    if "toolChoice" in body.get("toolConfig", {}) and text.startswith("{"):
        use = {"toolUseId": "forced", "name": ANSWER_TOOL, "input": json.loads(text)}
        content, reason = [{"toolUse": use}], "tool_use"
    counted = {
        "inputTokens": usage["prompt_tokens"] - cached - written,
        "outputTokens": usage["completion_tokens"],
        "totalTokens": usage["prompt_tokens"] + usage["completion_tokens"],
    }
    if cached or written:
        counted |= {"cacheReadInputTokens": cached, "cacheWriteInputTokens": written}
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reason,
        "usage": counted,
        "metrics": {"latencyMs": 1},
    }


def stream_events(response: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return a response of Converse as the events of a stream: words, and halves of arguments."""
    events: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(response["output"]["message"]["content"]):
        at = {"contentBlockIndex": index}
        if "toolUse" in block:
            use = block["toolUse"]
            start = {"toolUseId": use["toolUseId"], "name": use["name"]}
            events.append(("contentBlockStart", {"start": {"toolUse": start}, **at}))
            text = json.dumps(use["input"], ensure_ascii=False)
            halves = (text[: len(text) // 2], text[len(text) // 2 :])
            deltas = [{"toolUse": {"input": half}} for half in halves]
        else:
            deltas = [{"text": word} for word in re.findall(r"\s*\S+\s*", block["text"])]
        events += [("contentBlockDelta", {"delta": delta, **at}) for delta in deltas]
        events.append(("contentBlockStop", at))
    metadata = {"usage": response["usage"], "metrics": response["metrics"]}
    return [
        *events,
        ("messageStop", {"stopReason": response["stopReason"]}),
        ("metadata", metadata),
    ]


def front(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Return a server that answers requests of Converse by what answers chat completions."""

    def respond(request: Request) -> Response:
        asked = asked_for(request.path)
        if asked is None:
            return answer(request)
        body = json.loads(request.body)
        try:
            chat = chat_request(asked[0], body)
        except RefusedError as error:
            return _refusal(400, str(error))
        inner = replace(request, path=CHAT_PATH, body=json.dumps(chat).encode())
        made = answer(inner)
        if made.status != HTTPStatus.OK:
            return _refusal(made.status, "scripted failure")
        response = converse_response(json.loads(made.body), body)
        if not asked[1]:
            return json_response(HTTPStatus.OK, response)
        frames = b"".join(frame(kind, payload) for kind, payload in stream_events(response))
        return Response(HTTPStatus.OK, (("content-type", CONTENT_TYPE),), frames)

    return respond


def _refusal(status: int, message: str) -> Response:
    headers, payload = error_of(status, message)
    return json_response(status, payload, *headers.items())


def frame(kind: str, payload: Mapping[str, Any], *, error: bool = False) -> bytes:
    """Return an event in AWS's binary format, with its lengths and checksums.

    See https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html.
    """
    output: Any = SERVICE.operation_model("ConverseStream").output_shape
    shape = output.members["stream"].members[kind]
    report = ParamValidator().validate(dict(payload), shape).generate_report()
    assert not report, report
    named = {
        ":exception-type" if error else ":event-type": kind,
        ":content-type": "application/json",
        ":message-type": "exception" if error else "event",
    }
    headers = b"".join(_header(name, value) for name, value in named.items())
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", len(headers) + len(body) + 16, len(headers))
    message = prelude + struct.pack("!I", crc32(prelude)) + headers + body
    return message + struct.pack("!I", crc32(message))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", 7, len(text)) + text


def error_of(status: int, message: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers and the body of an error."""
    code = ERRORS.get(status, "InternalServerException")
    return {"x-amzn-errortype": code}, {"message": message or code}
