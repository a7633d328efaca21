"""Consolidation worker: make memories from a chat's new messages, for each agent in turn.

A lease (`busy_until`) ensures that one worker at a time consolidates a chat; the lease ends with
the worker's invocation. If time runs out, the worker sends a new job for the rest. The chat stays
due, for the tick or the hourly finder, until every agent is done.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from skein.errors import NotFound
from skein.models.chats.chat import Membership
from skein.models.common.base import rfc3339
from skein.models.common.storage import Is, Present, Update, all_of
from skein.models.memory.consolidation import Consolidation
from skein.models.outbox.jobs import ConsolidationJob
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.feed.recall_sweep import RecallSweep
from skein.services.memory.agent_consolidation import AgentConsolidation, QuestionTime
from skein.services.memory.consolidation_schedule import (
    agents_without,
    due_change,
    has_new,
    idle_at,
    next_consolidation,
    next_due_time,
    retry_at,
    wanted,
)
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import Budget, OverBudget
from skein.settings import Settings


class _Claim(NamedTuple):
    """Worker's lease on the consolidation of a chat.

    Attributes:
        idle: Whether the chat was quiet, so that all its messages may be consolidated.
        without: The ids of the agents that do not consolidate the chat, unless requested.
        requested_seq: The last message that an operator had requested when the claim was made.
        busy_until: When the lease ends, as stored.
    """

    snapshot: ChatSnapshot
    idle: bool
    without: frozenset[str]
    requested_seq: int | None
    busy_until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidator:
    """Worker that consolidates the chat of a job."""

    table: Table
    clock: Clock
    dispatch: Dispatch
    agent_consolidation: AgentConsolidation
    budget: Budget
    recall_sweep: RecallSweep
    settings: Settings

    def consolidate(self, job: ConsolidationJob, *, deadline: datetime) -> None:
        """Consolidate a chat for each of its agents (idempotent).

        Consolidation runs if the chat is quiet or an operator requested it; otherwise the chat is
        only made due again for later. If the tenant is over its budget, the rest waits until the
        next day, and during a pause of background work for an hour. At the end, the recall sweep
        looks for messages of a quiet chat that are not in the index.

        Args:
            job: The chat.
            deadline: When the invocation, and with it the lease, ends.
        """
        try:
            claim = optimistic(self.clock, lambda: self._claim(job, deadline))
        except NotFound:
            return
        if claim is None:
            return
        time, not_before = QuestionTime(self.clock, deadline), None
        try:
            for membership, until in self._whose_turn(claim):
                if not self.agent_consolidation.remember(
                    claim.snapshot.chat, membership, until=until, time=time
                ):
                    self._continue_later(job, claim)
                    return
        except OverBudget as error:
            not_before = self.budget.next_try(error)
        optimistic(self.clock, lambda: self._settle(job, claim, not_before))
        if claim.idle:
            self.recall_sweep.check(claim.snapshot.chat, claim.snapshot.members)

    def _claim(self, job: ConsolidationJob, deadline: datetime) -> _Claim | None:
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        item = self.table.get(Consolidation.key_of(job.tenant, job.chat_id))
        now = self.clock.now()
        if item is None or snapshot.chat.consolidation_at is None:
            return None
        consolidation = Consolidation.from_item(item)
        if consolidation.busy_until is not None and consolidation.busy_until > now:
            return None
        busy_until = rfc3339(deadline)
        again = next_due_time(snapshot.chat, now)
        change = {"busy_until": busy_until} | consolidation.due(max(again, deadline))
        unclaimed = all_of(Is("busy_until", _stored(consolidation.busy_until)), Present("gsi2sk"))
        self.table.write(Update(consolidation.key, set=change, condition=unclaimed))
        return _Claim(
            snapshot,
            idle=idle_at(snapshot.chat, self.settings) <= now,
            without=agents_without(self.table, snapshot, self.settings),
            requested_seq=consolidation.requested_seq,
            busy_until=busy_until,
        )

    def _whose_turn(self, claim: _Claim) -> Iterator[tuple[Membership, int]]:
        """Yield each agent with messages left, and the last message that it consolidates now.

        An agent whose retry is not due yet is left out, unless an operator asked. So are all agents
        of a chat whose person has opted out of SMS.
        """
        chat, now = claim.snapshot.chat, self.clock.now()
        if chat.discarded_at is not None:
            return
        for agent in sorted(claim.snapshot.agents, key=lambda agent: agent.member.id):
            waits = claim.snapshot.opted_out or agent.member.id in claim.without
            new = not waits and has_new(chat, agent)
            requested = wanted(agent, claim.requested_seq)
            if claim.idle and new and (requested or (retry_at(agent) or now) <= now):
                yield agent, chat.last_seq
            elif requested and claim.requested_seq is not None:
                yield agent, claim.requested_seq

    def _continue_later(self, job: ConsolidationJob, claim: _Claim) -> None:
        """Release the lease and send a new job for the rest.

        If that job is lost, the finder finds the chat.
        """
        consolidation = Consolidation.key_of(job.tenant, job.chat_id)

        def attempt() -> bool:
            item = self.table.get(consolidation)
            if item is None or item.get("busy_until") != claim.busy_until:
                return False
            unchanged = Is("busy_until", claim.busy_until)
            self.table.write(Update(consolidation, set={"busy_until": None}, condition=unchanged))
            return True

        if optimistic(self.clock, attempt):
            self.dispatch.send([job])

    def _settle(
        self, job: ConsolidationJob, claim: _Claim, not_before: datetime | None = None
    ) -> None:
        """Release the lease and set when the chat is due next.

        The due pointer is cleared if no messages are left. A new job is sent at once if an operator
        requested more messages meanwhile. The chat is left unchanged if another worker took over
        the lease.
        """
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        chat, now = snapshot.chat, self.clock.now()
        item = self.table.get(Consolidation.key_of(job.tenant, job.chat_id))
        if item is None or item.get("busy_until") != claim.busy_until:
            return
        consolidation = Consolidation.from_item(item)
        unmet = any(wanted(agent, consolidation.requested_seq) for agent in snapshot.agents)
        requested = consolidation.requested_seq if unmet and chat.discarded_at is None else None
        at = next_consolidation(
            snapshot,
            requested_seq=requested,
            now=now,
            settings=self.settings,
            without=claim.without,
        )
        settled = {"busy_until": None, "requested_seq": requested}
        if at is not None and not_before is not None:
            at = max(at, not_before)
        again = at is not None and at <= now and requested not in {None, claim.requested_seq}
        if at is not None and not again:
            at = max(at, next_due_time(chat, now))
        unchanged = all_of(
            Is("busy_until", claim.busy_until), Is("requested_seq", consolidation.requested_seq)
        )
        due = due_change(chat, at, condition=unchanged)
        change = due.change | {"version": chat.version + 1}
        self.table.transact(
            [
                Update(chat.key, set=change, condition=Is("version", chat.version)),
                replace(due.write, set={**due.write.set, **settled}),
            ]
        )
        if again:
            self.dispatch.send([job])


def _stored(moment: datetime | None) -> str | None:
    return rfc3339(moment) if moment is not None else None
