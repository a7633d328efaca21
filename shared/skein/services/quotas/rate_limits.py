"""How much people may send, and models may spend on them: token buckets.

Messages are counted at the door, before anything is stored; the model's tokens once it has given
them, since nobody knows before (`spending`). Each count is one conditional write, and never part of
the transaction that stores a message. In the app whoever is over a limit is refused. On SMS nothing
is refused: the text is kept, one notice says so, and then there is silence until the bucket is full
again.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from skein.errors import Ambiguous, RateLimited
from skein.models.base import rfc3339, stable_hash
from skein.models.limit import (
    DAY,
    HOUR,
    MINUTE,
    Allowance,
    Over,
    Rate,
    What,
    owner_of_shard,
    owner_of_user,
)
from skein.models.overrides import TenantLimits, TenantSettings
from skein.models.storage import Item, Key
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import optimistic, optimistic_on
from skein.settings import Settings

MAX_SHARDS = 16
SHARD_MESSAGES = 600  # in a minute: ten a second, which one item takes with ease
SHARD_TOKENS = 100_000_000  # in a day: an answer or so a second

WORDS: dict[What, str] = {
    "messages": "messages come too fast",
    "tokens": "what models may spend in a day is spent",
}

logger = logging.getLogger(__name__)


class Rates(NamedTuple):
    """The sizes of an owner's two buckets."""

    messages: Rate
    tokens: Rate

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.messages.limited or self.tokens.limited

    @property
    def shards(self) -> int:
        """In how many parts they are kept, so that no item is written too often."""
        wanted = max(self.messages.size // SHARD_MESSAGES, self.tokens.size // SHARD_TOKENS)
        return min(MAX_SHARDS, max(1, wanted))

    @property
    def of_shard(self) -> "Rates":
        """The sizes of one part."""
        messages, tokens = (
            rate._replace(size=max(1, rate.size // self.shards)) if rate.limited else rate
            for rate in self
        )
        return Rates(messages, tokens)


class Refusal(NamedTuple):
    """A bucket does not hold what is wanted of it.

    Attributes:
        wait: How long until it does.
        full_at: When it is full again.
    """

    what: What
    wait: timedelta
    full_at: datetime


class OverLimit(RateLimited):
    """A limit is used up.

    Args:
        refusal: Which, and until when.
    """

    def __init__(self, refusal: Refusal) -> None:
        seconds = max(1, ceil(refusal.wait.total_seconds()))
        super().__init__(WORDS[refusal.what], retry_after_seconds=seconds)
        self.refusal = refusal


class TenantRates(NamedTuple):
    """What one person may use, and what all of a tenant may use together.

    Attributes:
        changes: Chats that one person opens, and members that they add or remove.
    """

    person: Rates
    together: Rates
    changes: Rate


def rates_of(tenant: TenantLimits, settings: Settings) -> TenantRates:
    """The limits that hold in a tenant: its own, else the deployment's."""
    known = settings.model_dump() | tenant.said
    person, together = (
        Rates(
            Rate(known[f"{whose}_messages_per_minute"], MINUTE),
            Rate(known[f"{whose}_tokens_per_day"], DAY),
        )
        for whose in ("user", "tenant")
    )
    return TenantRates(person, together, Rate(known["user_chat_changes_per_hour"], HOUR))


def refusal_of(
    allowance: Allowance, rates: Rates, now: datetime, *, messages: int
) -> Refusal | None:
    """Why these buckets do not give `messages` messages and leave to ask a model, if so."""
    wanted: tuple[tuple[What, Rate, datetime | None, int], ...] = (
        ("tokens", rates.tokens, allowance.tokens_full_at, 1),
        ("messages", rates.messages, allowance.messages_full_at, messages),
    )
    for what, rate, full_at, units in wanted:
        wait = rate.waiting(full_at, units, now)
        if wait and full_at is not None:
            return Refusal(what, wait, full_at)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimiter:
    """Lets people in, and models be asked, as far as their buckets go."""

    table: Table
    clock: Clock
    metrics: Metrics
    settings: Settings

    def admit(self, tenant: str, user_id: str, *, known: Mapping[Key, Item] | None = None) -> None:
        """Take one message from a person's bucket and the tenant's.

        Args:
            tenant: The tenant.
            user_id: The person.
            known: What stands under `admission_keys`, where the caller has read that.

        Raises:
            OverLimit: A bucket does not hold one, or what models may spend is spent.
        """
        refusal = self._ask(tenant, user_id, by_text=False, known=known)
        if isinstance(refusal, Refusal):
            self.metrics.count("OverLimit")
            raise OverLimit(refusal)

    def admit_change(self, tenant: str, user_id: str) -> None:
        """Take one chat opened, or one member added or removed, from a person's bucket.

        Raises:
            RateLimited: The bucket is empty.
        """
        optimistic(self.clock, lambda: self._admit_change_once(tenant, user_id))

    def _admit_change_once(self, tenant: str, user_id: str) -> None:
        said_key, own_key, _ = admission_keys(tenant, user_id)
        found = self.table.get_many([said_key, own_key])
        rate = rates_of(TenantSettings.found_in(found.get(said_key)), self.settings).changes
        if not rate.limited:
            return
        allowance = Allowance.found_in(found.get(own_key), tenant, owner_of_user(user_id))
        now = self.clock.now()
        wait = rate.waiting(allowance.changes_full_at, 1, now)
        if wait:
            self.metrics.count("OverLimit")
            raise RateLimited(
                "chats are opened, and members changed, too fast",
                retry_after_seconds=max(1, ceil(wait.total_seconds())),
            )
        full_at = rate.after(allowance.changes_full_at, 1, now)
        try:
            self.table.write(allowance.becoming(now, changes_full_at=full_at)[1])
        except Ambiguous:
            logger.warning("it is not clear whether a change was counted")

    def admit_text(
        self, tenant: str, user_id: str, *, known: Mapping[Key, Item] | None = None
    ) -> Over | None:
        """Take one text from a person's bucket and the tenant's.

        Args:
            tenant: The tenant.
            user_id: The person.
            known: The items under `admission_keys`, where the caller has read them.

        Returns:
            None if it may wake the agent; else since when, and until when, the person is over a
            limit. While that lasts nothing is taken.
        """
        answer = self._ask(tenant, user_id, by_text=True, known=known)
        if answer is None:
            return None
        self.metrics.count("OverLimit")
        return answer if isinstance(answer, Over) else self.go_over(tenant, user_id, answer)

    def go_over(self, tenant: str, user_id: str, refusal: Refusal) -> Over:
        """Note that a person on SMS is over a limit, unless that is known."""
        return optimistic(self.clock, lambda: self._go_over_once(tenant, user_id, refusal))

    def _go_over_once(self, tenant: str, user_id: str, refusal: Refusal) -> Over:
        now = self.clock.now()
        allowance = self._allowance(tenant, owner_of_user(user_id))
        if allowance.over is not None and now < allowance.over.until:
            return allowance.over
        over = Over(what=refusal.what, since=now, until=refusal.full_at)
        self.table.write(allowance.becoming(now, over=over)[1])
        return over

    def told(self, tenant: str, user_id: str, over: Over, chat_id: str) -> None:
        """Note that a person knows of it, so that nobody tries to tell them again."""
        optimistic(self.clock, lambda: self._told_once(tenant, user_id, over, chat_id))

    def _told_once(self, tenant: str, user_id: str, over: Over, chat_id: str) -> None:
        allowance = self._allowance(tenant, owner_of_user(user_id))
        known = allowance.over
        if known is None or known.since != over.since or chat_id in known.told:
            return
        told = known.model_copy(update={"told": (*known.told, chat_id)})
        self.table.write(allowance.becoming(self.clock.now(), over=told)[1])

    def _ask(
        self,
        tenant: str,
        user_id: str,
        *,
        by_text: bool,
        known: Mapping[Key, Item] | None = None,
    ) -> Refusal | Over | None:
        """Take one message from a person's bucket, then from the tenant's, as far as they hold."""
        keys = admission_keys(tenant, user_id)
        if known is None:
            known = self.table.get_many(keys)
        answer, rates = optimistic_on(
            self.clock,
            known,
            lambda: self.table.get_many(keys),
            lambda found: self._ask_person(tenant, user_id, found, by_text=by_text),
        )
        if answer is not None or not rates.limited:
            return answer
        owner = shard_owner(rates, f"{user_id} {rfc3339(self.clock.now())}")
        first = Allowance.found_in(known.get(keys[2]), tenant, owner)
        return optimistic_on(
            self.clock,
            first if owner == owner_of_shard(0) else None,
            lambda: self._allowance(tenant, owner),
            lambda shared: self._take(shared, rates.of_shard),
        )

    def _ask_person(
        self, tenant: str, user_id: str, found: Mapping[Key, Item], *, by_text: bool
    ) -> tuple[Refusal | Over | None, Rates]:
        said_key, own_key, _ = admission_keys(tenant, user_id)
        rates = rates_of(TenantSettings.found_in(found.get(said_key)), self.settings)
        allowance = Allowance.found_in(found.get(own_key), tenant, owner_of_user(user_id))
        over = allowance.over
        if by_text and over is not None and self.clock.now() < over.until:
            return over, rates.together
        return self._take(allowance, rates.person), rates.together

    def _take(self, allowance: Allowance, rates: Rates) -> Refusal | None:
        """Take one message, by one write, unless there is a reason not to."""
        now = self.clock.now()
        refusal = refusal_of(allowance, rates, now, messages=1)
        if refusal is None and rates.messages.limited:
            full_at = rates.messages.after(allowance.messages_full_at, 1, now)
            try:
                self.table.write(allowance.becoming(now, messages_full_at=full_at)[1])
            except Ambiguous:
                # Nobody is turned away because their message may not have been counted.
                logger.warning("it is not clear whether a message was counted")
        return refusal

    def _allowance(self, tenant: str, owner: str) -> Allowance:
        return Allowance.found_in(self.table.get(Allowance.key_of(tenant, owner)), tenant, owner)


def admission_keys(tenant: str, user_id: str) -> tuple[Key, Key, Key]:
    """The tenant's settings, the person's buckets, and the first shard of the tenant's buckets.

    Nearly all tenants have one shard only, which is then read with the rest.
    """
    owners = owner_of_user(user_id), owner_of_shard(0)
    own, shared = (Allowance.key_of(tenant, owner) for owner in owners)
    return TenantSettings.key_of(tenant), own, shared


def over_now(found: Mapping[Key, Item], tenant: str, user_id: str, now: datetime) -> Over | None:
    """The limit that a person on SMS is over at the moment, from items under `admission_keys`."""
    owner = owner_of_user(user_id)
    item = found.get(Allowance.key_of(tenant, owner))
    over = Allowance.found_in(item, tenant, owner).over
    return over if over is not None and now < over.until else None


def shard_owner(rates: Rates, spread_by: str) -> str:
    """Whose buckets, of those of a tenant, `spread_by` leads to."""
    return owner_of_shard(stable_hash(spread_by) % rates.shards)
