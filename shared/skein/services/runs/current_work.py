"""The current work of a tenant's agents, for the operators' home page."""

from collections.abc import Sequence
from dataclasses import dataclass

from skein.models.common.storage import Item, Key, Query
from skein.models.directory.agent import agents_relation
from skein.models.runs.run import Run, runs_relation
from skein.ports import Clock, ParallelMap, Table

MAX_AGENTS = 50
RUNS_OF_AGENT = 2  # with 50 agents, one batch of reads


@dataclass(frozen=True, slots=True)
class WorkOverview:
    """The runs of a tenant that have not ended, and the newest run in trouble.

    Attributes:
        live: The runs that have not ended, newest first.
        troubled: The newest run that failed, or that has a reason and has not ended; None if no run
            that was read is in trouble.
    """

    live: tuple[Run, ...]
    troubled: Run | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOverviews:
    """The service that finds the current runs of a tenant."""

    table: Table
    clock: Clock
    parallel_map: ParallelMap

    def of_tenant(self, tenant: str) -> WorkOverview:
        """Return the current work of a tenant.

        The 50 newest agents are read and, for each agent, the two newest runs of today. This takes
        one query of the index, one parallel query for each agent, and one batch of reads.
        """
        agents = self._rows(agents_relation(tenant), MAX_AGENTS)
        today = self.clock.now().date()
        rows = self.parallel_map(
            lambda row: self._rows(runs_relation(tenant, row["gsi1sk"], today), RUNS_OF_AGENT),
            agents,
        )
        keys = [Key(row["pk"], row["sk"]) for of_agent in rows for row in of_agent]
        found = self.table.get_many(keys) if keys else {}
        runs = sorted(
            Run.read_each(found),
            key=lambda run: run.created_at,
            reverse=True,
        )
        live = tuple(run for run in runs if not run.ended)
        troubled = (
            run
            for run in runs
            if run.status == "failed" or (not run.ended and run.reason is not None)
        )
        return WorkOverview(live, next(troubled, None))

    def _rows(self, relation: str, limit: int) -> Sequence[Item]:
        return self.table.query(Query(relation, index="gsi1", limit=limit, newest_first=True)).items
