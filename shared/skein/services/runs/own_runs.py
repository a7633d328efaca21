"""An agent's look at its own runs, as far as they may be shown where it works."""

from dataclasses import dataclass
from datetime import timedelta

from skein.errors import NotFound
from skein.models.audience import Audience, may_show
from skein.models.run import Run, RunStatus, runs_relation
from skein.models.storage import Key
from skein.ports import Clock, Table

INDEX_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRuns:
    """Reads an agent's runs of today and yesterday."""

    table: Table
    clock: Clock

    def newest(
        self,
        tenant: str,
        agent_id: str,
        *,
        place: Audience,
        status: RunStatus | None,
        limit: int,
    ) -> tuple[Run, ...]:
        """The agent's newest runs, among its last 50 of each of two days.

        Args:
            tenant: Whose agent.
            agent_id: The agent.
            place: Where they are shown; what comes from elsewhere in private is left out, be it
                a whole run or something that it sent.
            status: Only runs in this state.
            limit: How many at most.
        """
        today = self.clock.now().date()
        keys = [
            Key(row["pk"], row["sk"])
            for day in (today, today - timedelta(days=1))
            for row in self.table.query_index(
                "gsi1",
                runs_relation(tenant, agent_id, day),
                limit=INDEX_ROWS,
                newest_first=True,
            ).items
        ]
        found = self.table.get_many(keys) if keys else {}
        runs = (Run.from_item(found[key]) for key in keys if key in found)
        shown = [
            _as_told(run, place)
            for run in runs
            if may_show(run.audience, place) and status in {None, run.status}
        ]
        return tuple(shown[:limit])

    def get(self, tenant: str, agent_id: str, run_id: str, *, place: Audience) -> Run:
        """One run of the agent.

        Raises:
            NotFound: The agent has no such run, or it may not be shown here.
        """
        try:
            item = self.table.get(Run.key_of(tenant, run_id))
        except ValueError:
            item = None
        run = Run.from_item(item) if item else None
        if run is None or run.agent_id != agent_id or not may_show(run.audience, place):
            raise NotFound("you have no run with this id")
        return run


def _as_told(run: Run, place: Audience) -> Run:
    """The run with those of its messages that may be shown at `place`."""
    sent = tuple(message for message in run.sent if may_show(message.audience, place))
    return run.model_copy(update={"sent": sent})
