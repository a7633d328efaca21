"""The calls of a step to the tools of a tenant: agreed to, recorded, made at once, and once.

A step is recorded before its calls are made, which is the intent of a `read`. The intent of a
`write` is recorded on the step, too, before the call, and its outcome after it. So a worker that
takes over knows which writes have begun: it never makes one again whose outcome is unknown, unless
the service is idempotent.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from skein.errors import Correctable, Failed, ToolError
from skein.interface.tool_context import Activation, ToolContext
from skein.models.common.audience import OPEN
from skein.models.common.http import McpReply
from skein.models.common.provenance import Authors
from skein.models.common.requested_call import AgreedCall
from skein.models.common.storage import Query, Update
from skein.models.quotas.usage import Payer
from skein.models.runs.run import Run, RunMark
from skein.models.runs.step import BegunCall, Step, ToolResult
from skein.own_tools.asking import Approvals
from skein.own_tools.items import CallableTool, json_object_of
from skein.own_tools.rights import only_person, who_is_asked
from skein.own_tools.sending import UNKNOWN, CallSender, Outcome
from skein.own_tools.signed_context import CallContext
from skein.ports import Clock, Metrics, ParallelMap, Table
from skein.services.common.optimistic import transact_guarded
from skein.services.quotas.usage import UsageCounters

BEFORE = (
    "error: not called again: this run has called it with these arguments before, for other "
    "readers of the chat"
)

LIMIT = (
    "error: {name} was called often enough today. Nothing was done. Say that it works again "
    "tomorrow"
)
NOT_ASKED = "error: not done: the service wants an answer of the person first, and {why}"
MARK: RunMark = "tool_outcome_unknown"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that may be made.

    Attributes:
        position: The position in the step.
        tool: The tool.
        arguments: The arguments, as the model wrote them.
        context: The context that is signed.
        call: The context in which the agent made it.
        reply: What a person answered to a question of the service about this call.
    """

    position: int
    tool: CallableTool
    arguments: str
    context: CallContext
    call: ToolContext
    reply: McpReply | None = None

    @property
    def writes(self) -> bool:
        """Whether the call must happen once."""
        return self.tool.tool.effect == "write"


@dataclass(frozen=True, slots=True)
class _Begun:
    """The writes of a step that have begun, as they are recorded.

    Attributes:
        calls: By position.
        lock: Several calls end at the same time.
    """

    calls: dict[int, BegunCall]
    lock: Any = field(default_factory=Lock)

    def stored(self, step: Step) -> Update:
        """Return the write that records them on their step."""
        calls = [self.calls[position] for position in sorted(self.calls)]
        return Update(step.key, set={"begun": [each.model_dump(mode="json") for each in calls]})


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCalls:
    """The service that carries out the calls of a step to the tools of a tenant."""

    table: Table
    clock: Clock
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
        """Check a call, and ask a person or an operator if one must agree first.

        Args:
            call: The context of the call.
            step: The step.
            position: The position of the call in the step.
            tool: The tool.
            approved: The call to which a person or an operator has agreed.

        Returns:
            The call, or that somebody is asked.

        Raises:
            Correctable: The arguments do not fit.
            Failed: The call is not made from here.
        """
        run, asked = call.activation.run, step.tool_calls[position]
        arguments = tool.parse(asked.arguments)
        if run.held is None:
            raise Failed("the run has no record of its content")
        if approved is None:
            person = only_person(run, call.reading)
            begun = any(each.position == position for each in step.begun)
            who = (
                who_is_asked(run, call.activation.insiders, tool, arguments, person=person)
                if not begun
                else "nobody"
            )
            if who != "nobody":
                content = self.approvals.ask(call, step, position, tool, arguments, who=who)
                return Outcome("asked", content)
        else:
            person = self.approvals.person_of(call, tool, approved)
        context = CallContext(
            tenant=run.tenant,
            agent_id=run.agent_id,
            chat_id=run.held.chat_id,
            run_id=run.id,
            person=person,
            readers=run.held.readers.reader_ids,
            idempotency_key=approved.key if approved is not None else call.effect,
        )
        reply = approved.reply if approved is not None else None
        return PlannedCall(position, tool, asked.arguments, context, call, reply)

    def carry_out(
        self, activation: Activation, step: Step, planned: Sequence[PlannedCall], until: datetime
    ) -> Mapping[int, Outcome]:
        """Make the calls of a step, all at the same time.

        Args:
            activation: The activation, which holds the tools' words afterwards.
            step: The step, with the writes that have begun before.
            planned: The calls.
            until: When all calls must have ended.

        Returns:
            The outcomes by position.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        outcomes = dict(self._known(activation, step, planned))
        outcomes |= self._over_limit(activation, [e for e in planned if e.position not in outcomes])
        left = [each for each in planned if each.position not in outcomes]
        begun = _Begun({each.position: each for each in step.begun})
        activation.begun.update(begun.calls)
        writes = [each for each in left if each.writes]
        if writes:
            new = {each.position: BegunCall(position=each.position) for each in writes}
            begun.calls.update({n: one for n, one in new.items() if n not in begun.calls})
            activation.begun.update(begun.calls)
            self._record(activation, step, begun)

        may_ask = self.approvals.may_ask(activation.run)

        def record(each: PlannedCall, outcome: Outcome) -> None:
            if each.writes:
                with begun.lock:
                    begun.calls[each.position] = BegunCall(
                        position=each.position, result=_result(step, each.position, outcome)
                    )
                    self._record(activation, step, begun)

        def make(each: PlannedCall) -> Outcome:
            outcome = self.sending.send(
                each.tool,
                each.arguments,
                each.context,
                until=until,
                may_ask=may_ask,
                reply=each.reply,
            )
            if outcome.question is None:
                record(each, outcome)
            return outcome

        made = list(self.parallel_map(make, left))
        for n, each in enumerate(left):
            if made[n].question is not None:  # one after the other: they change one chat
                made[n] = self._asked(each, step, made[n])
                record(each, made[n])
        if left:
            run = activation.run
            names = [each.tool.name for each in left]
            cost = sum(one.usage.cost for one in made if one.usage is not None)
            self.usage.add_tools(run.tenant, _payer(run), names, cost, spread_by=run.id)
        outcomes |= {each.position: one for each, one in zip(left, made, strict=True)}
        for each in planned:
            self._keep(activation, each, outcomes[each.position])
        return outcomes

    def _asked(self, each: PlannedCall, step: Step, outcome: Outcome) -> Outcome:
        """Ask the person a question of a service, and return the outcome of the call.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        question = outcome.question
        if question is None:
            return outcome
        self._keep(each.call.activation, each, outcome)
        try:
            content = self.approvals.ask_for(each.call, step, each.position, each.tool, question)
        except ToolError as error:
            return Outcome("failed", NOT_ASKED.format(why=error), outcome.usage)
        return Outcome("asked", content, outcome.usage)

    def _known(
        self, activation: Activation, step: Step, planned: Sequence[PlannedCall]
    ) -> dict[int, Outcome]:
        """Return the outcomes of the calls that must not be made, since they have begun before."""
        begun = {each.position: each for each in step.begun}
        known: dict[int, Outcome] = {}
        for each in planned:
            one = begun.get(each.position)
            if one is not None and one.result is not None:
                result = one.result
                known[each.position] = Outcome(
                    result.status, result.content, result.usage, shows=True
                )
            elif one is not None and not each.tool.tool.repeatable:
                why = "the worker stopped before the answer"
                content = UNKNOWN.format(name=each.tool.name, why=why)
                known[each.position] = Outcome("unknown", content)
                self.metrics.count("ToolCallsFailed", reason="unknown")
        if activation.run.rebuilds and any(each.writes for each in planned):
            known |= self._before_rebuild(activation, step, planned)
        return known

    def _over_limit(
        self, activation: Activation, planned: Sequence[PlannedCall]
    ) -> dict[int, Outcome]:
        """Return refusals of calls beyond a day's limit, which calls in progress may exceed."""
        run, over = activation.run, dict[int, Outcome]()
        for each in planned:
            most = each.tool.tool.max_calls_per_day
            if most and self.usage.tool_calls(run.tenant, _payer(run), each.tool.name) >= most:
                over[each.position] = Outcome("failed", LIMIT.format(name=each.tool.name))
        return over

    def _before_rebuild(
        self, activation: Activation, step: Step, planned: Sequence[PlannedCall]
    ) -> dict[int, Outcome]:
        """Return refusals of the writes that a dropped activation of this run has begun."""
        run = activation.run
        page = self.table.query(Query.under(run.key.pk, Step.prefix_of(run.key)))
        dropped = [
            (call.name, _arguments(call.arguments))
            for one in map(Step.from_item, page.items)
            if one.activation < step.activation
            for call in (one.tool_calls[each.position] for each in one.begun)
        ]
        return {
            each.position: Outcome("failed", BEFORE)
            for each in planned
            if each.writes and (each.tool.name, _arguments(each.arguments)) in dropped
        }

    def _record(self, activation: Activation, step: Step, begun: _Begun) -> None:
        """Record the writes that have begun, and their results so far.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        transact_guarded(self.table, [begun.stored(step)], activation.claim.guard)

    def _keep(self, activation: Activation, each: PlannedCall, outcome: Outcome) -> None:
        """Add what a call has shown to the held content, and log it."""
        run = activation.run
        if outcome.shows:
            readers = run.held.readers if run.held is not None else OPEN
            activation.add_held(readers, Authors(ids=(each.tool.tool.author,)))
        if outcome.status == "unknown":
            marks = dict.fromkeys([*run.marks, MARK])
            activation.claim = activation.claim.with_run(marks=tuple(marks))
        extra = {"tool": each.tool.name, "status": outcome.status, "run_id": run.id}
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


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        return json_object_of(text)
    except Correctable:
        return None
