"""Reports of a tenant's usage: by day, agent, person, model or channel, or in total."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from skein.errors import Unprocessable
from skein.models.common.base import Value
from skein.models.common.storage import Query, SortKeyPrefix
from skein.models.config.overrides import TenantOnlySettings, TenantSettings
from skein.models.quotas.prices import Money, Prices
from skein.models.quotas.usage import OF_AGENT, OF_USER, Usage, UsageCounter, usage_partitions
from skein.ports import Clock, ParallelMap, Table

UsageBy = Literal["day", "agent", "user", "model", "channel", "tenant"]

MAX_DAYS = 31
MAX_COUNTERS = 20_000
PAGE = 1_000


class UsageRow(Value):
    """One row of a report.

    Attributes:
        key: The day, agent, person, model, channel or tenant; empty for work without an agent.
        money: The cost at the tenant's current prices; None if the tenant has set no prices.
    """

    key: str
    usage: Usage
    money: Money | None


class UsageReport(Value):
    """The usage of a tenant over some days.

    Attributes:
        by: What each row represents.
        first: The first day (UTC).
        last: The last day.
        total: The sum of all counters. In a report by model, the rows do not contain SMS, but the
            total does.
        rows: The rows. Days are in order; all other rows are sorted by tokens, the most first.
    """

    by: UsageBy
    first: date
    last: date
    total: UsageRow
    rows: tuple[UsageRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReports:
    """The service that adds up a tenant's usage from its counters."""

    table: Table
    clock: Clock
    parallel_map: ParallelMap

    def report(
        self, tenant: str, by: UsageBy, *, first: date | None = None, last: date | None = None
    ) -> UsageReport:
        """Add up the usage of a tenant.

        This takes one read of the settings, and for each day 17 queries and one more for each 1,000
        counters. A day has 16 counters for each agent, or one for each person.

        Args:
            by: What each row represents.
            first: The first day (UTC); None for the last day.
            last: The last day; None for today.

        Raises:
            Unprocessable: The days are out of order or more than 31, or have more than 20,000
                counters.
        """
        last = last or self.clock.now().date()
        first = first or last
        if first > last:
            raise Unprocessable("`from` must not be later than `to`")
        days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        if len(days) > MAX_DAYS:
            raise Unprocessable(f"a report covers at most {MAX_DAYS} days")
        overrides = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
        prices = TenantOnlySettings.model_validate(overrides).prices
        prefix = OF_USER if by == "user" else OF_AGENT
        counters = self.parallel_map(lambda day: list(self._counters(tenant, day, prefix)), days)
        if sum(map(len, counters)) > MAX_COUNTERS:
            raise Unprocessable("too many counters for one report: ask for fewer days")
        sums: dict[str, Usage] = {}
        for day, found in zip(days, counters, strict=True):
            for counter in found:
                for key, usage in _parts(by, tenant, day, counter):
                    sums[key] = sums.get(key, Usage()) + usage
        rows = [_row(key, usage, prices) for key, usage in sums.items()]
        rows.sort(key=(lambda row: row.key) if by == "day" else _heaviest_first)
        everything = (counter.usage for found in counters for counter in found)
        total = _row("", sum(everything, Usage()), prices)
        return UsageReport(by=by, first=first, last=last, total=total, rows=tuple(rows))

    def _counters(self, tenant: str, day: date, prefix: SortKeyPrefix) -> Iterator[UsageCounter]:
        """Read a day's counters; stop once there are more than a report may have."""
        read = 0
        for partition in usage_partitions(tenant, day):
            query = Query(partition, first=prefix, last=prefix.last, limit=PAGE)
            while read <= MAX_COUNTERS:
                page = self.table.query(query)
                yield from map(UsageCounter.from_item, page.items)
                read += len(page.items)
                if page.next_start is None:
                    break
                query = replace(query, start=page.next_start)


def _parts(
    by: UsageBy, tenant: str, day: date, counter: UsageCounter
) -> Iterator[tuple[str, Usage]]:
    """Yield the key of each row that a counter belongs to, and the usage to add to the row."""
    if by == "day":
        yield f"{day:%Y-%m-%d}", counter.usage
    elif by == "tenant":
        yield tenant, counter.usage
    elif by == "model":
        for name, used in counter.usage.models.items():
            yield name, Usage(models={name: used})
    elif by == "channel":
        for channel, sent in counter.usage.channels.items():
            yield channel, Usage(channels={channel: sent})
    else:
        yield counter.id, counter.usage


def _row(key: str, usage: Usage, prices: Prices | None) -> UsageRow:
    return UsageRow(key=key, usage=usage, money=prices.money(usage) if prices else None)


def _heaviest_first(row: UsageRow) -> tuple[int, int, str]:
    used = row.usage.of_all_models
    return -used.tokens, -row.usage.texts, row.key
