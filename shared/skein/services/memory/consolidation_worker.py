"""Consolidates a chat: each of its agents in turn remembers what was said since it last did.

One worker at a time, by a claim that ends with its invocation; what it does not finish in time, a
fresh job goes on with. As long as anything is left, the chat stays due for the hourly finder.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from skein.errors import NotFound
from skein.models.base import rfc3339
from skein.models.chat import Chat, Membership
from skein.models.consolidation import Consolidation
from skein.models.jobs import ConsolidationJob
from skein.models.storage import Is, Present, Update, all_of
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.memory.agent_consolidation import AgentConsolidation, TimeLeft
from skein.services.memory.consolidation_schedule import (
    marked,
    next_hour,
    next_look,
    quiet_at,
    retry_at,
    wanted,
)
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import Budget, OverBudget
from skein.settings import Settings


class _Claim(NamedTuple):
    """What a worker has taken upon itself.

    Attributes:
        until: Up to which message; None if nothing is to be remembered now.
        requested_seq: Up to where somebody wanted it when the claim was made.
        busy_until: When the claim ends, as stored.
    """

    snapshot: ChatSnapshot
    until: int | None
    requested_seq: int | None
    busy_until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidator:
    """What the consolidation worker does."""

    table: Table
    clock: Clock
    dispatch: Dispatch
    recollection: AgentConsolidation
    budget: Budget
    settings: Settings

    def consolidate(self, job: ConsolidationJob, *, deadline: datetime) -> None:
        """Let each agent of a chat remember what is new, if the chat is quiet or somebody asked.

        Doing it twice, late or for nothing does no harm.
        """
        try:
            claim = optimistic(self.clock, lambda: self._claim(job, deadline))
        except NotFound:
            return
        if claim is None:
            return
        time, not_before = TimeLeft(self.clock, deadline), None
        try:
            for place in self._whose_turn(claim):
                until = claim.until or 0
                if not self.recollection.remember(
                    claim.snapshot.chat, place, until=until, time=time
                ):
                    self._hand_on(job, claim)
                    return
        except OverBudget:
            not_before = self.budget.next_day()
        optimistic(self.clock, lambda: self._settle(job, claim, not_before))

    def _claim(self, job: ConsolidationJob, deadline: datetime) -> _Claim | None:
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        item = self.table.get(Consolidation.key_of(job.tenant, job.chat_id))
        now = self.clock.now()
        if item is None or snapshot.chat.consolidation_at is None:
            return None
        beside = Consolidation.from_item(item)
        if beside.busy_until is not None and beside.busy_until > now:
            return None
        busy_until = rfc3339(deadline)
        change = {"busy_until": busy_until} | beside.due(next_hour(now))
        unclaimed = all_of(Is("busy_until", _stored(beside.busy_until)), Present("gsi2sk"))
        self.table.write(Update(beside.key, set=change, condition=unclaimed))
        until = self._until(snapshot.chat, beside, now)
        return _Claim(snapshot, until, beside.requested_seq, busy_until)

    def _until(self, chat: Chat, beside: Consolidation, now: datetime) -> int | None:
        if chat.discarded_at is not None:
            return None
        if chat.consolidate and quiet_at(chat, self.settings) <= now:
            return chat.last_seq
        return beside.requested_seq

    def _whose_turn(self, claim: _Claim) -> Sequence[Membership]:
        """The agents that have something to remember, but for those that are to be tried later."""
        now = self.clock.now()
        return [
            place
            for place in sorted(claim.snapshot.agents, key=lambda place: place.member.id)
            if claim.until is not None
            and place.remembered_seq < claim.until
            and (wanted(place, claim.requested_seq) or (retry_at(place) or now) <= now)
        ]

    def _hand_on(self, job: ConsolidationJob, claim: _Claim) -> None:
        """Let a fresh invocation go on; if its job gets lost, the finder finds the chat."""
        beside = Consolidation.key_of(job.tenant, job.chat_id)

        def attempt() -> bool:
            item = self.table.get(beside)
            if item is None or item.get("busy_until") != claim.busy_until:
                return False
            mine = Is("busy_until", claim.busy_until)
            self.table.write(Update(beside, set={"busy_until": None}, condition=mine))
            return True

        if optimistic(self.clock, attempt):
            self.dispatch.send([job])

    def _settle(
        self, job: ConsolidationJob, claim: _Claim, not_before: datetime | None = None
    ) -> None:
        """Leave the chat due for what is left, or not at all; nothing once the claim is over."""
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        chat, now = snapshot.chat, self.clock.now()
        item = self.table.get(Consolidation.key_of(job.tenant, job.chat_id))
        if item is None or item.get("busy_until") != claim.busy_until:
            return
        beside = Consolidation.from_item(item)
        unmet = any(wanted(agent, beside.requested_seq) for agent in snapshot.agents)
        requested = beside.requested_seq if unmet and chat.discarded_at is None else None
        at = next_look(snapshot, requested_seq=requested, now=now, settings=self.settings)
        settled = {"busy_until": None, "requested_seq": requested}
        if at is not None and not_before is not None:
            at = max(at, not_before)
        again = at is not None and at <= now and requested not in {None, claim.requested_seq}
        if at is not None and not again:
            at = max(at, next_hour(now))
        mine = all_of(Is("busy_until", claim.busy_until), Is("requested_seq", beside.requested_seq))
        mark = marked(chat, at, condition=mine)
        change = mark.change | {"version": chat.version + 1}
        self.table.transact(
            [
                Update(chat.key, set=change, condition=Is("version", chat.version)),
                replace(mark.write, set={**mark.write.set, **settled}),
            ]
        )
        if again:
            self.dispatch.send([job])


def _stored(moment: datetime | None) -> str | None:
    return rfc3339(moment) if moment is not None else None
