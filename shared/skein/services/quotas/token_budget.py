"""Limits on model tokens per person and tenant: checked before an answer, charged after it.

The cost of an answer is not known in advance. So a person's run reserves an estimate before its
claim, together with its permit (`concurrency_limit`). The charge of the last answer replaces the
estimate and gives the permits back. A run may begin as long as the person's bucket holds more than
the reservations of other runs. So the last run that begins may overdraw the bucket. A tenant's
bucket has no reservations, so all answers in progress may overdraw it.

A run is charged to the tenant, and to the person who caused it. Usually, this is the person who
wrote the message or asked for the run. If an agent's message or a plan triggered the run, the run
is charged to the person whose message led to that message or plan.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skein.errors import Transient
from skein.models.common.base import VISITOR
from skein.models.common.storage import Item, Key, Write
from skein.models.config.overrides import LimitSettings
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.limit import (
    DAY,
    MINUTE,
    Allowance,
    Rate,
    owner_of_agent,
    owner_of_pool,
    owner_of_shard,
    owner_of_user,
)
from skein.models.quotas.permits import PermitLimit, WaitingRun
from skein.models.runs.completion import TokenUsage
from skein.models.runs.run import Run
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import known_first, optimistic
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.rate_limits import (
    OverLimit,
    Rates,
    TenantRates,
    rates_of,
    refusal_of,
    shard_owner,
)

NEARLY = 0.8
OF_USER, OF_SHARD = owner_of_user(""), "all:"

logger = logging.getLogger(__name__)


def payer_of(run: Run) -> str | None:
    """Return the id of the person charged for a run's tokens; None if no person is charged."""
    return run.trigger.user_id


def bucket_keys(tenant: str, user_id: str) -> list[Key]:
    return [Allowance.key_of(tenant, owner) for owner in owners_of_person(user_id)]


def payer_keys(run: Run) -> list[Key]:
    """Return the bucket keys of the tenant's first shard, the charged person, and a visitor's pool.

    Nearly all tenants have only one shard.
    """
    return [Allowance.key_of(run.tenant, owner) for owner in owners_of_payer(run)]


def owners_of_payer(run: Run) -> list[str]:
    """Return the owners of the buckets under `payer_keys`, in the same order."""
    payer = payer_of(run)
    return [owner_of_shard(0), *(owners_of_person(payer) if payer is not None else [])]


def owners_of_person(user_id: str) -> list[str]:
    """Return the owners of a person's bucket and, for a visitor, of the pool's bucket."""
    return [owner_of_user(user_id), *pools_of(user_id)]


def pools_of(user_id: str) -> list[str]:
    """Return the owner of the bucket that a visitor shares (a pool); empty for anyone else.

    The id of a visitor names the pool: `vis_<pool>_<ulid>`.
    """
    return [owner_of_pool(user_id.split("_")[1])] if user_id.startswith(VISITOR) else []


def pool_keys(run: Run) -> list[Key]:
    """Return the key of the bucket of the pool to which a run's person belongs, if any."""
    return [Allowance.key_of(run.tenant, owner) for owner in pools_of(payer_of(run) or "")]


def pool_rates(allowance: Allowance | None) -> Rates | None:
    """Return the limit of a pool's bucket, which stores its own size; None without a limit."""
    size = allowance.tokens_per_day if allowance is not None else None
    return Rates(Rate(0, MINUTE), Rate(size, DAY)) if size is not None else None


def found_allowances(run: Run, found: Mapping[Key, Item]) -> dict[str, Allowance]:
    """Return the buckets that were read under `payer_keys`, by owner."""
    allowances = Allowance.read_each(found, payer_keys(run))
    return {allowance.owner: allowance for allowance in allowances}


class ReservedTokens(Transient):
    """Other runs of the person have reserved the remaining tokens, so the run is deferred."""


@dataclass(slots=True)
class Bucket:
    """The buckets and permits of one owner, as last read or written.

    Attributes:
        part: The share of an answer's tokens that is charged to this owner, from 0 to 1.
    """

    allowance: Allowance
    rates: Rates
    of_tenant: bool = False
    part: float = 1.0

    def limit(self, allowance: Allowance, now: datetime) -> PermitLimit:
        """Return the limits for granting permits; a tenant's tokens are not among them."""
        rate = self.rates.tokens
        if self.of_tenant or not rate.limited:
            return PermitLimit(self.rates.running)
        return PermitLimit(self.rates.running, rate.size - rate.used(allowance.tokens_full_at, now))


def limits_of(
    run: Run,
    rates: TenantRates,
    agent_limit: int | None,
    known: Mapping[str, Allowance],
) -> dict[str, Rates]:
    """Return the limits that apply to a working run, by owner.

    The owners are the charged person, their pool, a shard of the tenant, and the agent. Owners
    without a limit are left out.

    Args:
        known: The buckets that were read, by owner.
    """
    found: dict[str, Rates] = {}
    payer = payer_of(run)
    if payer is not None and rates.person.limits_runs:
        found[owner_of_user(payer)] = rates.person
    for owner in pools_of(payer or ""):
        pool = pool_rates(known.get(owner))
        if pool is not None:
            found[owner] = pool
    if rates.together.limits_runs:
        found[shard_owner(rates.together, run.id)] = rates.together.of_shard
    if agent_limit is not None:
        found[owner_of_agent(run.agent_id)] = Rates(Rate(0, MINUTE), Rate(0, DAY), agent_limit)
    return found


def buckets_of(
    table: Table, tenant: str, limits: Mapping[str, Rates], known: Mapping[str, Allowance]
) -> list[Bucket]:
    """Return the buckets of the owners in `limits`; buckets that are not in `known` are read."""
    missing = [Allowance.key_of(tenant, owner) for owner in limits if owner not in known]
    found = table.get_many(missing) if missing else {}
    buckets = []
    for owner, rates in limits.items():
        item = found.get(Allowance.key_of(tenant, owner))
        allowance = known.get(owner) or Allowance.from_optional(item, tenant, owner)
        buckets.append(Bucket(allowance, rates, of_tenant=is_shard(owner)))
    return buckets


def is_shard(owner: str) -> bool:
    return owner.startswith(OF_SHARD)


def wake(dispatch: Dispatch, tenant: str, granted: Mapping[str, Sequence[WaitingRun]]) -> None:
    """Send the jobs of waiting runs that received a permit.

    Args:
        granted: The runs, by the owner of the permit.
    """
    jobs = {
        run.run_id: RunJob(
            tenant=tenant,
            run_id=run.run_id,
            agent_id=run.agent_id,
            user_id=owner.removeprefix(OF_USER) if owner.startswith(OF_USER) else None,
        )
        for owner, runs in granted.items()
        for run in runs
    }
    if jobs:
        dispatch.send(list(jobs.values()))


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The token buckets to which one activation is charged, and the permits of its run.

    Attributes:
        run_id: The run; None for background work, which has no permits.
    """

    table: Table
    clock: Clock
    metrics: Metrics
    dispatch: Dispatch
    tenant: str
    buckets: Sequence[Bucket]
    run_id: str | None = None

    def check(self) -> None:
        """Check that the model may be called.

        Raises:
            OverLimit: A bucket is empty.
            ReservedTokens: Other runs have reserved the remaining tokens of a person's bucket.
        """
        now = self.clock.now()
        for bucket in self.buckets:
            refusal = refusal_of(bucket.allowance, bucket.rates, now, messages=0)
            if refusal is not None:
                self.metrics.count("OverLimit")
                raise refusal
            permit = bucket.allowance.permits.held.get(self.run_id or "")
            tokens = bucket.limit(bucket.allowance, now).tokens
            if permit is not None and tokens is not None and not permit.tokens:
                raise ReservedTokens("other runs have reserved the person's remaining tokens")

    @property
    def first_refusal(self) -> OverLimit | None:
        """Why the first owner's buckets refuse a model call; None if they allow the call."""
        for bucket in self.buckets[:1]:
            return refusal_of(bucket.allowance, bucket.rates, self.clock.now(), messages=0)
        return None

    def charge(
        self, usage: TokenUsage, counters: Sequence[Write], *, settles: bool = False
    ) -> None:
        """Charge an answer's tokens to the buckets, in the transaction that counts them.

        Buckets that have changed since they were read are read again.

        Args:
            usage: The tokens.
            counters: The unconditional writes that count the tokens.
            settles: Whether the run has ended, so that its permits and reservation are given back.

        Raises:
            Transient: The table is out of reach; nothing was counted or charged.
        """
        tokens = usage.tokens
        known = known_first([bucket.allowance for bucket in self.buckets], self._read)

        def charge_once() -> dict[str, Sequence[WaitingRun]]:
            granted: dict[str, Sequence[WaitingRun]] = {}
            writes = []
            for bucket, allowance in zip(self.buckets, known(), strict=True):
                changes, woken = self._changes(bucket, allowance, tokens, settles=settles)
                granted[allowance.owner] = woken
                bucket.allowance = allowance
                if changes:
                    bucket.allowance, write = allowance.changed(self.clock.now(), **changes)
                    writes.append(write)
            self.table.transact([*counters, *writes])
            return granted

        wake(self.dispatch, self.tenant, optimistic(self.clock, charge_once))
        for bucket in self.buckets:
            if not bucket.allowance.owner.startswith(OF_USER) and bucket.rates.tokens.limited:
                self._warn(bucket, tokens)

    def _read(self) -> list[Allowance]:
        before = [bucket.allowance for bucket in self.buckets]
        found = self.table.get_many([allowance.key for allowance in before])
        return [
            Allowance.from_optional(found.get(each.key), each.tenant, each.owner) for each in before
        ]

    def _changes(
        self, bucket: Bucket, known: Allowance, tokens: int, *, settles: bool
    ) -> tuple[dict[str, Any], Sequence[WaitingRun]]:
        """Return the attributes that a charge changes, and the waiting runs that get its permit."""
        now, changes = self.clock.now(), dict[str, Any]()
        charged = known
        if bucket.rates.tokens.limited:
            paid = round(tokens * bucket.part)
            full_at = bucket.rates.tokens.after(known.tokens_full_at, paid, now)
            changes["tokens_full_at"] = full_at
            charged = known.model_copy(update={"tokens_full_at": full_at})
        permits, limit = known.permits, bucket.limit(charged, now)
        if self.run_id is None or self.run_id not in permits.held:
            return changes, ()
        if settles:
            change = permits.give_back(self.run_id, limit, now)
            return changes | {"permits": change.permits}, change.granted
        others = permits.reserved(without=self.run_id)
        if limit.tokens is not None and others and limit.tokens <= others:
            changes["permits"] = permits.without_tokens(self.run_id)
        return changes, ()

    def _warn(self, bucket: Bucket, tokens: int) -> None:
        """Count a warning if a charge takes the use of a tenant or a pool to 80 % of its limit."""
        rate = bucket.rates.tokens
        used = rate.used(bucket.allowance.tokens_full_at, self.clock.now())
        if used >= NEARLY * rate.size > used - tokens:
            allowance = bucket.allowance
            logger.warning(
                "80 % of the daily tokens are used",
                extra={"tenant": allowance.tenant, "owner": allowance.owner},
            )
            if allowance.tokens_per_day is not None:
                self.metrics.count("VisitTokensNearLimit")
            else:
                self.metrics.count("TenantTokensNearLimit")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudgets:
    """The service that opens the token budgets of runs."""

    table: Table
    clock: Clock
    metrics: Metrics
    dispatch: Dispatch

    def shared(
        self,
        tenant: str,
        parts: Mapping[str, float],
        found: Mapping[Key, Item],
        limits: LimitSettings,
    ) -> TokenBudget:
        """Return the token budget of background work, which is charged to several people.

        Args:
            parts: The share of each person, by id, largest first; the shares add up to 1.
            found: The buckets of the people and their pools, as read under `bucket_keys`.
            limits: The limits that apply to the tenant.
        """
        rates = rates_of(limits).person
        buckets = []
        for user_id, part in parts.items():
            for owner in owners_of_person(user_id):
                item = found.get(Allowance.key_of(tenant, owner))
                allowance = Allowance.from_optional(item, tenant, owner)
                limit = rates if owner == owner_of_user(user_id) else pool_rates(allowance)
                if limit is not None and limit.tokens.limited:
                    buckets.append(Bucket(allowance, limit, part=part))
        return TokenBudget(self.table, self.clock, self.metrics, self.dispatch, tenant, buckets)

    def budget(
        self,
        run: Run,
        known: Mapping[str, Allowance],
        limits: LimitSettings,
        *,
        agent_limit: int | None = None,
    ) -> TokenBudget:
        """Return the token budget of one activation.

        Args:
            run: The activation's run.
            known: The buckets that were read, by owner; see `found_allowances`. If the bucket of
                the person or of the tenant's first shard is missing, it counts as full.
            limits: The limits that apply to the tenant.
            agent_limit: The concurrency limit of the agent; None for no limit.
        """
        first = {owner: Allowance(tenant=run.tenant, owner=owner) for owner in owners_of_payer(run)}
        read = first | dict(known)
        found = limits_of(run, rates_of(limits), agent_limit, read)
        buckets = buckets_of(self.table, run.tenant, found, read)
        return TokenBudget(
            self.table, self.clock, self.metrics, self.dispatch, run.tenant, buckets, run.id
        )
