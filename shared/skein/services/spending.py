"""What models may be asked on behalf of a person and a tenant: checked before, charged after.

Nobody knows beforehand what an answer costs, so a bucket may be overdrawn by the answers that are
under way; what was too much is waited for. Answers to a person are the person's: those of runs that
a person's message or wish has started. All runs are the tenant's.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skein.errors import Transient
from skein.models.completion import TokenUsage
from skein.models.limit import Allowance, owner_of_user
from skein.models.overrides import TenantLimits
from skein.models.run import Run
from skein.models.storage import Item, Key
from skein.ports import Clock, Metrics, Table
from skein.services.limits import OverLimit, Rates, rates_of, refusal_of, shard_owner
from skein.services.retrying import optimistic_on
from skein.settings import Settings

logger = logging.getLogger(__name__)


def payer_of(run: Run) -> str | None:
    """The id of the person whose tokens a run uses, if it is anybody's."""
    return run.trigger.user_id


def payer_keys(run: Run) -> list[Key]:
    """Where the buckets of the person stand whose tokens a run uses."""
    payer = payer_of(run)
    return [Allowance.key_of(run.tenant, owner_of_user(payer))] if payer is not None else []


def found_allowance(run: Run, found: Mapping[Key, Item]) -> Allowance | None:
    """The buckets of the person who pays, if they were found under `payer_keys`."""
    items = (found[key] for key in payer_keys(run) if key in found)
    return next(map(Allowance.from_item, items), None)


@dataclass(slots=True)
class _Purse:
    """One owner's buckets, as last known."""

    allowance: Allowance
    rates: Rates


class Account:
    """The buckets from which one activation takes its tokens."""

    def __init__(
        self, table: Table, clock: Clock, metrics: Metrics, purses: Sequence[_Purse]
    ) -> None:
        self._table = table
        self._clock = clock
        self._metrics = metrics
        self._purses = purses

    def check(self) -> None:
        """Find out whether a model may be asked.

        Raises:
            OverLimit: A bucket is empty.
        """
        now = self._clock.now()
        for purse in self._purses:
            refusal = refusal_of(purse.allowance, purse.rates, now, messages=0)
            if refusal is not None:
                self._metrics.count("OverLimit")
                raise OverLimit(refusal)

    def charge(self, usage: TokenUsage) -> None:
        """Take an answer's tokens. What cannot be written is given up: no answer waits for it."""
        tokens = usage.input_tokens + usage.output_tokens
        for purse in self._purses:
            try:
                self._take(purse, tokens)
            except Transient:
                owner = purse.allowance.owner.partition(":")[0]
                logger.warning(
                    "tokens not charged", extra={"tenant": purse.allowance.tenant, "owner": owner}
                )

    def _take(self, purse: _Purse, tokens: int) -> None:
        """Take tokens on what is known and, if that is out of date, on what is read anew."""
        buckets = purse.allowance

        def take(known: Allowance) -> None:
            now = self._clock.now()
            full_at = purse.rates.tokens.after(known.tokens_full_at, tokens, now)
            purse.allowance, write = known.becoming(now, tokens_full_at=full_at)
            self._table.write(write)

        def read() -> Allowance:
            item = self._table.get(buckets.key)
            return Allowance.found_in(item, buckets.tenant, buckets.owner)

        optimistic_on(self._clock, buckets, read, take)


class Spending:
    """Opens the accounts of runs."""

    def __init__(self, *, table: Table, clock: Clock, metrics: Metrics, settings: Settings) -> None:
        self._table = table
        self._clock = clock
        self._metrics = metrics
        self._settings = settings

    def account(self, run: Run, own: Allowance | None, tenant: TenantLimits) -> Account:
        """The account of one activation.

        Args:
            run: Of which run.
            own: The buckets of the person who pays, if they have been used lately.
            tenant: What the tenant says of its limits.
        """
        rates = rates_of(tenant, self._settings)
        purses = []
        payer = payer_of(run)
        if payer is not None and rates.person.tokens.limited:
            fresh = Allowance(tenant=run.tenant, owner=owner_of_user(payer))
            purses.append(_Purse(own or fresh, rates.person))
        if rates.together.tokens.limited:
            owner = shard_owner(rates.together, run.id)
            item = self._table.get(Allowance.key_of(run.tenant, owner))
            shared = Allowance.found_in(item, run.tenant, owner)
            purses.append(_Purse(shared, rates.together.of_shard))
        return Account(self._table, self._clock, self._metrics, purses)
