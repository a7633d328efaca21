"""Count a tenant's tokens per day, and limit background work to its budget.

A question of background work is charged to the people whose messages it includes. The main author
is the person who wrote most of these messages. If the main author has used a fifth of the budget,
and other people have used tokens today or yesterday, the question waits until the next day. A
question also waits until the token limit of its main author allows a model call.

The budget covers summaries and memories of one day (UTC). Skein compares it with the day's usage
counters, which are written in any case. The check comes before each model call, so the calls in
progress may exceed the budget. When the budget is used up, work waits: its due pointer moves to the
next day.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from skein.errors import SkeinError, Transient
from skein.models.common.base import stable_hash
from skein.models.common.storage import Absent, Below, Item, Key, Query, Update, any_of
from skein.models.config.overrides import TenantSettings
from skein.models.quotas.usage import (
    BACKGROUND,
    CALLS,
    NO_WORDS,
    OF_USER,
    TOLD,
    USAGE_SHARDS,
    DayUsage,
    Payer,
    Words,
    agent_usage_key,
    channel_counts,
    model_counts,
    tool_counts,
    unsharded,
    usage_expires_at,
    usage_key,
    usage_partitions,
    user_usage_key,
)
from skein.models.runs.completion import TokenUsage
from skein.ports import Clock, Metrics, Table
from skein.services.config.pauses import is_paused, keys_of_pauses
from skein.services.quotas.token_budget import TokenBudget, TokenBudgets, bucket_keys
from skein.settings import Settings

DAY = timedelta(days=1)
SHARE = 0.2  # of a tenant's daily background tokens, for one person while others have work
PAUSED_FOR = timedelta(hours=1)  # until paused background work is tried again
SPREAD_SECONDS = 3_600  # the window, from midnight, over which waiting chats are spread
UNKNOWN_MODEL = "unknown"
NO_PAYER = Payer()
COUNTS = ("answers", "input_tokens", "output_tokens", "cached_tokens")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounters:
    """The service that counts a tenant's tokens by day (UTC).

    Each day has 16 partitions, so that no partition becomes a hot key. Each partition has counters
    of the tenant, of its agents and of some of its people.
    """

    table: Table
    clock: Clock
    metrics: Metrics

    @classmethod
    def keys_of_day(cls, tenant: str, day: date) -> list[Key]:
        return [usage_key(tenant, f"{day:%Y-%m-%d}", shard) for shard in range(USAGE_SHARDS)]

    def add(
        self,
        tenant: str,
        usage: TokenUsage,
        *,
        spread_by: str,
        model: str = UNKNOWN_MODEL,
        payer: Payer = NO_PAYER,
        background: bool = False,
        words: Words = NO_WORDS,
        reserved: int = 0,
        budget: TokenBudget | None = None,
        settles: bool = False,
    ) -> None:
        """Add the cost of one model answer to the counters of today.

        One transaction writes the counters of the tenant, the agent and the person, and charges the
        token limits, so the figures always agree. An answer never waits for a statistic or a
        charge: counts that cannot be written are dropped and reported by the metric `UsageLost`.
        The runs have the exact figures.

        Args:
            usage: The tokens of the answer.
            spread_by: A run's id, which selects the counter.
            model: The model that answered.
            payer: The agent and the person for whom the answer is counted.
            background: Whether the tokens also count against the budget of background work.
            words: The people who share the charge for background work, instead of one payer.
            reserved: The tokens that `reserve` counted before the answer.
            budget: The token limits to charge; None to charge nothing.
            settles: Whether the run has ended, so that its reservation and permits are given back.
        """
        day = f"{self.clock.now():%Y-%m-%d}"
        shard = stable_hash(spread_by) % USAGE_SHARDS
        key = usage_key(tenant, day, shard)
        counts = {"answers": 1} | usage.model_dump(exclude={"reasoning_tokens"})
        if background:
            counts[BACKGROUND] = usage.tokens
        self.metrics.count("ModelTokens", usage.tokens)
        named, of_model = model_counts(model, {CALLS: 1} | usage.counts())
        by_payer = self._by_payer(tenant, payer, shard, named, of_model)
        together = self._by_words(tenant, words, usage, model, reserved)
        counters = [Update(key, add=counts), *by_payer, *together]
        try:
            if budget is None:
                self.table.transact(counters)
            else:
                budget.charge(usage, counters, settles=settles)
        except Transient:
            counts.pop(BACKGROUND, None)
            self._lost(tenant, counts)

    def add_texts(
        self, tenant: str, payer: Payer, channel: str, *, texts: int, units: int, spread_by: str
    ) -> None:
        """Add messages that the provider accepted to the counters of today.

        A count that cannot be written is dropped, as in `add`.

        Args:
            payer: The agent that wrote the message, and the person to whose limits it is charged.
            channel: The channel of the messages.
            texts: The number of messages.
            units: Their units, such as segments.
            spread_by: The delivery's id, which selects the counter.
        """
        counts = channel_counts(channel, texts, units)
        shard = stable_hash(spread_by) % USAGE_SHARDS
        try:
            self.table.transact(self._by_payer(tenant, payer, shard, {}, counts))
        except Transient:
            self._lost(tenant, counts)

    def add_tools(
        self, tenant: str, payer: Payer, names: Iterable[str], cost: float = 0, *, spread_by: str
    ) -> None:
        """Add calls of the tenant's tools to the counters of today.

        A count that cannot be written is dropped, as in `add`.

        Args:
            payer: The agent that calls the tools, and the person for whom it works.
            names: The name of the tool of each call.
            cost: The total cost of the calls.
            spread_by: The run's id, which selects the counter.
        """
        counts = tool_counts(names, cost)
        shard = stable_hash(spread_by) % USAGE_SHARDS
        try:
            self.table.transact(self._by_payer(tenant, payer, shard, {}, counts))
        except Transient:
            self._lost(tenant, counts)

    def telling(self, tenant: str, payer: Payer, millibits: int, *, most: int) -> Update:
        """Return the write that counts how much information a private run sends to services.

        The amount is counted for the person, or for the agent if the run works for no person. The
        write fails if today's count would exceed `most`.

        Args:
            payer: The agent, and the person for whom it works.
            millibits: The amount, in thousandths of a bit.
            most: The limit of a day, in thousandths of a bit.
        """
        now = self.clock.now()
        key = agent_usage_key(tenant, now, payer.agent_id, 0)
        if payer.user_id is not None:
            key = user_usage_key(tenant, now, payer.user_id)
        key = unsharded(key)
        fields = {
            "counted_for": payer.user_id or payer.agent_id or "",
            "expires_at": usage_expires_at(now),
        }
        room = any_of(Absent(TOLD), Below(TOLD, most - millibits + 1))
        return Update(key, set=fields, add={TOLD: millibits}, condition=room)

    def tool_calls(self, tenant: str, payer: Payer, name: str) -> int:
        """Return how often a tool was called today.

        The calls for the person and the calls by the agent are counted separately, and the higher
        count is returned. This takes one batch of reads.
        """
        now = self.clock.now()
        agents = [
            agent_usage_key(tenant, now, payer.agent_id, shard) for shard in range(USAGE_SHARDS)
        ]
        people = [user_usage_key(tenant, now, payer.user_id)] if payer.user_id is not None else []
        groups = [[*keys, *map(unsharded, keys)] for keys in (agents, people)]
        found = self.table.get_many([key for keys in groups for key in keys])
        [count] = tool_counts([name])
        return max(
            sum(int(found[key].get(count, 0)) for key in keys if key in found) for keys in groups
        )

    def _by_payer(
        self,
        tenant: str,
        payer: Payer,
        shard: int,
        named: Mapping[str, str],
        counts: Mapping[str, int],
    ) -> list[Update]:
        now = self.clock.now()
        expires = {"expires_at": usage_expires_at(now)}
        agent = agent_usage_key(tenant, now, payer.agent_id, shard)
        fields = {**expires, **named}
        writes = [Update(agent, set={"counted_for": payer.agent_id or "", **fields}, add=counts)]
        if payer.user_id is not None:
            person = user_usage_key(tenant, now, payer.user_id)
            writes.append(Update(person, set={"counted_for": payer.user_id, **fields}, add=counts))
        return writes

    def reserve(self, tenant: str, words: Words, tokens: int) -> None:
        """Count the tokens of a question for its main author, before the answer.

        So concurrent questions cannot overdraw the main author's share. If a worker dies, the
        tokens stay counted. A negative number takes the tokens back.

        Raises:
            Transient: The table is out of reach.
        """
        if words.main is None:
            return
        now = self.clock.now()
        fields = {"counted_for": words.main, "expires_at": usage_expires_at(now)}
        key = user_usage_key(tenant, now, words.main)
        self.table.write(Update(key, set=fields, add={BACKGROUND: tokens}))

    def _by_words(
        self, tenant: str, words: Words, usage: TokenUsage, model: str, reserved: int
    ) -> Iterator[Update]:
        """Yield the writes that divide the tokens of an answer among people.

        The number of calls is counted only for the main author.
        """
        now = self.clock.now()
        for user_id, part in words.parts.items():
            tokens = usage.counts(part)
            calls = 1 if user_id == words.main else 0
            named, counts = model_counts(model, {CALLS: calls} | tokens)
            counts[BACKGROUND] = tokens["input_tokens"] + tokens["output_tokens"]
            if user_id == words.main:
                counts[BACKGROUND] -= reserved
            fields = {"counted_for": user_id, "expires_at": usage_expires_at(now), **named}
            yield Update(user_usage_key(tenant, now, user_id), set=fields, add=counts)

    def _lost(self, tenant: str, counts: Mapping[str, int]) -> None:
        logger.warning("failed to count usage", extra={"tenant": tenant, **counts})
        self.metrics.count("UsageLost")

    def of_day(self, tenant: str, day: date | None = None) -> DayUsage:
        """Return the usage of a tenant's agents on a day (UTC); None for today."""
        day = day or self.clock.now().date()
        items = self.table.get_many(self.keys_of_day(tenant, day)).values()
        counts = {name: sum(int(item.get(name, 0)) for item in items) for name in COUNTS}
        return DayUsage(day=day, **counts)


class OverBudget(SkeinError):
    """A tenant's background work has used up its tokens of the day, or is paused."""


class PersonOverBudget(OverBudget):
    """The main author of a question has used up their share or their token limit.

    Attributes:
        until: When to try again.
    """

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class BackgroundPause(OverBudget):
    """The background work of a tenant or of the stack is paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The service that decides whether background work may call a model."""

    table: Table
    clock: Clock
    metrics: Metrics
    settings: Settings
    token_budgets: TokenBudgets

    def spent(self, tenant: str) -> bool:
        """Return whether a tenant's background work has used up its tokens of the day.

        This takes one batch of reads.
        """
        return self._spent(tenant, self._read(tenant))

    def check(
        self, tenant: str, words: Words = NO_WORDS, *, size: int = 0, spread_by: str = ""
    ) -> TokenBudget:
        """Check that background work may call a model once.

        This takes one batch of reads. If the main author has used up their share, queries
        follow until another person is found: one for each partition of two days, at most 34.

        Args:
            words: The people whose messages the question includes.
            size: The approximate number of tokens of the question.
            spread_by: The id that selects the time of the next try, if the main author has used up
                their share.

        Returns:
            The token limits to which the caller charges the answer.

        Raises:
            BackgroundPause: Background work is paused.
            PersonOverBudget: The main author has used up their share or their token limit.
            OverBudget: The budget of the day is used up.
        """
        found = self._read(tenant, words)
        if is_paused("background", tenant, tenant, found):
            logger.info("background work postponed: it is paused", extra={"tenant": tenant})
            raise BackgroundPause("background work is paused")
        if self._spent(tenant, found):
            logger.warning(
                "background work postponed: the tenant's budget is used up",
                extra={"tenant": tenant},
            )
            self.metrics.count("BackgroundOverBudget")
            raise OverBudget(f"{tenant} has used its daily budget of background tokens")
        limits = self._settings(tenant, found)
        budget = self.token_budgets.shared(tenant, words.parts, found, limits)
        if words.main is not None:
            until = self._waits_for(tenant, words.main, found, budget, size, spread_by)
            if until is not None:
                self.metrics.count("BackgroundOverBudget")
                raise PersonOverBudget(
                    "the person has used their share of background tokens", until
                )
        return budget

    def _waits_for(
        self,
        tenant: str,
        user_id: str,
        found: Mapping[Key, Item],
        budget: TokenBudget,
        size: int,
        spread_by: str,
    ) -> datetime | None:
        """Return when to ask a question whose main author is `user_id`; None if it may be asked.

        A question that is larger than the author's whole share may be asked as the author's first
        question of a day.
        """
        refusal = budget.first_refusal
        if refusal is not None:
            return self.clock.now() + timedelta(seconds=refusal.retry_after_seconds)
        limit = self._settings(tenant, found).background_tokens_per_day
        own = user_usage_key(tenant, self.clock.now(), user_id)
        used = sum(int(found.get(key, {}).get(BACKGROUND, 0)) for key in (own, unsharded(own)))
        over = limit > 0 < used and used + size > limit * SHARE
        if over and self._others_active(tenant, user_id):
            return self.next_day_of(spread_by)
        return None

    def _others_active(self, tenant: str, user_id: str) -> bool:
        """Return whether any usage was counted for other people today or yesterday."""
        today = self.clock.now().date()
        queries = (
            Query.under(partition, OF_USER, limit=2)
            for day in (today, today - DAY)
            for partition in usage_partitions(tenant, day)
        )
        rows = (row for query in queries for row in self.table.query(query).items)
        return any(row["counted_for"] != user_id for row in rows)

    def next_try(self, error: OverBudget) -> datetime:
        """Return when to try again after this error."""
        if isinstance(error, PersonOverBudget):
            return error.until
        if isinstance(error, BackgroundPause):
            return self.clock.now() + PAUSED_FOR
        return self.next_day()

    def _read(self, tenant: str, words: Words = NO_WORDS) -> dict[Key, Item]:
        now = self.clock.now()
        counters = UsageCounters.keys_of_day(tenant, now.date())
        buckets = [key for user_id in words.parts for key in bucket_keys(tenant, user_id)]
        own = [user_usage_key(tenant, now, words.main)] if words.main is not None else []
        own = [*own, *map(unsharded, own)]
        return self.table.get_many([*keys_of_pauses(tenant, tenant), *counters, *buckets, *own])

    def _settings(self, tenant: str, found: Mapping[Key, Item]) -> Settings:
        overrides = TenantSettings.from_optional(found.get(TenantSettings.key_of(tenant)))
        return self.settings.overridden(overrides)

    def _spent(self, tenant: str, found: Mapping[Key, Item]) -> bool:
        limit = self._settings(tenant, found).background_tokens_per_day
        of_day = UsageCounters.keys_of_day(tenant, self.clock.now().date())
        used = sum(int(found[key].get(BACKGROUND, 0)) for key in of_day if key in found)
        return 0 < limit <= used

    def next_day(self) -> datetime:
        """Return when the budget of the next day begins."""
        return self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + DAY

    def next_day_of(self, chat_id: str) -> datetime:
        """Return when a waiting chat is retried: within the first hour of the next day."""
        return self.next_day() + timedelta(seconds=stable_hash(chat_id) % SPREAD_SECONDS)
