"""The ledger of calls to tools that write: it finds earlier calls and records the current call.

`models/recorded_call.py` decides whether a recorded call may be sent, and `sections.py` finds the
calls that concern an activation.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from skein.errors import ConditionFailed, Correctable, LostLease
from skein.interface.tool_context import Activation, ToolContext
from skein.models.common.storage import Exists, Is, Missing, Put, Update, any_of
from skein.models.runs.requested_call import AgreedCall
from skein.models.runs.run import ToldBits
from skein.models.runs.step import BegunCall, Step, ToolResult
from skein.own_tools.items import json_object_of
from skein.own_tools.models.recorded_call import (
    STATE_AFTER,
    CallRef,
    RecordedCall,
    digest_of_call,
    may_become,
)
from skein.own_tools.sections import RecordedCalls
from skein.ports import Clock, Table
from skein.services.common.optimistic import transact_guarded
from skein.services.runs.claim import Claim, write_claimed

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierCalls:
    """The earlier calls that an activation finds before it makes a call that writes.

    Attributes:
        reused: The recorded call whose outcome is used instead of a new call, or None.
        others: The earlier calls that are equal to the new one; empty if one of them is reused.
    """

    reused: RecordedCall | None = None
    others: tuple[RecordedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class BegunCalls:
    """The writing calls of a step that have begun, by position, with their results so far.

    Calls run in parallel, so several can end at the same time.
    """

    step: Step
    records: Mapping[int, RecordedCall]
    results: dict[int, ToolResult]
    lock: Any = field(default_factory=Lock)

    @property
    def words(self) -> Update:
        """The write that stores the begun calls on their step, with the results so far."""
        positions = sorted({*self.records, *self.results})
        begun = [BegunCall(position=n, result=self.results.get(n)) for n in positions]
        stored = [each.model_dump(mode="json") for each in begun]
        return Update(self.step.key, set={"begun": stored}, condition=Exists())


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLedger:
    """The service that finds and records the calls of tools that write."""

    table: Table
    clock: Clock

    def find(
        self, call: ToolContext, step: Step, position: int, agreed: AgreedCall | None
    ) -> RecordedCall | None:
        """Return the record of exactly this call, or None if it was never sent.

        Args:
            agreed: The approved call that the step makes. None for the model's own call.
        """
        ref = first_call_of(step, position)
        if agreed is not None:
            first = self._answered_first(step, ref)
            recorded_call = RecordedCall.read(
                self.table, RecordedCall.key_of(step.tenant, ref, first[1])
            )
            found = recorded_call
        else:
            calls = call.reading.of(RecordedCalls).calls
            found = next((each for each in calls if each.call == ref), None)
        begun = next((each for each in step.begun if each.position == position), None)
        if found is not None or begun is None:
            return found
        # Release 0.3.0 recorded a call only on its step.
        record = self.new(call, step, position, "")
        state = STATE_AFTER[begun.result.status] if begun.result is not None else "begun"
        return record.model_copy(update={"state": state})

    def earlier(self, call: ToolContext, step: Step, position: int, digest: str) -> EarlierCalls:
        """Find the calls with the same tool and arguments that were made before this activation.

        The first equal call of this activation reuses the first recorded call, the second equal
        call reuses the second, and so on. Further equal calls are new. A recorded call is reused
        only if its run had already answered the newest message that this activation answers.
        """
        known = call.reading.of(RecordedCalls)
        equal = [each for each in known.before if each.digest == digest and each.state != "failed"]
        if not equal:
            return EarlierCalls()
        n = _equal_calls(call.activation.earlier, step, position, digest)
        newest = known.answered[-1] if known.answered else 0
        if n < len(equal) and equal[n].seq >= newest:
            return EarlierCalls(reused=equal[n])
        return EarlierCalls(others=tuple(equal))

    def new(self, call: ToolContext, step: Step, position: int, digest: str) -> RecordedCall:
        """Return the record of a call that is about to be sent for the first time."""
        run, now = call.activation.run, self.clock.now()
        ref = first_call_of(step, position)
        from_seq, seq = self._answered_first(step, ref)
        return RecordedCall(
            tenant=run.tenant,
            call=ref,
            agent_id=run.agent_id,
            seq=seq,
            from_seq=from_seq,
            activation=step.activation,
            tool=step.tool_calls[position].name,
            digest=digest,
            made_in=CallRef(run_id=run.id, step=step.n, position=position),
            audience=run.held.audience if run.held is not None else call.reading.audience,
            authors=run.words,
            begun_at=now,
            expires_at=call.activation.claim.kept_until(now),
        )

    def _answered_first(self, step: Step, ref: CallRef) -> tuple[int, int]:
        """Return the range of messages answered by the run that first made the call, or zeros."""
        made: Step | None = step
        if ref.run_id != step.run_id:
            made = Step.read(self.table, Step.key_of(step.tenant, ref.run_id, ref.step))
        return (made.answered if made is not None else None) or (0, 0)

    def read(self, record: RecordedCall) -> tuple[RecordedCall, ToolResult | None]:
        """Read a record and the result of its call again; the result is None if there is none."""
        found = self.table.get_many([record.key, record.step_key])
        record = RecordedCall.read(found, record.key) or record
        return record, record.result_in(Step.read(found, record.step_key))

    def count_told(
        self, activation: Activation, step: Step, position: int, millibits: int, of_day: Update
    ) -> bool:
        """Record how much a call reveals to a shared service, before the call is sent.

        Args:
            millibits: The amount, in thousandths of a bit.
            of_day: The write that adds the amount to the person's count for the day.

        Returns:
            Whether the daily limit allows the call.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        told = (activation.run.told or ToldBits()).with_call(step.n, position, millibits)
        changes = {"told": told.model_dump(mode="json")}
        try:
            write_claimed(self.table, activation.claim, changes, shared=(of_day,))
        except ConditionFailed:
            return False
        activation.claim = activation.claim.with_run(told=told)
        return True

    def begin(self, claim: Claim, step: Step, records: Mapping[int, RecordedCall]) -> BegunCalls:
        """Record that the calls of a step are about to be sent.

        Args:
            records: The existing or new records, by position.

        Raises:
            LostLease: Another worker has taken the run over.
            ConditionFailed: One of the calls was recorded after the records were read.
        """
        now = self.clock.now()
        begun: dict[int, RecordedCall] = {}
        writes: list[Put] = []
        for position, record in records.items():
            here = CallRef(run_id=step.run_id, step=step.n, position=position)
            begun[position] = record.model_copy(
                update={
                    "state": "begun",
                    "made_in": here,
                    "begun_at": now,
                    "activation": step.activation,
                }
            )
            as_found = any_of(Missing(), Is("state", record.state))
            writes.append(Put(record.key, begun[position].attributes(), as_found))
        results = {each.position: each.result for each in step.begun if each.result is not None}
        calls = BegunCalls(step, begun, results)
        transact_guarded(self.table, [*writes, calls.words], claim.guard)
        return calls

    def end(self, claim: Claim, calls: BegunCalls, position: int, result: ToolResult) -> None:
        """Record the outcome of a call.

        The outcome `done` is recorded even if the run has ended or another worker has taken the run
        over; `LostLease` is raised nevertheless.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        record, state = calls.records[position], STATE_AFTER[result.status]
        with calls.lock:
            calls.results[position] = result
            changed = Update(record.key, set={"state": state}, condition=may_become(state))
            writes = [changed, calls.words]
            try:
                transact_guarded(self.table, writes, claim.guard)
            except LostLease:
                if state == "done":
                    with suppress(ConditionFailed):
                        self.table.transact(writes)
                raise
            except ConditionFailed:
                logger.info("the outcome of a call is known", extra={"run_id": claim.run.id})


def first_call_of(step: Step, position: int) -> CallRef:
    """Return the reference of a call as the model first made it.

    For an approved call, the reference points to the run that asked for the approval.
    """
    if step.agreed:
        first = step.agreed[position]
        return CallRef(run_id=first.run_id, step=first.step, position=first.position)
    return CallRef(run_id=step.run_id, step=step.n, position=position)


def is_of(record: RecordedCall, activation: Activation) -> bool:
    """Return whether this activation made a recorded call."""
    made = (record.made_in.run_id, record.activation)
    return made == (activation.run.id, activation.run.activation)


def _equal_calls(earlier: Iterable[Step], step: Step, position: int, digest: str) -> int:
    """Count the calls with this digest that the activation made before the call at `position`."""
    calls = [call for each in earlier for call in each.tool_calls]
    calls += step.tool_calls[:position]
    return sum(digest_of(call.name, call.arguments) == digest for call in calls)


def digest_of(name: str, arguments: str) -> str | None:
    """Return the digest of a call as the model wrote it, or None if its JSON is not an object."""
    try:
        return digest_of_call(name, json_object_of(arguments))
    except Correctable:
        return None
