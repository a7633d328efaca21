"""A completed thread as a unit of training: what was shown, what was done, and what came of it.

It is made anew from the runs each time it is asked for, so what an erasure has taken out of those
is gone from it, too.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skein.agent.tools import TOOLS
from skein.errors import Conflict, NotFound
from skein.models.audience import Audience, may_show
from skein.models.completion import ModelMessage
from skein.models.step import PromptRecord, Step
from skein.models.thread import Thread, ThreadRunLink
from skein.prompts import render
from skein.services.runs.queries import RunView, RunViews
from skein.services.workspace.threads import Threads

MAX_RUNS = 20
MAX_BYTES = 4_000_000  # an answer of Lambda's holds 6 MB

Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Exports threads in the chat-messages format that fine-tuning APIs take.

    A run may work in several chats, so an export is made of activations: of those alone that
    everybody who may be shown the thread was there for.
    """

    threads: Threads
    run_views: RunViews

    def unit(self, thread: Thread) -> str:
        """One line of JSON: `messages`, and the `tools` that they call.

        The newest runs at the thread, 20 at most and 4 MB, one after another, each with those of
        its activations that may be shown to the thread's audience; then what came of it.

        Raises:
            Conflict: The thread is not completed.
        """
        if thread.status != "completed":
            raise Conflict("only a completed thread can be exported")
        outcome = list(_outcome(thread))
        parts: list[list[Message]] = []
        left = MAX_BYTES - len(_line(outcome, ()).encode())
        stints: dict[str, list[ThreadRunLink]] = {}
        for stint in self.threads.stints(thread):
            stints.setdefault(stint.run_id, []).append(stint)
        for run_id in reversed(list(stints)[-MAX_RUNS:]):
            part = self._worked(thread, run_id, stints[run_id])
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
        self, thread: Thread, run_id: str, stints: Sequence[ThreadRunLink]
    ) -> list[Message]:
        try:
            view = self.run_views.get(thread.tenant, run_id)
        except NotFound:
            return []
        shown = {
            activation
            for stint in stints
            for activation, audience in _activations(thread, stint, view)
            if may_show(audience, thread.audience)
        }
        steps = [step for step in view.steps if step.activation in shown]
        return [_message(message) for message in _said(steps)]


def _activations(
    thread: Thread, stint: ThreadRunLink, view: RunView
) -> Iterator[tuple[int, Audience]]:
    """The activations that a stint stands for, each with its audience, as far as that is known.

    A stint that was stored without them is known where the run had one activation. It then ran
    where the thread is kept: in the direct chat of the thread's person, or, for an open thread, in
    an open chat or in none. A run without a chat has the audience of its trigger. In other private
    chats nobody knows any more who was there, so nothing of the run is exported.
    """
    if stint.activation is not None and stint.audience is not None:
        yield stint.activation, stint.audience
        return
    numbers = {step.activation for step in view.steps}
    if numbers != {1} or view.run.activation > 1:
        return
    if view.run.shown is None:
        yield 1, view.run.audience
    elif thread.scope is None or thread.scope.startswith("user:"):
        yield 1, thread.audience


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
