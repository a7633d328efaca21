"""Carries out what a model asked for: each call once, however often a worker dies."""

import logging

from skein.agent.reading import Reading
from skein.agent.tools import TOOLS
from skein.agent.tools.base import Call, Work
from skein.agent.tools.desk import Desk
from skein.errors import Correctable, LostLease, RiderFailed, ToolError
from skein.models.chat import MAX_TEXT
from skein.models.completion import ToolCall
from skein.models.step import Step, ToolResult, ToolStatus
from skein.services.chats import NewMessage

SILENCE = "[silence]"

logger = logging.getLogger(__name__)


class Actor:
    """Acts for an agent."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def say(self, work: Work, step: Step) -> None:
        """Post a final text in the run's chat, unless the agent chose silence.

        Raises:
            LostLease: Another worker has taken the run over.
            Rejected: The chat does not take it, since it is discarded or the agent has left it.
        """
        text, chat_id = step.text.strip(), work.run.chat_id or work.run.active_chat_id
        if not text or text.casefold() == SILENCE or chat_id is None:
            return
        message = NewMessage(
            tenant=work.run.tenant,
            chat_id=chat_id,
            sender=work.claim.agent,
            text=text[:MAX_TEXT],
            client_id=f"{work.run.id}:{step.n}",
            depth=work.run.chain_depth + 1,
            run_id=work.run.id,
        )
        try:
            self._desk.chats.post_message(message, riders=work.claim.guarded)
        except RiderFailed as error:
            raise LostLease(work.run.id) from error

    def carry_out(self, work: Work, step: Step, reading: Reading) -> tuple[ToolResult, ...]:
        """Carry out the tools of a step, in order, but a question that waits at the very end.

        What a tool refuses is told to the model; a bug is raised, and the run tried again.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        results: dict[int, ToolResult] = {}
        for position in _in_order(step):
            if work.over or work.ended or work.run.activation != step.activation:
                break
            results[position] = self._carry_out_one(work, step, position, reading)
        return tuple(
            results.get(position) or _passed_over(call)
            for position, call in enumerate(step.tool_calls)
        )

    def _carry_out_one(self, work: Work, step: Step, position: int, reading: Reading) -> ToolResult:
        asked = step.tool_calls[position]
        call = Call(
            effect=f"{work.run.id}:{step.n}:{position}",
            work=work,
            reading=reading,
            desk=self._desk,
        )
        status: ToolStatus = "done"
        try:
            tool = TOOLS.get(asked.name)
            if tool is None or asked.name not in reading.agent.enabled_tools:
                raise Correctable(f"you have no tool {asked.name!r}")
            content = tool.function(call, **tool.parse(asked.arguments))
        except ToolError as error:
            status = "correctable" if isinstance(error, Correctable) else "failed"
            content = f"error: {error}"
            logger.info("a tool refused", extra={"tool": asked.name, "status": status})
        return ToolResult(call_id=asked.id, name=asked.name, status=status, content=content)


def _in_order(step: Step) -> list[int]:
    """The positions of a step's calls; one that waits ends the activation, and so comes last."""
    calls = step.tool_calls
    waits = [position for position, call in enumerate(calls) if _waits(call)]
    others = [position for position in range(len(calls)) if position not in waits]
    return [*others, *waits]


def _waits(call: ToolCall) -> bool:
    if call.name != "send_message":
        return False
    try:
        return bool(TOOLS[call.name].parse(call.arguments).get("wait"))
    except Correctable:
        return False


def _passed_over(call: ToolCall) -> ToolResult:
    return ToolResult(
        call_id=call.id, name=call.name, status="failed", content="error: the run had ended"
    )
