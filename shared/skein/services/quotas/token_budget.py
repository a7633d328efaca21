"""Limits on model tokens per person and tenant: checked before an answer, charged after it.

The cost of an answer is not known before. So the answers in progress may overdraw a bucket, and
then the next ones wait until the balance is positive again.

A run is charged to the person that it traces back to: the one who wrote or asked, or whose words
led to the agent's message or the plan that triggered the run. Every run is charged to the tenant.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.models.common.storage import Item, Key, Put, Write
from skein.models.config.overrides import LimitSettings
from skein.models.quotas.limit import Allowance, owner_of_shard, owner_of_user
from skein.models.runs.completion import TokenUsage
from skein.models.runs.run import Run
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import known_first, optimistic
from skein.services.quotas.rate_limits import OverLimit, Rates, rates_of, refusal_of, shard_owner

NEARLY = 0.8

logger = logging.getLogger(__name__)


def payer_of(run: Run) -> str | None:
    """Return the id of the person charged for a run's tokens, if any."""
    return run.trigger.user_id


def bucket_key(tenant: str, user_id: str) -> Key:
    """Return the key of a person's buckets."""
    return Allowance.key_of(tenant, owner_of_user(user_id))


def payer_keys(run: Run) -> list[Key]:
    """Return the keys of a run's buckets: the tenant's first shard and the person's.

    Nearly all tenants have only one shard.
    """
    payer = payer_of(run)
    owners = [owner_of_shard(0), *([owner_of_user(payer)] if payer is not None else [])]
    return [Allowance.key_of(run.tenant, owner) for owner in owners]


def found_allowances(run: Run, found: Mapping[Key, Item]) -> dict[str, Allowance]:
    """Return the buckets found under `payer_keys`, by their owners."""
    allowances = (Allowance.from_item(found[key]) for key in payer_keys(run) if key in found)
    return {allowance.owner: allowance for allowance in allowances}


@dataclass(slots=True)
class _Bucket:
    """The buckets of one owner, as last read or written.

    Attributes:
        part: The part of an answer's tokens that the owner pays.
    """

    allowance: Allowance
    rates: Rates
    of_tenant: bool = False
    part: float = 1.0


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The token buckets that one activation is charged to."""

    table: Table
    clock: Clock
    metrics: Metrics
    buckets: Sequence[_Bucket]

    def check(self) -> None:
        """Check that the model may be called.

        Raises:
            OverLimit: A bucket is empty.
        """
        now = self.clock.now()
        for bucket in self.buckets:
            refusal = refusal_of(bucket.allowance, bucket.rates, now, messages=0)
            if refusal is not None:
                self.metrics.count("OverLimit")
                raise refusal

    @property
    def first_refusal(self) -> OverLimit | None:
        """Why the first owner's buckets refuse a model call, if they do."""
        for bucket in self.buckets[:1]:
            return refusal_of(bucket.allowance, bucket.rates, self.clock.now(), messages=0)
        return None

    def charge(self, usage: TokenUsage, counters: Sequence[Write]) -> None:
        """Charge an answer's tokens to the buckets, in the transaction that counts them.

        Buckets that have changed since they were read are read again.

        Args:
            usage: The tokens.
            counters: The unconditional writes that count them.

        Raises:
            Transient: The table is out of reach; nothing was counted or charged.
        """
        tokens = usage.input_tokens + usage.output_tokens
        known = known_first([bucket.allowance for bucket in self.buckets], self._read)

        def charge_once() -> None:
            now = self.clock.now()
            charges = [
                self._take(*each, tokens, now) for each in zip(self.buckets, known(), strict=True)
            ]
            self.table.transact([*counters, *charges])

        optimistic(self.clock, charge_once)
        for bucket in self.buckets:
            if bucket.of_tenant:
                self._warn(bucket, tokens)

    def _read(self) -> list[Allowance]:
        before = [bucket.allowance for bucket in self.buckets]
        found = self.table.get_many([allowance.key for allowance in before])
        return [
            Allowance.from_optional(found.get(each.key), each.tenant, each.owner) for each in before
        ]

    @staticmethod
    def _take(bucket: _Bucket, known: Allowance, tokens: int, now: datetime) -> Put:
        paid = round(tokens * bucket.part)
        full_at = bucket.rates.tokens.after(known.tokens_full_at, paid, now)
        bucket.allowance, write = known.changed(now, tokens_full_at=full_at)
        return write

    def _warn(self, bucket: _Bucket, tokens: int) -> None:
        """Count the charge that takes a tenant's use to 80 % of its limit."""
        rate = bucket.rates.tokens
        used = rate.used(bucket.allowance.tokens_full_at, self.clock.now())
        if used >= NEARLY * rate.size > used - tokens:
            logger.warning(
                "tenant has used 80 % of its daily tokens",
                extra={"tenant": bucket.allowance.tenant},
            )
            self.metrics.count("TenantTokensNearLimit")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudgets:
    """The service that opens the token budgets of runs."""

    table: Table
    clock: Clock
    metrics: Metrics

    def shared(
        self,
        tenant: str,
        parts: Mapping[str, float],
        found: Mapping[Key, Item],
        limits: LimitSettings,
    ) -> TokenBudget:
        """Return the token budget of background work, which several people pay.

        Args:
            parts: The part of each person, by id, most first; all parts together are 1.
            found: The people's buckets, as read under `bucket_key`.
            limits: The limits that apply to the tenant.
        """
        rates = rates_of(limits).person
        buckets = []
        for user_id, part in parts.items() if rates.tokens.limited else ():
            item = found.get(bucket_key(tenant, user_id))
            own = Allowance.from_optional(item, tenant, owner_of_user(user_id))
            buckets.append(_Bucket(own, rates, part=part))
        return TokenBudget(self.table, self.clock, self.metrics, buckets)

    def budget(
        self, run: Run, known: Mapping[str, Allowance], limits: LimitSettings
    ) -> TokenBudget:
        """Return the token budget of one activation.

        Args:
            run: The activation's run.
            known: The buckets that were read, by their owners; see `found_allowances`.
            limits: The limits that apply to the tenant.
        """
        rates = rates_of(limits)
        buckets = []
        payer = payer_of(run)
        if payer is not None and rates.person.tokens.limited:
            owner = owner_of_user(payer)
            own = known.get(owner) or Allowance(tenant=run.tenant, owner=owner)
            buckets.append(_Bucket(own, rates.person))
        if rates.together.tokens.limited:
            owner = shard_owner(rates.together, run.id)
            if owner == owner_of_shard(0):
                shared = known.get(owner) or Allowance(tenant=run.tenant, owner=owner)
            else:
                item = self.table.get(Allowance.key_of(run.tenant, owner))
                shared = Allowance.from_optional(item, run.tenant, owner)
            buckets.append(_Bucket(shared, rates.together.of_shard, of_tenant=True))
        return TokenBudget(self.table, self.clock, self.metrics, buckets)
