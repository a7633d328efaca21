"""Warnings about agents whose model never calls a tool."""

from dataclasses import dataclass
from datetime import timedelta

from skein.models.common.storage import Key, Query
from skein.models.directory.agent import Agent
from skein.models.runs.run import Run, runs_relation
from skein.ports import Clock, Table

RUNS = 10  # newest runs of each of two days
MIN_RUNS = 3  # fewer runs prove nothing
UNHEARD = frozenset({"nudged", "unspoken_text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWarnings:
    """The service that compares an agent's reply mode with its recorded runs."""

    table: Table
    clock: Clock

    def of(self, agent: Agent) -> str | None:
        """Return a warning if an agent answers by tools but its model calls none; otherwise None.

        The newest 10 runs of today and of yesterday are read, with two queries of the index and one
        batch. An agent without a reply mode answers by tools only in groups. Its runs in groups are
        recognized by a mark, which a run gets if its text reached no one.
        """
        if agent.reply_mode == "text" or not agent.enabled_tools:
            return None
        today = self.clock.now().date()
        rows = [
            row
            for day in (today, today - timedelta(days=1))
            for row in self.table.query(
                Query(
                    runs_relation(agent.tenant, agent.id, day),
                    index="gsi1",
                    limit=RUNS,
                    newest_first=True,
                )
            ).items
        ]
        found = self.table.get_many([Key(row["pk"], row["sk"]) for row in rows]) if rows else {}
        runs = Run.read_each(found)
        # Agents answer visitors in text, whatever their reply mode.
        runs = [run for run in runs if not run.audience.visitors]
        answered = [run for run in runs if run.ended and run.steps_taken]
        if len(answered) < MIN_RUNS or any(run.tools for run in answered):
            return None
        if agent.reply_mode is None and not all(UNHEARD & set(run.marks) for run in answered):
            return None
        return (
            f"The agent answers by tools, and its model called none in the last {len(answered)} "
            "runs. Choose a model that calls tools, or the reply mode `text`."
        )
