"""Count a tenant's waiting work by kind, for the operators' home page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple, get_args

from skein.models.common.base import key_part
from skein.models.common.storage import MAX_BATCH_GET_KEYS, Item, Key, Query
from skein.models.outbox.due import DUE_SHARDS, BacklogKind, due_partition, due_time
from skein.models.runs.run import Run, RunStatus
from skein.ports import Clock, ParallelMap, Table

KINDS: tuple[BacklogKind, ...] = get_args(BacklogKind)
ROWS = 100  # due pointers to read per kind and shard, of all tenants
OVERDUE = timedelta(minutes=5)  # the tick sends due work every minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """A tenant's waiting work of one kind.

    Attributes:
        kind: The kind of the due pointers.
        later: The number of items that are due later.
        due: The number of items that are due now.
        overdue: The number of items that have been due for more than five minutes.
        oldest_due_at: When the oldest due item became due; None if no item is due.
        complete: Whether all items of the kind were counted.
        statuses: The number of runs per status, among the first 100 runs; empty for other kinds.
    """

    kind: BacklogKind
    later: int
    due: int
    overdue: int
    oldest_due_at: datetime | None
    complete: bool
    statuses: Mapping[RunStatus, int] = field(default_factory=dict)


class _Shard(NamedTuple):
    kind: BacklogKind
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlogs:
    """The service that counts the waiting work of a tenant."""

    table: Table
    clock: Clock
    parallel_map: ParallelMap

    def of_tenant(self, tenant: str) -> tuple[Backlog, ...]:
        """Count a tenant's due pointers by kind.

        The due index contains the due pointers of all tenants. To limit the cost, only the 100
        oldest due pointers of each kind and shard are read. If a shard has more of a kind, the
        counts of this kind are lower bounds.
        """
        shards = [_Shard(kind, number) for kind, number in product(KINDS, range(DUE_SHARDS))]
        pages = self.parallel_map(self._rows, shards)
        own = f"{key_part(tenant)}#"
        now, backlogs = self.clock.now(), []
        for kind in KINDS:
            read = [rows for shard, rows in zip(shards, pages, strict=True) if shard.kind == kind]
            rows = [row for page in read for row in page if str(row["pk"]).startswith(own)]
            times = [due_time(row) for row in rows]
            due = [at for at in times if at <= now]
            backlogs.append(
                Backlog(
                    kind=kind,
                    later=len(times) - len(due),
                    due=len(due),
                    overdue=sum(at < now - OVERDUE for at in due),
                    oldest_due_at=min(due, default=None),
                    complete=all(len(page) < ROWS for page in read),
                    statuses=self._statuses(rows) if kind == "run" else {},
                )
            )
        return tuple(backlogs)

    def _rows(self, shard: _Shard) -> Sequence[Item]:
        partition = due_partition(shard.kind, shard.number)
        return self.table.query(Query(partition, index="gsi2", limit=ROWS)).items

    def _statuses(self, rows: Sequence[Item]) -> Mapping[RunStatus, int]:
        keys = [Key(row["pk"], row["sk"]) for row in rows[:MAX_BATCH_GET_KEYS]]
        found = self.table.get_many(keys) if keys else {}
        return dict(Counter(run.status for run in Run.read_each(found)))
