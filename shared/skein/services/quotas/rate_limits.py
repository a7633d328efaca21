"""Rate limits: token buckets for people's messages and for the model's tokens.

Messages are counted on arrival. A message from the app is charged to its sender in the transaction
that stores it. All other messages are charged by a separate conditional write. A tenant's bucket,
which many people share, is never part of a transaction that stores a message. Model tokens are
counted after the answer, because the cost is not known before (`token_budget`).

In the app, a message over a limit is refused. An inbound message, such as an SMS, is never refused:
the message is stored, one notice tells the person, and the agent stays silent until the bucket is
full again.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Literal, NamedTuple

from skein.errors import Ambiguous, RateLimited
from skein.models.common.base import rfc3339, stable_hash
from skein.models.common.reason import Reason
from skein.models.common.storage import Item, Key, Put
from skein.models.config.overrides import LimitSettings, TenantSettings
from skein.models.quotas.limit import (
    DAY,
    HOUR,
    MINUTE,
    Allowance,
    ExceededLimit,
    Rate,
    What,
    owner_of_number,
    owner_of_shard,
    owner_of_user,
)
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import known_first, optimistic
from skein.settings import Settings

MAX_SHARDS = 16
SHARD_MESSAGES = 600  # per minute: 10 writes per second, well below the limit of one item
SHARD_RUNS = 50  # concurrent runs; about 20 writes per second
SHARD_TOKENS = 100_000_000  # per day: about one answer per second

WORDS: dict[What, str] = {
    "messages": "too many messages",
    "tokens": "the daily token limit is used up",
}

Alone = Literal["changes", "reads", "codes", "uploads", "visits"]
"""The actions that have a token bucket of their own, apart from messages and tokens."""

WORDS_ALONE: dict[Alone, str] = {
    "changes": "too many changes of chats, members or the own record",
    "reads": "too many reads",
    "codes": "too many codes for phone numbers",
    "uploads": "too many pictures and files",
    "visits": "too many visits or messages of visitors",
}
CODES_OF_ONE = Rate(5, DAY)  # codes to one number, and for one user
CODES_OF_TENANT = Rate(500, DAY)
OWNER_OF_CODES = "codes"

logger = logging.getLogger(__name__)


def reason_of_limit(what: What) -> Reason:
    """Return the reason that is recorded when a used-up limit delays an answer."""
    return Reason.TOKEN_BUDGET if what == "tokens" else Reason.RATE_LIMITED


class Rates(NamedTuple):
    """The sizes of an owner's buckets for messages and model tokens, and the run limit.

    Attributes:
        running: The maximum number of concurrent runs; 0 for no limit.
    """

    messages: Rate
    tokens: Rate
    running: int = 0

    @property
    def limited(self) -> bool:
        """Whether at least one of the two buckets has a limit."""
        return self.messages.limited or self.tokens.limited

    @property
    def limits_runs(self) -> bool:
        """Whether the tokens of runs, or the number of concurrent runs, are limited."""
        return self.tokens.limited or self.running > 0

    @property
    def shards(self) -> int:
        """The number of shards, chosen so that no item is written too often."""
        wanted = max(
            self.messages.size // SHARD_MESSAGES,
            self.tokens.size // SHARD_TOKENS,
            self.running // SHARD_RUNS,
        )
        return min(MAX_SHARDS, max(1, wanted))

    @property
    def of_shard(self) -> "Rates":
        messages, tokens = (
            rate._replace(size=max(1, rate.size // self.shards)) if rate.limited else rate
            for rate in (self.messages, self.tokens)
        )
        running = max(1, self.running // self.shards) if self.running else 0
        return Rates(messages, tokens, running)


class OverLimit(RateLimited):
    """A token bucket does not hold the wanted amount.

    Args:
        what: The unit of the amount.
        wait: The time until the bucket holds the amount.
        full_at: When the bucket is full again.
    """

    def __init__(self, what: What, wait: timedelta, full_at: datetime) -> None:
        seconds = max(1, ceil(wait.total_seconds()))
        super().__init__(WORDS[what], retry_after_seconds=seconds)
        self.what = what
        self.full_at = full_at
        self.reason = reason_of_limit(what)


class TenantRates(NamedTuple):
    """The limits of one person, and of a whole tenant.

    Attributes:
        person: The limits of one person.
        together: The limits of all people of the tenant together.
        changes: The limit on changes of one person: chats opened, and members added or removed.
        reads: The limit on one person's reads.
        uploads: The limit on one person's pictures and files.
    """

    person: Rates
    together: Rates
    changes: Rate
    reads: Rate
    uploads: Rate


def rates_of(limits: LimitSettings) -> TenantRates:
    return TenantRates(
        Rates(
            Rate(limits.user_messages_per_minute, MINUTE),
            Rate(limits.user_tokens_per_day, DAY),
            limits.user_concurrent_runs,
        ),
        Rates(
            Rate(limits.tenant_messages_per_minute, MINUTE),
            Rate(limits.tenant_tokens_per_day, DAY),
            limits.tenant_concurrent_runs,
        ),
        Rate(limits.user_chat_changes_per_hour, HOUR),
        Rate(limits.user_reads_per_minute, MINUTE),
        Rate(limits.user_uploads_per_day, DAY),
    )


def refusal_of(
    allowance: Allowance, rates: Rates, now: datetime, *, messages: int
) -> OverLimit | None:
    """Return the refusal if a bucket does not hold enough; otherwise None.

    The bucket of tokens must hold at least one token.

    Args:
        allowance: The buckets.
        rates: The sizes of the buckets.
        messages: The number of messages that the bucket of messages must hold; 0 for a model call.
    """
    wanted: tuple[tuple[What, Rate, datetime | None, int], ...] = (
        ("tokens", rates.tokens, allowance.tokens_full_at, 1),
        ("messages", rates.messages, allowance.messages_full_at, messages),
    )
    for what, rate, full_at, units in wanted:
        wait = rate.waiting(full_at, units, now)
        if wait and full_at is not None:
            return OverLimit(what, wait, full_at)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimiter:
    """The service that applies rate limits to people's messages and changes."""

    table: Table
    clock: Clock
    metrics: Metrics
    settings: Settings

    def admit(self, tenant: str, user_id: str) -> None:
        """Take one message from the buckets of a person and the tenant.

        Only calls that store no message use this method.

        Raises:
            OverLimit: A bucket of messages is empty, or a bucket of model tokens is empty.
        """
        refusal = self._ask(tenant, user_id, inbound=False)
        if isinstance(refusal, OverLimit):
            raise self._refused(refusal)

    def admission(
        self, tenant: str, user_id: str, known: Mapping[Key, Item], *, again: bool
    ) -> tuple[Put, ...]:
        """Return the write that charges a message to its sender, for the message's transaction.

        If the tenant's messages are limited, this method charges the tenant with its own write.

        Args:
            user_id: The id of the sender.
            known: The items under `admission_keys`.
            again: Whether an earlier call for the same message has already charged the tenant.

        Returns:
            One write; no write if a person's messages are not limited.

        Raises:
            OverLimit: A bucket of messages is empty, or a bucket of model tokens is empty.
        """
        own, rates = self._of_person(tenant, user_id, known)
        charge = self._charge(own, rates.person)
        if isinstance(charge, OverLimit):
            raise self._refused(charge)
        refusal = None if again else self._ask_tenant(tenant, user_id, rates.together, known)
        if refusal is not None:
            raise self._refused(refusal)
        return (charge,) if charge is not None else ()

    def _refused(self, refusal: OverLimit) -> OverLimit:
        self.metrics.count("OverLimit")
        logger.info("request refused by a limit", extra={"reason": refusal.reason})
        return refusal

    def admit_change(self, tenant: str, user_id: str) -> None:
        """Take one change from a person's bucket of changes.

        These are changes: opening a chat, adding or removing a member, and changing the person's
        own record.

        Raises:
            RateLimited: The bucket is empty.
        """
        optimistic(self.clock, lambda: self._take_alone(tenant, user_id, "changes", 1))

    def admit_reads(self, tenant: str, user_id: str, reads: int) -> None:
        """Take reads from a person's bucket.

        Raises:
            RateLimited: The bucket does not hold enough reads.
        """
        optimistic(self.clock, lambda: self._take_alone(tenant, user_id, "reads", reads))

    def admit_uploads(self, tenant: str, user_id: str, files: int) -> None:
        """Take pictures or files from a person's bucket.

        Raises:
            RateLimited: The bucket does not hold enough uploads.
        """
        optimistic(self.clock, lambda: self._take_alone(tenant, user_id, "uploads", files))

    def change_admission(self, tenant: str, user_id: str) -> Callable[[], None]:
        """Return a function that takes one change when it is first called; later calls do nothing.

        So an operation that is retried after a race is charged only once.
        """
        admitted = False

        def admit() -> None:
            nonlocal admitted
            if not admitted:
                self.admit_change(tenant, user_id)
                admitted = True

        return admit

    def admit_code(self, tenant: str, user_id: str, phone: str) -> None:
        """Take one code from the buckets of the number, of the user and of the tenant.

        Raises:
            RateLimited: One of the buckets is empty.
        """
        for owner, rate in (
            (owner_of_number(phone), CODES_OF_ONE),
            (owner_of_user(user_id), CODES_OF_ONE),
            (OWNER_OF_CODES, CODES_OF_TENANT),
        ):
            self.take(tenant, owner, rate, "codes")

    def take(self, tenant: str, owner: str, rate: Rate, what: Alone) -> None:
        """Take one unit from an owner's bucket.

        Raises:
            RateLimited: The bucket is empty.
        """
        optimistic(
            self.clock,
            lambda: self._take_units(self._allowance(tenant, owner), rate, what, 1),
        )

    def _take_alone(self, tenant: str, user_id: str, what: Alone, units: int) -> None:
        settings_key, own_key, _ = admission_keys(tenant, user_id)
        found = self.table.get_many([settings_key, own_key])
        allowance, rates = self._of_person(tenant, user_id, found)
        by_name = {"changes": rates.changes, "reads": rates.reads, "uploads": rates.uploads}
        rate = by_name[what]
        if rate.limited:
            self._take_units(allowance, rate, what, units)

    def _take_units(self, allowance: Allowance, rate: Rate, what: Alone, units: int) -> None:
        field = f"{what}_full_at"
        now, known = self.clock.now(), getattr(allowance, field)
        wait = rate.waiting(known, units, now)
        if wait:
            self.metrics.count("OverLimit")
            seconds = max(1, ceil(wait.total_seconds()))
            raise RateLimited(WORDS_ALONE[what], retry_after_seconds=seconds)
        full_at = rate.after(known, units, now)
        try:
            self.table.write(allowance.changed(now, **{field: full_at})[1])
        except Ambiguous:
            logger.warning("outcome of counting against a rate limit unknown")

    def admit_inbound(
        self, tenant: str, user_id: str, *, known: Mapping[Key, Item] | None = None
    ) -> ExceededLimit | None:
        """Take one inbound message from the buckets of a person and the tenant.

        Args:
            known: The items under `admission_keys`, if the caller has read them.

        Returns:
            None if the message may trigger the agent. Otherwise the period in which the person is
            over the limit. During the period, inbound messages take nothing from the buckets.
        """
        answer = self._ask(tenant, user_id, inbound=True, known=known)
        if answer is None:
            return None
        self.metrics.count("OverLimit")
        return (
            answer if isinstance(answer, ExceededLimit) else self.go_over(tenant, user_id, answer)
        )

    def go_over(self, tenant: str, user_id: str, refusal: OverLimit) -> ExceededLimit:
        """Record that a sender is over a limit (idempotent until the recorded period ends)."""
        return optimistic(self.clock, lambda: self._go_over_once(tenant, user_id, refusal))

    def _go_over_once(self, tenant: str, user_id: str, refusal: OverLimit) -> ExceededLimit:
        now = self.clock.now()
        allowance = self._allowance(tenant, owner_of_user(user_id))
        if allowance.over is not None and now < allowance.over.until:
            return allowance.over
        over = ExceededLimit(what=refusal.what, since=now, until=refusal.full_at)
        self.table.write(allowance.changed(now, over=over)[1])
        return over

    def record_notice(self, tenant: str, user_id: str, over: ExceededLimit, chat_id: str) -> None:
        """Record that the notice was posted in a chat, so that it is not posted again."""
        optimistic(self.clock, lambda: self._notified_once(tenant, user_id, over, chat_id))

    def _notified_once(self, tenant: str, user_id: str, over: ExceededLimit, chat_id: str) -> None:
        allowance = self._allowance(tenant, owner_of_user(user_id))
        known = allowance.over
        if known is None or known.since != over.since or chat_id in known.notified:
            return
        updated = known.model_copy(update={"notified": (*known.notified, chat_id)})
        self.table.write(allowance.changed(self.clock.now(), over=updated)[1])

    def _ask(
        self,
        tenant: str,
        user_id: str,
        *,
        inbound: bool,
        known: Mapping[Key, Item] | None = None,
    ) -> OverLimit | ExceededLimit | None:
        """Take one message from a person's bucket, then one from the tenant's bucket.

        If the person's bucket refuses, the tenant's bucket is not touched.
        """
        keys = admission_keys(tenant, user_id)
        if known is None:
            known = self.table.get_many(keys)
        found = known_first(known, lambda: self.table.get_many(keys))
        answer, rates = optimistic(
            self.clock, lambda: self._ask_person(tenant, user_id, found(), inbound=inbound)
        )
        return answer or self._ask_tenant(tenant, user_id, rates, known)

    def _ask_tenant(
        self, tenant: str, user_id: str, rates: Rates, known: Mapping[Key, Item]
    ) -> OverLimit | None:
        if not rates.limited:
            return None
        owner = shard_owner(rates, f"{user_id} {rfc3339(self.clock.now())}")
        first = Allowance.from_optional(
            known.get(Allowance.key_of(tenant, owner_of_shard(0))), tenant, owner
        )
        shared = known_first(
            first if owner == owner_of_shard(0) else None, lambda: self._allowance(tenant, owner)
        )
        return optimistic(self.clock, lambda: self._take(shared(), rates.of_shard))

    def _ask_person(
        self, tenant: str, user_id: str, found: Mapping[Key, Item], *, inbound: bool
    ) -> tuple[OverLimit | ExceededLimit | None, Rates]:
        allowance, rates = self._of_person(tenant, user_id, found)
        over = allowance.over
        if inbound and over is not None and self.clock.now() < over.until:
            return over, rates.together
        return self._take(allowance, rates.person), rates.together

    def _of_person(
        self, tenant: str, user_id: str, found: Mapping[Key, Item]
    ) -> tuple[Allowance, TenantRates]:
        settings_key, own_key, _ = admission_keys(tenant, user_id)
        overrides = TenantSettings.from_optional(found.get(settings_key))
        allowance = Allowance.from_optional(found.get(own_key), tenant, owner_of_user(user_id))
        return allowance, rates_of(self.settings.overridden(overrides))

    def _charge(self, allowance: Allowance, rates: Rates) -> OverLimit | Put | None:
        """Return the write that takes one message, or why a bucket refuses; None if unlimited."""
        now = self.clock.now()
        refusal = refusal_of(allowance, rates, now, messages=1)
        if refusal is not None or not rates.messages.limited:
            return refusal
        full_at = rates.messages.after(allowance.messages_full_at, 1, now)
        return allowance.changed(now, messages_full_at=full_at)[1]

    def _take(self, allowance: Allowance, rates: Rates) -> OverLimit | None:
        charge = self._charge(allowance, rates)
        if not isinstance(charge, Put):
            return charge
        try:
            self.table.write(charge)
        except Ambiguous:
            # A message that may not have been charged is admitted anyway.
            logger.warning("outcome of counting a message against a rate limit unknown")
        return None

    def _allowance(self, tenant: str, owner: str) -> Allowance:
        return Allowance.from_optional(
            self.table.get(Allowance.key_of(tenant, owner)), tenant, owner
        )


def admission_keys(tenant: str, user_id: str) -> tuple[Key, Key, Key]:
    """Return the keys of the items that are read to admit a message.

    The items are the tenant's settings, the person's buckets and the tenant's first shard. Nearly
    all tenants have only one shard.
    """
    owners = owner_of_user(user_id), owner_of_shard(0)
    own, shared = (Allowance.key_of(tenant, owner) for owner in owners)
    return TenantSettings.key_of(tenant), own, shared


def over_now(
    found: Mapping[Key, Item], tenant: str, user_id: str, now: datetime
) -> ExceededLimit | None:
    """Return the limit that a person on SMS exceeds now; None if the person exceeds no limit.

    Args:
        found: The items under `admission_keys`.
    """
    owner = owner_of_user(user_id)
    item = found.get(Allowance.key_of(tenant, owner))
    over = Allowance.from_optional(item, tenant, owner).over
    return over if over is not None and now < over.until else None


def shard_owner(rates: Rates, spread_by: str) -> str:
    """Return the owner of the tenant shard that `spread_by` hashes to."""
    return owner_of_shard(stable_hash(spread_by) % rates.shards)
