"""Calls that wait for an operator: list them, show one, and decide.

A decision starts a run of the agent in the chat. After a yes, the run first makes the recorded
call, after checking the rights again. After a no, the run informs the people of the chat.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from skein.errors import Conflict, NotFound
from skein.interface.tool_context import ToolContext
from skein.models.chats.chat import Chat, chat_partition
from skein.models.common.effects import effect_id
from skein.models.common.storage import Missing, Put, Query
from skein.models.directory.agent import agent_partition
from skein.models.outbox.due import NOT_DUE
from skein.models.runs.requested_call import DecidedCall, RequestedCall
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.models.runs.trigger import ServiceTrigger, Trigger
from skein.models.visibility.audience import NOBODY
from skein.own_tools.ledger import digest_of
from skein.own_tools.models.approval import (
    DECIDE_WITHIN,
    Decision,
    ToolApproval,
    approvals_partition,
)
from skein.own_tools.models.recorded_call import RecordedCall
from skein.own_tools.waiting import WaitingCalls
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise, transact_guarded
from skein.services.common.pagination import items_under
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.background_runs import agent_run

MAX_SHOWN = 200
NAME = "approvals"  # name of the trigger of a run after a decision


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """An approval with the arguments of its call.

    Attributes:
        arguments: The arguments as JSON; None if they are withheld or were erased.
        made_at: When the agent made equal calls, oldest first: in the chat, and anywhere in runs of
            its plans and services. Then, when operators approved equal calls in the chat that are
            not made yet. Empty if the arguments are None.
    """

    approval: ToolApproval
    arguments: str | None
    made_at: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorApprovals:
    """The service of the calls that wait for an operator."""

    table: Table
    clock: Clock
    dispatch: Dispatch
    waiting: WaitingCalls

    def ask(self, call: ToolContext, requested: RequestedCall) -> None:
        """Store that a call waits for an operator, unless an equal call is already waiting.

        Repeating the request changes nothing.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run, now = call.activation.run, self.clock.now()
        approval = ToolApproval(
            tenant=run.tenant,
            id=effect_id("approval", requested.key),
            agent_id=run.agent_id,
            chat_id=run.own_chat_id,
            call=requested,
            private=run.private,
            created_at=now,
            expires_at=int((now + DECIDE_WITHIN).timestamp()),
        )
        if self.table.get(approval.key) is None and not self._has_equal(approval):
            write = Put(approval.key, approval.to_item(), Missing())
            transact_guarded(self.table, [write], call.activation.claim.guard)

    def list(self, tenant: str) -> Sequence[ToolApproval]:
        """Return the calls that wait for a decision, at most 200, oldest first."""
        return sorted(self._undecided(tenant), key=lambda each: each.created_at)[:MAX_SHOWN]

    def _undecided(self, tenant: str) -> Iterator[ToolApproval]:
        return (each for each in self._approvals(tenant) if each.decision is None)

    def _approvals(self, tenant: str) -> Iterator[ToolApproval]:
        items = items_under(self.table, approvals_partition(tenant), ToolApproval.PREFIX)
        return ToolApproval.each_of(items)

    def _has_equal(self, new: ToolApproval) -> bool:
        """Return whether an equal call of the agent in the chat waits for an operator."""
        home = (new.agent_id, new.chat_id)
        undecided = self._undecided(new.tenant)
        calls = [each.call for each in undecided if (each.agent_id, each.chat_id) == home]
        return self.waiting.has_equal(new.tenant, new.call, calls)

    def get(self, tenant: str, approval_id: str, *, private: bool) -> WaitingCall:
        """Return an approval, with the arguments of its call.

        Args:
            private: Whether private arguments may be shown.

        Raises:
            NotFound: There is no such approval.
        """
        approval = self._find(tenant, approval_id)
        if approval.private and not private:
            return WaitingCall(approval, None)
        call = approval.call
        step = Step.read(self.table, Step.key_of(tenant, call.run_id, call.step))
        given = step.arguments_at(call.position) if step is not None else None
        made_at = self._made_at(approval, given) if given is not None else ()
        return WaitingCall(approval, given, tuple(made_at))

    def _made_at(self, approval: ToolApproval, arguments: str) -> Iterator[datetime]:
        """Yield when equal calls were made, oldest first, and then when others were approved.

        Calls of plans and services are recorded with the agent, others with the chat. At most 200
        of each are read: the newest of the chat, and those of any time of the agent.
        """
        partitions = [agent_partition(approval.tenant, approval.agent_id)]
        if approval.chat_id is not None:
            partitions.append(chat_partition(approval.tenant, approval.chat_id))
        queries = (
            Query.under(each, RecordedCall.PREFIX, newest_first=True, limit=MAX_SHOWN)
            for each in partitions
        )
        found = [item for query in queries for item in self.table.query(query).items]
        recorded = sorted(RecordedCall.each_of(found), key=attrgetter("begun_at"))
        digest = digest_of(approval.call.tool, arguments)
        for each in recorded:
            done = each.state not in {"asked", "failed"}
            if done and (each.agent_id, each.digest) == (approval.agent_id, digest):
                yield each.begun_at
        begun = {str(each.call) for each in recorded if each.state != "asked"}
        for other in self._approvals(approval.tenant):
            same_home = (other.agent_id, other.chat_id) == (approval.agent_id, approval.chat_id)
            if not same_home or other.decision != "approved" or other.call.key in begun:
                continue
            if other.decided_at and self.waiting.digest(approval.tenant, other.call) == digest:
                yield other.decided_at

    def decide(self, tenant: str, approval_id: str, decision: Decision, *, by: str) -> ToolApproval:
        """Approve or reject a call; the decision starts a run of the agent (idempotent).

        Args:
            by: The operator.

        Raises:
            NotFound: There is no such approval.
            Conflict: The call was already decided the other way.
        """

        def attempt() -> ToolApproval:
            approval = self._find(tenant, approval_id)
            if approval.decision is not None:
                if approval.decision != decision:
                    raise Conflict(f"the call was {approval.decision} already")
                return approval
            return self._decided(approval, decision, by, self.clock.now())

        return optimistic(self.clock, attempt)

    def _decided(
        self, approval: ToolApproval, decision: Decision, by: str, now: datetime
    ) -> ToolApproval:
        tenant, chat_id = approval.tenant, approval.chat_id
        chat = Chat.read(self.table, Chat.key_of(tenant, chat_id)) if chat_id else None
        run = Run.read(self.table, Run.key_of(tenant, approval.call.run_id))
        audience = run.audience if run is not None else NOBODY
        if audience == NOBODY:  # the run has expired, or an erasure has emptied it
            audience = approval.call.readers
        decided = DecidedCall(call=approval.call, approved=decision == "approved")
        service = ServiceTrigger(
            id=approval.id,
            name=NAME,
            payload=json.dumps({"tool": approval.call.tool, "decision": decision}),
            chat_id=chat_id,
            decided=decided,
        )
        started = agent_run(
            tenant=tenant,
            agent_id=approval.agent_id,
            trigger=Trigger(type="service", service=service),
            cause=("approval", approval.id),
            now=now,
            audience=audience,
            chat=chat,
        )
        changes = {"decision": decision, "decided_by": by, "decided_at": now}
        revised, write = revise(approval, changes, also=NOT_DUE)
        self.table.transact([write, *started.writes])
        self.dispatch.send([started.job])
        return revised

    def _find(self, tenant: str, approval_id: str) -> ToolApproval:
        approval = ToolApproval.read(self.table, ToolApproval.key_of(tenant, approval_id))
        if approval is None:
            raise NotFound("approval not found")
        return approval
