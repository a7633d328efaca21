"""Carry out the tool calls of a step.

Each tool call has an effect id, so that a retry after a worker's death is harmless.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from skein.agent.sections.participants import names_in
from skein.agent.tools import TOOLS
from skein.agent.tools.chats import enter_chat
from skein.agent.tools.runs import end_run
from skein.agent.tools.send_message import send_message
from skein.errors import Correctable, Failed, Rejected, ToolError
from skein.interface.reading import Reading
from skein.interface.tool import CONTINUE, Tool, refusals_as_tool_errors
from skein.interface.tool_context import Activation, ToolContext
from skein.models.runs.completion import ToolCall
from skein.models.runs.recordable import MAX_ANSWER_BYTES
from skein.models.runs.step import MAX_RESULT_BYTES, Step, ToolResult, ToolStatus
from skein.own_tools.calls import MAX_ERROR, OwnCalls, PlannedCall
from skein.own_tools.items import CallableTool, OwnToolItems
from skein.own_tools.sending import Outcome
from skein.ports import Clock, Services
from skein.services.chat_state.desk_stays import DeskRequest
from skein.services.chats.desk_requests import DeskRequests
from skein.services.runs.policy import MAX_CALLS_PER_STEP
from skein.tracing import span

UNPROVEN_MAY = frozenset({send_message.name, end_run.name})
UNPROVEN = (
    "refused: this number was silent for {days} days and may be another person's now. Skein has "
    "asked whose number it is; until the answer, you can only answer here, from what is said here"
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolExecutor:
    """Service that carries out an agent's tool calls."""

    services: Services
    clock: Clock

    def carry_out(
        self, activation: Activation, step: Step, reading: Reading, *, until: datetime
    ) -> tuple[ToolResult, ...]:
        """Carry out the tool calls of a step.

        Calls to the tenant's own tools are made first, in parallel. The built-in tools then run in
        the order of their calls, with two exceptions:

        - `send_message` with `wait` ends the activation. The last such call therefore runs after
          the other calls, in the chat that was active at its position. Earlier such calls send
          their message without waiting.
        - `end_run` runs last. Calls after it are not carried out.

        If a tool refuses a call, the model gets the error as the result. Any other exception
        propagates, and the run is retried. Afterwards, `Activation.results_wanted` tells whether
        the model must be shown the results even if all calls succeeded.

        Args:
            activation: The state of the activation, which the calls change.
            step: The step with the calls.
            reading: The data from which the prompt was built.
            until: When calls to the tenant's own tools must have ended.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        activation.enter_chat_failed = activation.results_wanted = False
        results: dict[int, ToolResult] = {}

        def carry(position: int, *, may_wait: bool) -> None:
            over = (
                activation.over or activation.ended or activation.run.activation != step.activation
            )
            if not over:
                bytes_left = MAX_RESULT_BYTES - sum(
                    len(r.content.encode()) for r in results.values()
                )
                result = self._carry_out_one(activation, step, position, reading, may_wait=may_wait)
                results[position] = _cut(result, bytes_left)

        asked = _CallPositions.of(step, reading)
        for position, result in self._own(activation, step, asked.first, reading, until).items():
            bytes_left = MAX_RESULT_BYTES - sum(len(r.content.encode()) for r in results.values())
            results[position] = _cut(result, bytes_left)
        before_wait = (activation.run.active_chat_id, activation.enter_chat_failed)
        for position in asked.first:
            if position == asked.waits:
                before_wait = (activation.run.active_chat_id, activation.enter_chat_failed)
            elif position not in results:
                carry(position, may_wait=False)
        if asked.waits is not None:
            after_others = activation.run.active_chat_id
            active, activation.enter_chat_failed = before_wait
            activation.claim = activation.claim.with_run(active_chat_id=active)
            carry(asked.waits, may_wait=True)
            if activation.run.activation == step.activation and not activation.over:
                activation.claim = activation.claim.with_run(active_chat_id=after_others)
        if asked.ends is not None:
            carry(asked.ends, may_wait=False)
        return tuple(
            results.get(position) or _passed_over(call, too_many=position >= MAX_CALLS_PER_STEP)
            for position, call in enumerate(step.tool_calls)
        )

    def _own(
        self,
        activation: Activation,
        step: Step,
        positions: Sequence[int],
        reading: Reading,
        until: datetime,
    ) -> dict[int, ToolResult]:
        """Carry out the calls to the tenant's own tools; return the results by position."""
        own = reading.of(OwnToolItems).by_name
        outcomes: dict[int, Outcome] = {}
        planned: list[PlannedCall] = []
        for position in positions:
            tool = own.get(step.tool_calls[position].name)
            if tool is None:
                continue
            activation.results_wanted = True
            context = self._context(activation, step, position, reading, may_wait=False)
            plan = self._plan(context, step, position, tool)
            if isinstance(plan, Outcome):
                outcomes[position] = plan
            else:
                planned.append(plan)
        if planned:
            calls = self.services.get(OwnCalls)
            outcomes |= calls.carry_out(activation, step, planned, until)
        if any(_went_wrong(outcome) for outcome in outcomes.values()):
            self._ask_a_person(activation, step, reading)
        return {
            position: ToolResult(
                call_id=step.tool_calls[position].id,
                name=step.tool_calls[position].name,
                status=outcome.status,
                content=outcome.content,
                usage=outcome.usage,
            )
            for position, outcome in outcomes.items()
        }

    def _ask_a_person(self, activation: Activation, step: Step, reading: Reading) -> None:
        """Put the run's own chat on the desk after a failed call, if `desk_on_tool_failure` is set.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run, chat, desk = activation.run, reading.chat, self.services.get(DeskRequests)
        if chat is None or chat.id != run.own_chat_id:
            return
        if not desk.settings_of(run.tenant).desk_on_tool_failure:
            return
        request = DeskRequest(reason_code="tool", agent_id=run.agent_id)
        cause, guard = f"{run.id}:{step.n}", activation.claim.guard
        try:
            desk.ask(run.tenant, chat.id, request, cause=cause, guard=guard)
        except Rejected as error:
            logger.warning("failed to ask for a person", extra={"run_id": run.id}, exc_info=error)

    def _plan(
        self, context: ToolContext, step: Step, position: int, tool: CallableTool
    ) -> PlannedCall | Outcome:
        """Check a call to one of the tenant's own tools, and request approval if needed."""
        reading, calls = context.reading, self.services.get(OwnCalls)
        approved = step.agreed[position] if step.agreed else None
        try:
            if reading.unproven is not None:
                raise Failed(UNPROVEN.format(days=reading.unproven))
            _check_uncut(step.tool_calls[position])
            return calls.plan(context, step, position, tool, approved=approved)
        except ToolError as error:
            return calls.refused(context, step, position, tool, error, approved=approved)

    def _context(
        self, activation: Activation, step: Step, position: int, reading: Reading, *, may_wait: bool
    ) -> ToolContext:
        return ToolContext(
            effect=f"{activation.run.id}:{step.n}:{position}",
            activation=activation,
            reading=reading,
            services=self.services,
            clock=self.clock,
            names=partial(names_in, reading),
            may_wait=may_wait,
        )

    def _carry_out_one(
        self, activation: Activation, step: Step, position: int, reading: Reading, *, may_wait: bool
    ) -> ToolResult:
        asked = step.tool_calls[position]
        call = self._context(activation, step, position, reading, may_wait=may_wait)
        status: ToolStatus = "done"
        try:
            tool = TOOLS.get(asked.name)
            if tool is None or asked.name not in reading.agent.enabled_tools:
                raise Correctable(f"there is no tool {asked.name!r}")
            arguments = _arguments(tool, asked)
            _check_proven(reading, asked.name, arguments)
            if tool.effect == "read" or arguments.pop(CONTINUE, None):
                activation.results_wanted = True
            with span("tool", tool=asked.name, call=asked.id), refusals_as_tool_errors():
                content = tool.function(call, **arguments)
        except ToolError as error:
            status = "correctable" if isinstance(error, Correctable) else "failed"
            content = f"error: {error}"[:MAX_ERROR]
            known = asked.name if asked.name in TOOLS else "unknown"  # a model can invent any name
            logger.info("tool call failed", extra={"tool": known, "status": status})
        if asked.name == enter_chat.name:
            activation.enter_chat_failed = status != "done"
        return ToolResult(call_id=asked.id, name=asked.name, status=status, content=content)


@dataclass(frozen=True, slots=True)
class _CallPositions:
    """The positions of a step's calls, grouped by when the calls are carried out.

    Attributes:
        first: All calls before `ends`, including `waits`.
        waits: The last `send_message` with `wait`, if any.
        ends: The first valid `end_run`, if any. An invalid `end_run` is in `first`, and is refused
            when it runs.
    """

    first: range
    waits: int | None
    ends: int | None

    @classmethod
    def of(cls, step: Step, reading: Reading) -> "_CallPositions":
        enabled = reading.agent.enabled_tools
        calls = [
            call if call.name in enabled else None for call in step.tool_calls[:MAX_CALLS_PER_STEP]
        ]
        ends = next((n for n, call in enumerate(calls) if _ends(call)), None)
        first = range(len(calls) if ends is None else ends)
        waiting = [n for n in first if _waits(calls[n])]
        return cls(first, waiting[-1] if waiting else None, ends)


def _went_wrong(outcome: Outcome) -> bool:
    """Return whether a call failed or the service refused it. Refusals by Skein do not count."""
    refused = outcome.status == "correctable" and outcome.usage is not None
    return refused or outcome.status in {"failed", "unknown"}


def _check_proven(reading: Reading, name: str, arguments: dict[str, Any]) -> None:
    """Check that a call is allowed if the person's phone number is unproven.

    If the number is unproven, only messages in the active chat are allowed.

    Raises:
        Failed: The number is unproven, and the call does something else.
    """
    if reading.unproven is None or reading.chat is None:
        return
    chats = {arguments.get("chat_id"), *(arguments.get("also_in") or ())}
    if name not in UNPROVEN_MAY or chats - {None, reading.chat.id}:
        raise Failed(UNPROVEN.format(days=reading.unproven))


def _waits(call: ToolCall | None) -> bool:
    if call is None or call.name != send_message.name:
        return False
    try:
        return bool(_arguments(send_message, call).get("wait"))
    except Correctable:
        return False


def _ends(call: ToolCall | None) -> bool:
    if call is None or call.name != end_run.name:
        return False
    try:
        _arguments(end_run, call)
    except Correctable:
        return False
    return True


def _arguments(tool: Tool, call: ToolCall) -> dict[str, Any]:
    """Parse and validate the arguments of a tool call.

    Raises:
        Correctable: The arguments do not fit the tool, or were too long to be recorded.
    """
    _check_uncut(call)
    return tool.parse(call.arguments)


def _check_uncut(call: ToolCall) -> None:
    """Check that the arguments of a call were recorded without a cut.

    Raises:
        Correctable: The arguments were too long.
    """
    if call.cut_from is not None:
        raise Correctable(
            f"arguments: {call.cut_from:,} characters are too many; all calls of one answer "
            f"together may have about {MAX_ANSWER_BYTES:,} bytes"
        )


def _cut(result: ToolResult, most_bytes: int) -> ToolResult:
    """Cut a tool result to `most_bytes`, the space that is left in the step's item."""
    data = result.content.encode()
    if len(data) <= most_bytes:
        return result
    kept = data[: max(most_bytes, 0)].decode(errors="ignore")
    return result.model_copy(update={"content": f"{kept} [cut: too much for one step]"})


def _passed_over(call: ToolCall, *, too_many: bool) -> ToolResult:
    why = (
        f"only the first {MAX_CALLS_PER_STEP} calls of an answer are executed"
        if too_many
        else "the run had ended"
    )
    return ToolResult(call_id=call.id, name=call.name, status="failed", content=f"error: {why}")
