"""A completed thread as a unit of training: what was shown, what was done, and what came of it.

It is made anew from the runs each time it is asked for, so what an erasure has taken out of those
is gone from it, too.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from skein.agent.tools import TOOLS
from skein.errors import Conflict, NotFound
from skein.models.completion import ModelMessage
from skein.models.step import PromptRecord, Step
from skein.models.thread import Thread
from skein.prompts import render
from skein.services.run_views import RunViews
from skein.services.threads import Threads

MOST_RUNS = 20
MOST_BYTES = 4_000_000  # an answer of Lambda's holds 6 MB

Message = dict[str, Any]


class Training:
    """Exports threads in the chat-messages format that fine-tuning APIs take."""

    def __init__(self, *, threads: Threads, run_views: RunViews) -> None:
        self._threads = threads
        self._runs = run_views

    def unit(self, thread: Thread) -> str:
        """One line of JSON: `messages`, and the `tools` that they call.

        The newest runs at the thread, 20 at most and 4 MB, one after another, each with its prompts
        as they were shown; then what came of it.

        Raises:
            Conflict: The thread is not completed.
        """
        if thread.status != "completed":
            raise Conflict("only a completed thread can be exported")
        outcome = list(_outcome(thread))
        parts: list[list[Message]] = []
        left = MOST_BYTES - len(_line(outcome, ()).encode())
        for run_id in reversed(self._threads.run_ids(thread)[-MOST_RUNS:]):
            part = self._worked(thread.tenant, run_id)
            left -= len(json.dumps(part, ensure_ascii=False).encode())
            if left < 0:
                break
            parts.insert(0, part)
        messages = [message for part in (*parts, outcome) for message in part]
        used = {
            call["function"]["name"] for each in messages for call in each.get("tool_calls", ())
        }
        return _line(messages, [name for name in TOOLS if name in used])

    def _worked(self, tenant: str, run_id: str) -> list[Message]:
        try:
            steps = self._runs.get(tenant, run_id).steps
        except NotFound:
            return []
        return [_message(message) for message in _said(steps)]


def _said(steps: Sequence[Step]) -> Iterator[ModelMessage]:
    """What a run was shown and did; steps that were erased, or not carried out, are left out."""
    shown = 0  # the activation whose prompt is still there
    for step in steps:
        if step.prompt is not None:
            yield from PromptRecord.unpacked(step.prompt).messages()
            shown = step.activation
        done = step.results is not None if step.tool_calls else bool(step.text)
        if shown == step.activation and done:
            yield from step.messages()


def _message(message: ModelMessage) -> Message:
    said: Message = {"role": message.role, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        said["tool_call_id"] = message.tool_call_id
    return said


def _outcome(thread: Thread) -> Iterator[Message]:
    yield {"role": "user", "content": render("thread_outcome", {"concern": thread.concern})}
    parts = [thread.progress, thread.evidence, thread.learned]
    yield {"role": "assistant", "content": "\n".join(part for part in parts if part) or "Done."}


def _line(messages: Sequence[Message], tools: Sequence[str]) -> str:
    unit: dict[str, Any] = {"messages": messages}
    if tools:
        unit["tools"] = [{"type": "function", "function": _function(name)} for name in tools]
    return json.dumps(unit, ensure_ascii=False, separators=(",", ":"))


def _function(name: str) -> dict[str, Any]:
    spec = TOOLS[name].spec
    return {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": True,
    }
