"""The concurrency limit: how many runs of a person, a tenant and an agent may work at once.

A run takes a permit from each of these owners that has a limit. If only the person has a limit, the
permit is taken in the transaction of the claim. Otherwise, one write before the claim takes all
permits, because all runs of a tenant or an agent share them. The person's permit also reserves an
estimate of the run's tokens. The permits are stored with the owners' token buckets, so the write
that charges a run's last answer also returns the run's permits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from skein.models.common.storage import Item, Key, Put
from skein.models.config.overrides import TenantSettings
from skein.models.directory.agent import Agent
from skein.models.quotas.limit import Allowance
from skein.models.quotas.permits import WAIT, ChangedPermits, Permits, WaitingRun
from skein.models.runs.run import Run
from skein.ports import Clock, Table
from skein.services.common.optimistic import known_first, optimistic
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.rate_limits import Rates, rates_of
from skein.services.quotas.token_budget import (
    OF_USER,
    Bucket,
    buckets_of,
    is_shard,
    limits_of,
    owners_of_payer,
    pool_keys,
    wake,
)
from skein.settings import Settings


@dataclass(frozen=True, slots=True)
class TakenPermits:
    """Whether a run has got its permits.

    Attributes:
        permitted: Whether the run may work.
        listed: If `permitted` is False: whether the run is in the list of waiting runs, so that the
            next free permit starts it.
        permits: The token buckets that hold the run's permits, by owner.
        writes: The writes that store the run's permits, for the transaction of the claim; empty if
            they are stored already.
    """

    permitted: bool
    listed: bool = False
    permits: Mapping[str, Allowance] = field(default_factory=dict)
    writes: tuple[Put, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyLimit:
    """The service that grants permits to work."""

    table: Table
    clock: Clock
    dispatch: Dispatch
    settings: Settings

    def take(self, run: Run, found: Mapping[Key, Item | None], *, until: datetime) -> TakenPermits:
        """Take the permits of `run`, or else add it to the list of waiting runs if not full.

        If the run has its permits already, their expiry is extended. If only the person has a
        limit, this method usually writes nothing, and the caller must commit the `writes` of the
        result.

        Args:
            run: The run as its claim would store it.
            found: Items that were read, by key; None for a missing item. The tenant's settings, the
                agent and the token buckets are read unless they are in `found`.
            until: When the permits expire.
        """
        wanted, limits = self._wanted(run, found)
        if not limits:
            return TakenPermits(permitted=True)
        buckets = buckets_of(self.table, run.tenant, limits, _known(run, found))
        known = known_first(
            [bucket.allowance for bucket in buckets], lambda: self._read_again(buckets)
        )
        return optimistic(
            self.clock,
            lambda: self._take_once(buckets, known(), wanted, until),
            finds_own_write=True,
        )

    def _take_once(
        self,
        buckets: Sequence[Bucket],
        known: Sequence[Allowance],
        wanted: WaitingRun,
        until: datetime,
    ) -> TakenPermits:
        now = self.clock.now()
        changed: dict[str, ChangedPermits] = {}
        refused = None
        for bucket, allowance in zip(buckets, known, strict=True):
            limit = bucket.limit(allowance, now)
            run = wanted if limit.tokens is not None else _without_tokens(wanted)
            change = allowance.permits.take(run, limit, until, now)
            changed[allowance.owner] = change
            if wanted.run_id not in change.permits.held:
                refused = allowance.owner
                break
        if refused is not None:  # do not hold a permit while another one is missing
            for bucket, allowance in zip(buckets, known, strict=True):
                if allowance.owner != refused:
                    limit = bucket.limit(allowance, now)
                    dropped = allowance.permits.give_back(wanted.run_id, limit, now)
                    changed[allowance.owner] = dropped
        after, writes = self._changed(known, changed)
        if refused is None and _is_of_person_alone(known) and not _granted(changed):
            return TakenPermits(permitted=True, permits=after, writes=tuple(writes))
        self._write(writes, changed, known[0].tenant)
        if refused is None:
            return TakenPermits(permitted=True, permits=after)
        return TakenPermits(permitted=False, listed=changed[refused].permits.waits(wanted.run_id))

    def give_back(self, run: Run, found: Mapping[Key, Item | None]) -> None:
        """Give back the permits of `run`, and start the waiting runs that get them.

        Args:
            found: As in `take`.
        """
        _, limits = self._wanted(run, found)
        buckets = [
            Bucket(Allowance(tenant=run.tenant, owner=owner), rates, of_tenant=is_shard(owner))
            for owner, rates in limits.items()
        ]
        if buckets:
            optimistic(self.clock, lambda: self._give_back_once(run, buckets))

    def _give_back_once(self, run: Run, buckets: Sequence[Bucket]) -> None:
        now = self.clock.now()
        known = self._read_again(buckets)
        changed = {
            allowance.owner: allowance.permits.give_back(run.id, bucket.limit(allowance, now), now)
            for bucket, allowance in zip(buckets, known, strict=True)
        }
        _, writes = self._changed(known, changed)
        self._write(writes, changed, run.tenant)

    def _wanted(
        self, run: Run, found: Mapping[Key, Item | None]
    ) -> tuple[WaitingRun, Mapping[str, Rates]]:
        """Return the run's entry for the list of waiting runs, and its limits by owner."""
        settings_key = TenantSettings.key_of(run.tenant)
        agent_key = Agent.key_of(run.tenant, run.agent_id)
        pools = pool_keys(run)
        missing = [key for key in (settings_key, agent_key, *pools) if key not in found]
        read = {**found, **(self.table.get_many(missing) if missing else {})}
        settings = self.settings.overridden(
            TenantSettings.from_optional(read.get(settings_key) or None)
        )
        agent = Agent.read(read, agent_key)
        agent = None if agent is not None and agent.deleted_at is not None else agent
        prompt = (agent and agent.max_prompt_tokens) or settings.max_prompt_tokens
        wanted = WaitingRun(
            created_at=run.created_at,
            run_id=run.id,
            agent_id=run.agent_id,
            until=self.clock.now() + WAIT,
            tokens=prompt + settings.reserved_response_tokens,
        )
        agent_limit = (agent and agent.max_concurrent_runs) or settings.max_concurrent_runs
        limits = limits_of(run, rates_of(settings), agent_limit, _known(run, read) if pools else {})
        # Without a limit on the tenant's runs, a run writes the tenant's item only for its charge.
        return wanted, {
            owner: rates for owner, rates in limits.items() if rates.running or not is_shard(owner)
        }

    def _read_again(self, buckets: Sequence[Bucket]) -> list[Allowance]:
        before = [bucket.allowance for bucket in buckets]
        found = self.table.get_many([allowance.key for allowance in before])
        return [
            Allowance.from_optional(found.get(each.key), each.tenant, each.owner) for each in before
        ]

    def _changed(
        self, known: Sequence[Allowance], changed: Mapping[str, ChangedPermits]
    ) -> tuple[dict[str, Allowance], list[Put]]:
        """Return the buckets with the new permits, by owner, and the writes of changed buckets."""
        after: dict[str, Allowance] = {}
        writes: list[Put] = []
        for allowance in known:
            after[allowance.owner] = allowance
            permits: Permits = changed[allowance.owner].permits
            if permits != allowance.permits:
                after[allowance.owner], write = allowance.changed(self.clock.now(), permits=permits)
                writes.append(write)
        return after, writes

    def _write(
        self, writes: Sequence[Put], changed: Mapping[str, ChangedPermits], tenant: str
    ) -> None:
        if len(writes) == 1:
            self.table.write(writes[0])
        elif writes:
            self.table.transact(writes)
        wake(self.dispatch, tenant, _granted(changed))


def _granted(changed: Mapping[str, ChangedPermits]) -> dict[str, Sequence[WaitingRun]]:
    return {owner: change.granted for owner, change in changed.items() if change.granted}


def _is_of_person_alone(known: Sequence[Allowance]) -> bool:
    """Return whether all buckets belong to one person; then only the person's runs write them."""
    return all(each.owner.startswith(OF_USER) for each in known)


def _known(run: Run, found: Mapping[Key, Item | None]) -> dict[str, Allowance]:
    """Return the run's token buckets that are in `found`; a missing item is a full bucket."""
    return {
        owner: Allowance.from_optional(found[key] or None, run.tenant, owner)
        for owner in owners_of_payer(run)
        if (key := Allowance.key_of(run.tenant, owner)) in found
    }


def _without_tokens(run: WaitingRun) -> WaitingRun:
    return run.model_copy(update={"tokens": 0})
