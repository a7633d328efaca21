"""Export a completed thread for fine-tuning: its prompts, its steps and its outcome.

Each export is built from the stored runs, so it never contains erased content.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skein.agent.tools import TOOLS
from skein.errors import Conflict, NotFound
from skein.models.runs.completion import ModelMessage
from skein.models.runs.step import PromptRecord, Step
from skein.models.visibility.audience import may_show
from skein.prompts import render
from skein.services.runs.queries import RunViews
from skein.workspace.models.thread import Thread, ThreadRunLink
from skein.workspace.threads import Threads

MAX_RUNS = 20
MAX_BYTES = 4_000_000  # of an export; a Lambda response can have 6 MB

Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingExport:
    """Service that exports threads in the chat-messages format of fine-tuning APIs.

    A run may work in several chats, so activations are exported, not whole runs. An activation is
    exported only if it may be shown to the whole audience of the thread.
    """

    threads: Threads
    run_views: RunViews

    def unit(self, thread: Thread) -> str:
        """Export a completed thread as one line of JSON with `messages`, and the `tools` they call.

        The messages come from the thread's newest runs, oldest first; the outcome comes last. An
        export has at most 20 runs and about 4 MB.

        Raises:
            Conflict: The thread is not completed.
        """
        if thread.status != "completed":
            raise Conflict("only a completed thread can be exported")
        outcome = list(_outcome(thread))
        parts: list[list[Message]] = []
        left = MAX_BYTES - len(_line(outcome, ()).encode())
        run_links: dict[str, list[ThreadRunLink]] = {}
        for link in self.threads.run_links(thread):
            run_links.setdefault(link.run_id, []).append(link)
        for run_id in reversed(list(run_links)[-MAX_RUNS:]):
            part = self._worked(thread, run_id, run_links[run_id])
            left -= len(json.dumps(part, ensure_ascii=False).encode())
            if left < 0:
                break
            parts.insert(0, part)
        messages = [message for part in (*parts, outcome) for message in part]
        used = {
            call["function"]["name"] for each in messages for call in each.get("tool_calls", ())
        }
        return _line(messages, [name for name in TOOLS if name in used])

    def _worked(
        self, thread: Thread, run_id: str, run_links: Sequence[ThreadRunLink]
    ) -> list[Message]:
        try:
            view = self.run_views.get(thread.tenant, run_id)
        except NotFound:
            return []
        shown = {link.activation for link in run_links if may_show(link.audience, thread.audience)}
        steps = [step for step in view.steps if step.activation in shown]
        return [_message(message) for message in _messages_of(steps)]


def _messages_of(steps: Sequence[Step]) -> Iterator[ModelMessage]:
    """Yield the messages of a run; steps that were erased or not carried out are skipped."""
    shown = 0  # the activation whose prompt is still stored
    for step in steps:
        if step.prompt is not None:
            yield from PromptRecord.unpacked(step.prompt).messages()
            shown = step.activation
        done = step.results is not None if step.tool_calls else bool(step.text) and not step.fault
        if shown == step.activation and done:
            yield from step.messages()


def _message(message: ModelMessage) -> Message:
    exported: Message = {"role": message.role, "content": message.content}
    if message.tool_calls:
        exported["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        exported["tool_call_id"] = message.tool_call_id
    return exported


def _outcome(thread: Thread) -> Iterator[Message]:
    yield {"role": "user", "content": render("thread_outcome", {"concern": thread.concern})}
    parts = [thread.progress, thread.evidence, thread.learned]
    yield {"role": "assistant", "content": "\n".join(part for part in parts if part) or "Done."}


def _line(messages: Sequence[Message], tools: Sequence[str]) -> str:
    unit: dict[str, Any] = {"messages": messages}
    if tools:
        unit["tools"] = [
            {"type": "function", "function": TOOLS[name].spec.function} for name in tools
        ]
    return json.dumps(unit, ensure_ascii=False, separators=(",", ":"))
