"""Make a step's calls to the tenant's tools: get approval, record each call, and make it once.

A step is recorded before its calls are made. A call that only reads needs no other record. A call
that writes is also recorded in the ledger of calls: before it is sent, and again with its outcome.
A worker that takes the run over therefore knows which writes have begun. If the outcome of a write
is unknown, the worker sends it again only if the service is idempotent.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from skein.errors import Correctable, Failed, ToolError
from skein.interface.tool_context import Activation, ToolContext
from skein.models.common.http import McpReply
from skein.models.quotas.usage import Payer
from skein.models.runs.requested_call import AgreedCall
from skein.models.runs.run import Run, RunMark, ToldBits
from skein.models.runs.step import Step, ToolResult, ToolStatus
from skein.models.visibility.audience import OPEN
from skein.models.visibility.provenance import Authors
from skein.own_tools.asking import Approvals
from skein.own_tools.items import CallableTool, OwnToolItems
from skein.own_tools.ledger import CallLedger, first_call_of, is_of
from skein.own_tools.models.recorded_call import RecordedCall, digest_of_call, may_begin
from skein.own_tools.rights import (
    MAX_DAY_BITS,
    MAX_RUN_BITS,
    SPENT,
    asked_in_private,
    bits_of,
    only_person,
    tells_choices,
    who_is_asked,
)
from skein.own_tools.sections import may_be_shown
from skein.own_tools.sending import UNKNOWN, CallSender, Outcome
from skein.own_tools.signed_context import CallContext
from skein.ports import Metrics, ParallelMap
from skein.services.common.quoting import minute_of
from skein.services.quotas.usage import UsageCounters

AGAIN = "not called again: you did this at {time}, before this prompt. Its result was:\n{result}"
FOR_OTHERS = (
    "not called again: {name} was called with these arguments before, for other readers of the chat"
)
GONE = "not called again: this was done at {time}, and its result is no longer stored"
DIED = "the worker stopped before the answer"
MAX_ERROR = 4_000  # characters of an error in a tool result
MAX_TIMES = 3  # number of earlier times that the question names
LIMIT = (
    "error: {name} was called often enough today. Nothing was done. Say that it works again "
    "tomorrow"
)
NOT_ASKED = "error: not done: the service wants an answer of the person first, and {why}"
MILLI = 1_000  # bits are counted in thousandths, rounded up
MARK: RunMark = "tool_outcome_unknown"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that may be made.

    Attributes:
        position: The position in the step.
        arguments: The arguments, as the model wrote them.
        context: The context that is signed and sent to the service.
        call: The context in which the agent called the tool.
        record: The existing or new record of a call that writes; None for a call that reads.
        ambiguous: Whether an earlier attempt at the call has an unknown outcome.
        reply: A person's answer to the service's question about this call.
    """

    position: int
    tool: CallableTool
    arguments: str
    context: CallContext
    call: ToolContext
    record: RecordedCall | None = None
    ambiguous: bool = False
    reply: McpReply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCalls:
    """The service that carries out the calls of a step to the tools of a tenant."""

    ledger: CallLedger
    metrics: Metrics
    parallel_map: ParallelMap
    approvals: Approvals
    sending: CallSender
    usage: UsageCounters

    def plan(
        self,
        call: ToolContext,
        step: Step,
        position: int,
        tool: CallableTool,
        *,
        approved: AgreedCall | None,
    ) -> PlannedCall | Outcome:
        """Check a call, and ask a person or an operator for approval if one is needed.

        Args:
            call: The context of the call.
            position: The position of the call in the step.
            approved: The call that a person or an operator has approved.

        Returns:
            The planned call, or a result that says that someone was asked.

        Raises:
            Correctable: The arguments are invalid.
            Failed: The call is not allowed in this run.
        """
        run, asked, record = call.activation.run, step.tool_calls[position], None
        reply = approved.reply if approved is not None else None
        writes = _writes(tool)
        if writes:
            record = self.ledger.find(call, step, position, approved)
            if record is not None and not _may_begin(record, tool, reply):
                return self._known(call, tool, record)
        if approved is not None:
            person = self.approvals.person_of(call, tool, approved)
        else:
            person = only_person(run, call.reading)
        arguments = tool.parse(asked.arguments)
        if run.held is None:
            raise Failed("the run has no record of its content")
        digest, others = digest_of_call(tool.name, arguments), tuple[RecordedCall, ...]()
        if writes and record is None and approved is None:
            earlier = self.ledger.earlier(call, step, position, digest)
            record, others = earlier.reused, earlier.others
            if record is not None and not _may_begin(record, tool, reply):
                return self._known(call, tool, record, reused=True)
        if approved is None and record is None:
            content = self._asked_first(call, step, position, tool, arguments, person, others)
            if content is not None:
                return Outcome("asked", content)
        ref = record.call if record is not None else first_call_of(step, position)
        context = CallContext(
            tenant=run.tenant,
            agent_id=run.agent_id,
            chat_id=run.held.chat_id,
            run_id=run.id,
            person=person,
            readers=run.held.readers.reader_ids,
            idempotency_key=str(ref),
        )
        ambiguous = record is not None and record.ambiguous
        if writes and record is None:
            record = self.ledger.new(call, step, position, digest)
        return PlannedCall(position, tool, asked.arguments, context, call, record, ambiguous, reply)

    def _asked_first(
        self,
        call: ToolContext,
        step: Step,
        position: int,
        tool: CallableTool,
        arguments: Mapping[str, Any],
        person: str | None,
        others: Sequence[RecordedCall],
    ) -> str | None:
        """Ask for approval of a call if the call needs it.

        Args:
            person: The only person whose messages the activation answers; None if that is unclear.
            others: Earlier calls that are equal to this one. If there are any, a person must
                approve the new call.

        Returns:
            The tool result for the model, or None if the call needs no approval.

        Raises:
            ToolError: The call is not allowed, or no person can be asked.
        """
        run = call.activation.run
        who = who_is_asked(run, call.activation.insiders, tool, arguments, person=person)
        who = "person" if others and who == "nobody" else who
        if who == "nobody":
            if self._may_tell(call, step, position, tool):
                return None
            who = asked_in_private(tool, SPENT)
        done_at = [each.begun_at for each in others if _may_read(call, each)][-MAX_TIMES:]
        return self.approvals.ask(call, step, position, tool, arguments, who=who, done_at=done_at)

    def _may_tell(self, call: ToolContext, step: Step, position: int, tool: CallableTool) -> bool:
        """Count, in bits, how much a call without approval tells a service that may tell others.

        A call is counted once, even if another worker makes it again.

        Returns:
            Whether the limits allow the call.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        activation, run = call.activation, call.activation.run
        told = run.told or ToldBits()
        if not tells_choices(run, tool) or told.counts(step.n, position):
            return True
        millibits = ceil(MILLI * bits_of(tool, call.reading.of(OwnToolItems).tools))
        if told.millibits + millibits > MILLI * MAX_RUN_BITS:
            return False
        most = MILLI * MAX_DAY_BITS
        of_day = self.usage.telling(run.tenant, _payer(run), millibits, most=most)
        return self.ledger.count_told(activation, step, position, millibits, of_day)

    def refused(
        self,
        call: ToolContext,
        step: Step,
        position: int,
        tool: CallableTool,
        error: ToolError,
        *,
        approved: AgreedCall | None,
    ) -> Outcome:
        """Return the outcome of a call that is not allowed.

        If the call was made before, its recorded outcome is returned.

        Args:
            error: The reason why the call is not allowed.
        """
        record = self.ledger.find(call, step, position, approved) if _writes(tool) else None
        if record is not None and record.state != "asked":
            return self._known(call, tool, record)
        status: ToolStatus = "correctable" if isinstance(error, Correctable) else "failed"
        return Outcome(status, f"error: {error}"[:MAX_ERROR])

    def carry_out(
        self, activation: Activation, step: Step, planned: Sequence[PlannedCall], until: datetime
    ) -> Mapping[int, Outcome]:
        """Make the calls of a step, all at the same time.

        Args:
            activation: The activation. The content of the results is added to its record of shown
                content.
            step: The stored step, which lists the writes that earlier attempts have begun.
            planned: The calls.
            until: The time by which all calls must have ended.

        Returns:
            The outcomes by position.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        outcomes = self._over_limit(activation, planned)
        left = [each for each in planned if each.position not in outcomes]
        records = {each.position: each.record for each in left if each.record is not None}
        claim = activation.claim
        begun = self.ledger.begin(claim, step, records) if records else None
        may_ask = self.approvals.may_ask(activation.run)

        def record(each: PlannedCall, outcome: Outcome) -> None:
            if begun is not None and each.position in records:
                self.ledger.end(claim, begun, each.position, _result(step, each.position, outcome))

        def make(each: PlannedCall) -> Outcome:
            outcome = self.sending.send(
                each.tool,
                each.arguments,
                each.context,
                until=until,
                may_ask=may_ask,
                reply=each.reply,
                ambiguous=each.ambiguous,
            )
            if outcome.question is None:
                record(each, outcome)
            return outcome

        made = list(self.parallel_map(make, left))
        for n, each in enumerate(left):
            if made[n].question is not None:  # one by one: the questions change the same chat
                made[n] = self._asked(each, step, made[n])
                record(each, made[n])
        if left:
            run = activation.run
            names = [each.tool.name for each in left]
            cost = sum(one.usage.cost for one in made if one.usage is not None)
            self.usage.add_tools(run.tenant, _payer(run), names, cost, spread_by=run.id)
        outcomes |= {each.position: one for each, one in zip(left, made, strict=True)}
        for each in planned:
            self._keep(activation, each.tool, outcomes[each.position])
        return outcomes

    def _asked(self, each: PlannedCall, step: Step, outcome: Outcome) -> Outcome:
        """Ask the person the service's question about a call, and return the outcome of the call.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        question = outcome.question
        if question is None:
            return outcome
        self._keep(each.call.activation, each.tool, outcome)
        try:
            content = self.approvals.ask_for(each.call, step, each.position, each.tool, question)
        except ToolError as error:
            return Outcome("failed", NOT_ASKED.format(why=error), outcome.usage)
        return Outcome("asked", content, outcome.usage)

    def _known(
        self, call: ToolContext, tool: CallableTool, record: RecordedCall, *, reused: bool = False
    ) -> Outcome:
        """Return the recorded outcome of a call; leave out a result that the prompt may not show.

        Args:
            reused: Whether the record belongs to an equal call that was made before.
        """
        activation = call.activation
        record, result = self.ledger.read(record)
        own = is_of(record, activation)
        status: ToolStatus = "unknown" if record.state == "begun" else record.state
        if not own and not _may_read(call, record):
            outcome = Outcome(status, FOR_OTHERS.format(name=tool.name))
        elif result is not None:
            content = result.content
            if reused:
                content = AGAIN.format(time=minute_of(record.begun_at), result=content)
            usage = result.usage if own else None
            outcome = Outcome(result.status, content, usage, shows=True)
        elif status == "unknown":
            outcome = Outcome(status, UNKNOWN.format(name=tool.name, why=DIED))
            self.metrics.count("ToolCallsFailed", reason="unknown")
        else:
            outcome = Outcome(status, GONE.format(time=minute_of(record.begun_at)))
        if outcome.shows and not own:
            activation.add_held(record.audience, record.authors)
        self._keep(activation, tool, outcome)
        return outcome

    def _over_limit(
        self, activation: Activation, planned: Sequence[PlannedCall]
    ) -> dict[int, Outcome]:
        """Return a refusal for each call over the daily limit, by position.

        The limit is not exact: workers that run in parallel may exceed it.
        """
        run, over = activation.run, dict[int, Outcome]()
        for each in planned:
            most = each.tool.tool.max_calls_per_day
            if most and self.usage.tool_calls(run.tenant, _payer(run), each.tool.name) >= most:
                refusal = Outcome("failed", LIMIT.format(name=each.tool.name))
                unknown = Outcome("unknown", UNKNOWN.format(name=each.tool.name, why=DIED))
                over[each.position] = unknown if each.ambiguous else refusal
        return over

    def _keep(self, activation: Activation, tool: CallableTool, outcome: Outcome) -> None:
        """Record the content that an outcome shows to the model, and log the call."""
        run = activation.run
        if outcome.shows:
            readers = run.held.readers if run.held is not None else OPEN
            activation.add_held(readers, Authors(ids=(tool.tool.author,)))
        if outcome.status == "unknown":
            marks = dict.fromkeys([*run.marks, MARK])
            activation.claim = activation.claim.with_run(marks=tuple(marks))
        extra = {"tool": tool.name, "status": outcome.status, "run_id": run.id}
        log = logger.warning if outcome.status == "unknown" else logger.info
        log("tool called", extra=extra)


def _result(step: Step, position: int, outcome: Outcome) -> ToolResult:
    call = step.tool_calls[position]
    return ToolResult(
        call_id=call.id,
        name=call.name,
        status=outcome.status,
        content=outcome.content,
        usage=outcome.usage,
    )


def _payer(run: Run) -> Payer:
    return Payer(run.agent_id, run.trigger.user_id)


def _may_begin(record: RecordedCall, tool: CallableTool, reply: McpReply | None) -> bool:
    return may_begin(record.state, idempotent=tool.tool.repeatable, answered=reply is not None)


def _may_read(call: ToolContext, record: RecordedCall) -> bool:
    """Return whether this activation may be shown the arguments and result of a recorded call."""
    reading = call.reading
    return may_be_shown(record, reading.chat, reading.destination, reading.insiders)


def _writes(tool: CallableTool) -> bool:
    """Return whether the calls of a tool must happen only once."""
    return tool.tool.effect == "write"
